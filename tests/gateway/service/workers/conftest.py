"""What the workers' tests share: a real PostgreSQL, and sites of several processes on it."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edge.core import wire
from edge.core.budget import Limits
from edge.core.node import Node
from edge.host import post
from edge.mechanisms import thermal
from gateway.devices.enrol import budgets, enrol
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt
from gateway.store.places import Database
from gateway.store.store import Store
from tests import processes, sites
from tests.postgresql import Cluster, running
from tests.processes import find_free_port
from tests.waiting import eventually

LEASE_S = 2.0


@pytest.fixture(scope="session")
def cluster(need: Callable[[str], str]) -> Iterator[Cluster]:
    """Run PostgreSQL for all tests."""
    with running(need("postgres")) as one:
        yield one


@pytest.fixture
def database(cluster: Cluster) -> Database:
    """Return a new database."""
    return cluster.database()


def named(database: Database) -> str:
    """Return the name of a test's site: its retained round is no other test's."""
    return "site-" + database.words.rpartition("=")[2]


@pytest.fixture
def store(database: Database) -> Iterator[Store]:
    """Return a store at PostgreSQL, cleared away afterwards."""
    store = Store(database, named(database))
    yield store
    store.close()


class Site:
    """A site with a leader and workers as processes of their own, and devices that we play."""

    def __init__(self, folder: Path, mqtt: Mqtt, database: Database, sensors: int) -> None:
        self.folder, self.name = folder, named(database)
        self._topic = wire.round_topic(self.name, "thermal")
        self.made, self.place = (
            enrol.enrol_fleet(self.name, sensors),
            budgets.keep_slots_in_memory(),
        )
        self.devices = enrol.derive_gateway_half(self.made.secrets)
        enrol.save_devices(self.devices, folder / "devices.json")
        self.config = folder / "gateway.toml"
        self.config.write_text(
            sites.small(self.name, mqtt.port, find_free_port(), sensors=sensors, gather_s=60)
            + f'[store]\npostgresql = "{database.words}"\n'
            + f"[workers]\npartitions = 6\nlease_s = {LEASE_S}\n"
        )
        self.receipts: set[str] = set()  # of these devices
        self._rounds: list[bytes] = []
        self._children: list[subprocess.Popen[bytes]] = []
        self._pump = Pump("site")
        topics = [self._topic, wire.topic(self.name, "+", "receipt")]
        self.link = Link(
            mqtt, f"devices-{self.name}", self._pump, subscribe=topics, on_message=self._came
        ).wait_connected()

    def _came(self, link: Link, message: Message) -> None:
        link.acknowledge(message)
        if message.topic.endswith("/receipt"):
            self.receipts.add(message.topic.split("/")[3])
        elif message.payload:
            self._rounds.append(message.payload)

    def start(self, *words: str, before: str = "") -> subprocess.Popen[bytes]:
        """Run the command itself, after these statements, in a process; its log is in a file."""
        given = [*words, "--config", str(self.config)]
        code = f"{before}\nfrom gateway.cli import main\nmain({given!r})"
        with Path(self.folder, f"{len(self._children)}.log").open("wb") as log:
            child = processes.Child([sys.executable, "-c", code], stdout=log, stderr=log)
        self._children.append(child)
        return child

    def log(self, child: subprocess.Popen[bytes]) -> str:
        """Return what a child has said so far."""
        return Path(self.folder, f"{self._children.index(child)}.log").read_text()

    def listening(self, *children: subprocess.Popen[bytes]) -> set[int]:
        """Return the parts that these have subscribed for since they were started."""
        said = "".join(self.log(child) for child in children)
        return set(map(int, re.findall(r'"part": (\d+), "event": "a partition receives', said)))

    def asked(self, number: int = 0) -> tuple[bytes, dict[str, bytes]]:
        """Return the name of a round, once it is out, and what every device answers."""
        assert eventually(lambda: len(self._rounds) > number)
        message = self._rounds[number]
        plan = wire.unpack_round(message, self.made.secrets.site_key, self._topic)
        params = thermal.Params(*plan.params)
        limits = Limits(1, params.exponent, 1, params.variance, 10**9, 0)
        budgets.write_first_budgets(self.made, limits, self.place)
        frames = {
            who.name: Node(who, budget).answer(message, lambda _params: [1000])
            for who, budget in budgets.boot_devices(self.made.secrets, self.place).devices
        }
        self.plan = plan
        return wire.name_of(plan), frames

    def say(self, frames: dict[str, bytes]) -> None:
        """Let devices answer."""
        for name, frame in frames.items():
            self.link.publish(wire.topic(self.name, name, "data"), frame)

    def payloads(self, frames: dict[str, bytes]) -> list[list[int]]:
        """Return what is in frames, by the devices' names."""
        found = []
        for name, frame in sorted(frames.items()):
            topic, key = wire.topic(self.name, name, "data"), self.devices.by_name[name].mac_key
            found.append(post.unpack_report(frame, key, topic, name).payload)
        return found

    def close(self) -> None:
        for child in self._children:
            child.send_signal(signal.SIGCONT)
            child.kill()
            child.wait()
        self.link.close()
        self._pump.close()


@pytest.fixture
def site(mosquitto: Mqtt, database: Database, tmp_path: Path) -> Iterator[Callable[[int], Site]]:
    """Return what makes a site of so many devices; its processes are ended afterwards."""
    made: list[Site] = []

    def make(sensors: int) -> Site:
        made.append(Site(tmp_path, mosquitto, database, sensors))
        return made[-1]

    yield make
    for one in made:
        one.close()
