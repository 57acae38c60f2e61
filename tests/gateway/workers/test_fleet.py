"""A whole site on one machine: broker, database, gateway, three workers, a fleet; one is killed.

The witness is a subscriber of its own that writes down what devices send. It knows the layout of a
report from `edge/wire.cddl` alone, and adds up by itself.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from array import array
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import cbor2
import psycopg

from gateway.brokers.broker import free_port
from gateway.commands.virtual import enrol_fleet
from gateway.mqtt.pump import Pump
from gateway.mqtt.service import Link
from gateway.mqtt.session import Message
from gateway.operating import Mqtt
from gateway.storage.places import Database
from tests.waiting import eventually

DEVICES, MAC_BYTES = 240, 16
WIDTHS = {77: "h", 78: "i"}  # of RFC 8746, as `array` calls them
SITE = """
[site]
name = "{site}"
[room]
cells = 24
[heat]
spread_m2 = 0.05
[sensors]
count = {devices}
[privacy]
epsilon = "1/1"
delta = "1/100000"
readings = 1
[rounds]
gather_s = {gather_s}
[mqtt]
port = {port}
insecure = true
[store]
postgresql = "{words}"
[page]
port = {page}
[workers]
partitions = 8
lease_s = {lease_s}
"""


class Witness:
    """Writes down every frame, and nothing that the gateway says of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._frames: dict[str, set[bytes]] = {}

    def came(self, link: Link, message: Message) -> None:
        with self._lock:
            self._frames.setdefault(message.topic.split("/")[3], set()).add(message.payload)
        link.ack(message)

    @property
    def frames(self) -> dict[str, bytes]:
        """What each device sent; it is the same however often it was sent."""
        with self._lock:
            assert all(len(frames) == 1 for frames in self._frames.values())
            return {name: next(iter(frames)) for name, frames in self._frames.items()}

    def sums(self) -> list[int]:
        """What each sensor says, of all frames together."""
        found = [0] * DEVICES
        for frame in self.frames.values():
            body = cbor2.loads(frame[:-MAC_BYTES])
            for sensor, value in enumerate(array(WIDTHS[body[4].tag], body[4].value), body[5]):
                found[sensor] += value
        return found


class Town:
    """The processes of a site, and what its store says."""

    def __init__(self, folder: Path, words: str, page: int) -> None:
        self.config, self.words = folder / "gateway.toml", words
        self.page = f"http://127.0.0.1:{page}/"
        self.witness, self.children = Witness(), list[subprocess.Popen[bytes]]()

    def start(self, *words: str, before: str = "") -> subprocess.Popen[bytes]:
        """Run a command of heatveil; its log is in a file."""
        given = [*words, "--config", str(self.config)]
        code = f"{before}\nfrom gateway.cli import main\nmain({given!r})"
        with self.config.with_name(f"{len(self.children)}.log").open("wb") as log:
            child = subprocess.Popen([sys.executable, "-c", code], stdout=log, stderr=log)
        self.children.append(child)
        return child

    def log(self, child: subprocess.Popen[bytes]) -> str:
        """Return what a child has said so far."""
        return self.config.with_name(f"{self.children.index(child)}.log").read_text()

    def ask(self, statement: str) -> list[Any]:
        """Return rows of the store, read past everything that is tested."""
        try:
            with psycopg.connect(self.words) as opened:
                return opened.execute(statement).fetchall()
        except psycopg.errors.UndefinedTable:  # nobody has begun yet
            return []

    def stored(self) -> int:
        return sum(row[0] for row in self.ask("SELECT count(*) FROM reports"))

    def holders(self) -> list[str]:
        """Return who has each part."""
        rows = self.ask("SELECT holder FROM leases WHERE part >= 0 ORDER BY part")
        return [row[0].split("-")[0] for row in rows]

    def ready(self) -> dict[str, Any]:
        """Return what /readyz says of the parts, and so `heatveil health`."""
        try:
            with urllib.request.urlopen(f"{self.page}readyz", timeout=30) as answer:
                body = answer.read()
        except urllib.error.HTTPError as fault:  # 503: a part does not work
            with fault:
                body = fault.read()
        except OSError:
            return {}
        return dict(json.loads(body)["parts"])

    def workers(self) -> str:
        """Return what it says of the workers."""
        return str(self.ready().get("workers", {}).get("why", ""))


@contextmanager
def town(
    folder: Path, mqtt: Mqtt, database: Database, *, lease_s: float, gather_s: float
) -> Iterator[Town]:
    """Enrol a fleet, and listen; its processes end with the block."""
    site = "town-" + database.words.rpartition("=")[2]
    one = Town(folder, database.words, page := free_port())
    shape = {"devices": DEVICES, "lease_s": lease_s, "gather_s": gather_s}
    places = {"port": mqtt.port, "page": page, "words": database.words}
    one.config.write_text(SITE.format(site=site, **shape, **places))
    enrol_fleet(one.config, None, lambda _: None)
    with ExitStack() as stack:
        pump = stack.enter_context(Pump("witness"))
        heard = {"subscribe": [f"heatveil/1/{site}/+/data"], "on_message": one.witness.came}
        link = Link(mqtt, f"witness-{site}", pump, lasting=False, **heard).wait()
        stack.callback(link.close)
        try:
            yield one
        finally:
            for child in one.children:
                child.kill()
                child.wait()


def killed_in_mid_round(one: Town) -> None:
    """Start three workers, a fleet, a gateway that asks; kill a worker while devices answer."""
    crew = {name: one.start("work", "--name", name) for name in ("ada", "bob", "cy")}
    assert eventually(lambda: crew.keys() == set(one.holders()))
    fleet = one.start("fleet")
    assert eventually(lambda: "devices are on the broker" in one.log(fleet))
    one.start("serve")
    assert eventually(lambda: one.stored() > DEVICES / 10)
    os.kill(crew["ada"].pid, signal.SIGKILL)
    assert one.stored() < 0.9 * DEVICES, "the round was over before the worker was killed"


def released(one: Town) -> list[Any]:
    """Return (values, reports) of all rounds that are closed."""
    return [
        (json.loads(row[0]), row[1]) for row in one.ask('SELECT "values", reports FROM releases')
    ]


def test_a_release_is_the_sum_of_what_devices_sent_though_a_worker_was_killed(
    mosquitto: Mqtt, database: Database, tmp_path: Path
) -> None:
    """Bit for bit; every frame is in the store once, the round is charged once."""
    with town(tmp_path, mosquitto, database, lease_s=2.0, gather_s=60) as one:
        killed_in_mid_round(one)
        assert eventually(lambda: "gone without a goodbye: ada-" in one.workers())
        assert "3 at work" in one.workers()
        assert eventually(lambda: released(one))
        frames = one.witness.frames
        assert len(frames) == DEVICES
        assert released(one) == [(one.witness.sums(), DEVICES)]
        rows = one.ask("SELECT device, frame FROM reports")
        assert len(rows) == DEVICES
        assert {name: bytes(frame) for name, frame in rows} == frames
        assert one.ask("SELECT count(*) FROM charges") == [(1,)]
        assert one.ask("SELECT count(*) FROM alarms") == [(0,)]
        assert eventually(lambda: all(part["ok"] for part in one.ready().values()))
        assert set(one.holders()) == {"bob", "cy", "leader"}


def test_without_a_take_over_the_release_lacks_what_the_dead_workers_devices_sent(
    mosquitto: Mqtt, database: Database, tmp_path: Path
) -> None:
    """The control: leases that do not run out, and the same witness sees the difference."""
    with town(tmp_path, mosquitto, database, lease_s=600.0, gather_s=15) as one:
        killed_in_mid_round(one)
        assert eventually(lambda: released(one))
        ((values, reports),) = released(one)
        assert len(one.witness.frames) == DEVICES
        assert reports < DEVICES
        assert values != one.witness.sums()
