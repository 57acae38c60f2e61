"""Devices in real MicroPythons, against a real broker: what they say is what boards say."""

import getpass
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge import cbor, wire
from edge.host import post
from edge.limits import Limits
from edge.slots import Files
from gateway.devices.broker import certificates
from gateway.devices.broker.embedded import find_free_port
from gateway.devices.enrol import budgets, enrol
from gateway.devices.fleet import forms, interpreters, machines
from gateway.devices.fleet.machine import Asked, Machine
from gateway.devices.fleet.machines import Machines
from gateway.faults import LinkFault, OperatorFault
from gateway.mqtt.connection import Message
from gateway.mqtt.pump import Pump
from gateway.mqtt.service import Link
from gateway.operating import Mqtt
from physics.fleet import Fleet
from physics.sensors import PointSensors
from tests import processes
from tests.waiting import eventually

LIMITS = Limits(1, 8, 1, 10_000, 10**9, 0)


class Site:
    """Three devices, each in an interpreter of its own, and one who asks and thanks them."""

    def __init__(self, mqtt: Mqtt, folder: Path, pump: Pump) -> None:
        self.name, self.folder, self.mqtt = f"vm-{folder.name[-24:]}", folder, mqtt
        self.made = enrol.make(self.name, 3)
        self.keys = {who.name: who.config_key for who, _ in self.made.secrets.devices}
        budgets.provision(self.made, LIMITS, lambda one: Files(str(folder), one))
        self.said: list[tuple[str, str, bytes]] = []
        self.thanks = True
        heard = {"subscribe": [f"heatveil/1/{self.name}/+/+"], "on_message": self._came}
        self.link = Link(mqtt, f"asks-{self.name}", pump, **heard).wait()

    def _came(self, link: Link, message: Message) -> None:
        link.ack(message)
        name, leaf = message.topic.split("/")[3:]
        self.said.append((name, leaf, message.payload))
        if leaf == "data" and self.thanks:
            body = cbor.decode(message.payload[: -wire.MAC_BYTES])
            where = wire.topic(self.name, name, "receipt")
            said = post.pack_receipt(body[2], body[1], True, self.keys[name], where)
            link.publish(where, bytes(said))

    def of(self, leaf: str, name: str = "") -> list[bytes]:
        return [what for who, on, what in list(self.said) if on == leaf and who in (name or who)]

    def ask(self, number: int, home: Any) -> None:
        where = wire.round_topic(self.name, "thermal")
        key = self.made.secrets.site_key
        self.link.publish(where, bytes(post.pack_round(home.round(number), key, where)))

    def machines(self, program: str) -> Machines:
        who = [(secret.identity, None) for secret in self.made.secrets.devices]
        fleet = Fleet(who, PointSensors(np.arange(3) / 3), np.random.default_rng(1))
        passwords = dict.fromkeys(fleet.names, "secret")
        asking = interpreters.Asking(self.mqtt, self.folder, passwords, None)
        asked, made = interpreters.asked(fleet, asking), self.folder / "made"
        self.running = forms.running(program, made)
        return Machines(self.running.command, asked, self.running.path)


@pytest.fixture
def site(mosquitto: Mqtt, tmp_path: Path) -> Iterator[Site]:
    """Return a site of its own for each test."""
    with Pump("asks") as pump:
        one = Site(mosquitto, tmp_path, pump)
        yield one
        one.link.close()


@pytest.fixture(params=["micropython", "micropython-i386"])
def program(request: pytest.FixtureRequest, need: Callable[[str], str]) -> str:
    """Return each MicroPython that is here."""
    return need(request.param)


@pytest.mark.long
def test_real_interpreters_answer_and_say_goodbye(site: Site, home: Any, program: str) -> None:
    """Each frame is counted on its way: made, sent, acknowledged, received."""
    with site.machines(program) as fleet:
        missing = fleet.wait()
        for number in (1, 2):
            site.ask(number, home)
            assert eventually(lambda n=number: fleet.counts.received == 3 * n)
        # A receipt may be told of before the PUBACK that came just after it.
        eventually(lambda: fleet.counts.acknowledged == 6)
        metas = [json.loads(meta) for meta in site.of("meta")]
    gone = eventually(lambda: site.of("state").count(b"disconnected") == 3)

    assert missing == {}
    assert gone
    assert (fleet.counts.made, fleet.counts.sent, fleet.counts.acknowledged) == (6, 6, 6)
    assert (fleet.counts.waiting, fleet.counts.lost) == (0, 0)
    assert {meta["boot"] for meta in metas} == {1}
    assert b"lost" not in site.of("state")


@pytest.mark.long
def test_one_that_is_killed_comes_back_with_the_same_frame(
    site: Site, home: Any, program: str
) -> None:
    """Its interpreter is gone with all that it had in memory; the files are not."""
    site.thanks = False
    with site.machines(program) as fleet:
        fleet.wait()
        site.ask(1, home)
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
        site = Site(right, tmp_path, pump)
        with site.machines(vm) as fleet:
            missing = fleet.wait()
            site.ask(1, home)
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
    vm, made = need("micropython"), enrol.make("testsite", 4)
    budgets.provision(made, LIMITS, lambda one: Files(str(tmp_path), one))
    who = [(secret.identity, None) for secret in made.secrets.devices]
    fleet = Fleet(who, PointSensors(np.arange(4) / 4), np.random.default_rng(1))
    monkeypatch.setattr(
        "gateway.mqtt.access.as_device", lambda broker, name, secret: doors.comes(name, secret)
    )
    passwords = {name: f"secret of {name}" for name in fleet.names} | {"node-2": "another"}
    with doors.run():
        asking = interpreters.Asking(doors.comes("node-0"), tmp_path, passwords, None)
        asked, running = interpreters.asked(fleet, asking), forms.running(vm, tmp_path / "made")
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
    small = {form: {32: 24, 64: 24} for form in forms.HEAP_KB}
    monkeypatch.setattr(forms, "HEAP_KB", small)
    monkeypatch.setattr(machines, "PATIENCE_S", 5.0)
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
        forms.running(program, tmp_path)


def test_a_sensor_that_fails_gives_an_empty_line_and_no_number() -> None:
    """The device then refuses the Round, as a board does; what was read stays where it was."""

    def fails(exponent: int) -> Any:
        raise ValueError("it saw 31337")

    said: list[bytes] = []
    one = Machine("node-0", Asked(b"{}", fails))
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
    fleet = Machines(wait, {name: Asked(b"{}", lambda exponent: []) for name in "ab"}, "")
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


def test_half_a_line_stops_nobody() -> None:
    """An interpreter that was killed while it spoke leaves one; the others are still heard."""
    one = Machine("attic", Asked(b"", lambda exponent: []))
    one.hear(b"lost \nfound x\nread\nup\nlost 2\n")

    assert one.up
    assert one.counts.lost == 2
