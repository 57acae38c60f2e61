"""What the gateway's tests share: a stock mosquitto, a small enrolled fleet, a round."""

import getpass
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from edge.core import wire
from edge.core.budget import Limits
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, Round
from edge.host import post
from gateway import cli
from gateway.devices.broker import dynamic
from gateway.devices.enrol import budgets, enrol
from gateway.service.mqtt.pump import Pump
from gateway.settings.deployment import Mqtt
from tests import processes
from tests.conftest import plugin

SITE = "testsite"
SENSORS = 4
LIMITS = Limits(1, 8, 1, 10_000, 10**9, 0)  # of one millionth of what its rounds promise
PROMISE = Guarantee(
    (1, 1), (1, 100_000), (1, 50), "one source moves", "local", "a day", "presence"
)


@pytest.fixture
def pump() -> Iterator[Pump]:
    """Return a pump for one test."""
    with Pump() as pump:
        yield pump


@pytest.fixture(scope="session")
def mosquitto(
    need: Callable[[str], str],
    answers: Callable[[int], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Mqtt]:
    """Run one stock mosquitto for all tests: its own limits, so that ours need none other."""
    program, folder = need("mosquitto"), tmp_path_factory.mktemp("mosquitto")
    port = processes.find_free_port()
    settings = Path(folder, "mosquitto.conf")
    settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    with processes.Child([program, "-c", settings], stderr=subprocess.DEVNULL) as child:
        answers(port)
        yield Mqtt(host="127.0.0.1", port=port, insecure=True)
        child.terminate()


class Doors(NamedTuple):
    """A broker with dynamic security in the clear, and who may come in: node-0 to node-3."""

    folder: Path
    port: int
    run: Callable[[], Any]  # a block in which the broker runs

    def comes(self, name: str, secret: str | None = None) -> Mqtt:
        """Return the broker as that one comes to it, with another password if one is given."""
        file = self.folder / f"{name}.{secret}"
        file.write_text(secret or f"secret of {name}")
        return Mqtt(
            host="127.0.0.1", port=self.port, insecure=True, username=name, password_file=file
        )


@pytest.fixture
def doors(
    need: Callable[[str], str], answers: Callable[[int], None], tmp_path: Path
) -> Iterator[Doors]:
    """Return a broker that is not running yet."""
    program, security = need("mosquitto"), plugin()
    port, folder = processes.find_free_port(), tmp_path / "doors"
    folder.mkdir()
    names = ["gateway", *(f"node-{number}" for number in range(SENSORS))]
    held = dynamic.make_plugin_file(
        SITE, "gateway", {one: f"secret of {one}" for one in names}, "ha"
    )
    (folder / dynamic.FILE).write_text(held)
    lines = [f"listener {port} 127.0.0.1", "allow_anonymous false", f"plugin {security}"]
    lines += [f"plugin_opt_config_file {folder / dynamic.FILE}", f"user {getpass.getuser()}"]
    lines += ["set_tcp_nodelay true", "max_inflight_messages 500", "max_queued_messages 100000"]
    (folder / "mosquitto.conf").write_text("\n".join(lines) + "\n")

    @contextmanager
    def run() -> Iterator[subprocess.Popen[bytes]]:
        command = [program, "-c", str(folder / "mosquitto.conf")]
        with processes.Child(command, stderr=subprocess.DEVNULL) as child:
            answers(port)
            try:
                yield child
            finally:
                child.terminate()

    return Doors(folder, port, run)


class Home(NamedTuple):
    """A site with keys on both sides, and the devices' own halves."""

    devices: enrol.Devices
    made: enrol.Enrolment
    nodes: dict[str, Node]

    def round(self, number: int = 1, rho: tuple[int, int] = (1, 50)) -> Any:
        """Return a round that the nodes answer."""
        params = (SENSORS, 8, 0, 4096, 10_000, 1, 0)
        return Round(number, "thermal", Grid((10, 1), 0), params, PROMISE._replace(rho=rho))

    def message(self, plan: Any) -> bytes:
        """Return the signed bytes of a round."""
        topic = wire.round_topic(SITE, "thermal")
        return bytes(post.pack_round(plan, self.devices.site_key, topic))

    def answer(self, name: str, plan: Any) -> bytes:
        """Return what a device answers, always with the same warmth."""
        frame = self.nodes[name].answer(self.message(plan), lambda _params: [1000])
        return bytes(frame)

    def fresh(self, name: str, epoch: int) -> Node:
        """Return a device again, in that boot of a memory that lost what it answered before."""
        place = budgets.keep_slots_in_memory()
        budgets.write_first_budgets(self.made, LIMITS, place)
        for _ in range(epoch):
            devices = budgets.boot_devices(self.made.secrets, place).devices
        return next(Node(who, budget) for who, budget in devices if who.name == name)


@pytest.fixture
def home() -> Home:
    """Return a site of four thermometers, the same in every run."""
    made = enrol.enrol_fleet(SITE, SENSORS, fresh=random.Random(7).randbytes)
    home = Home(enrol.derive_gateway_half(made.secrets), made, {})
    home.nodes.update({name: home.fresh(name, 1) for name in home.devices.by_name})
    return home


class Said(NamedTuple):
    """What a command said, and how it left."""

    status: int
    out: str
    err: str

    @property
    def success(self) -> str:
        """Return what was printed by a command that did what was asked."""
        assert self.status == 0, self.err
        return self.out

    @property
    def refusal(self) -> str:
        """Return the complaint of a command that could not."""
        assert self.status == 1, self.out
        return self.err


@pytest.fixture
def heatveil(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Return the command itself, run in this process: `heatveil("play", "thermal", ...)`."""

    def run(*words: object) -> Said:
        with pytest.raises(SystemExit) as left:
            cli.main([str(word) for word in words])
        return Said(int(left.value.code or 0), *capsys.readouterr())

    return run
