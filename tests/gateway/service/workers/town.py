"""A whole site on one machine: broker, database, gateway, workers, a fleet; a worker is killed.

The witness is a subscriber of its own that writes down what devices send. It knows the layout of a
report from `edge/wire.cddl` alone; who counts what it saw must do so without the gateway's code.
"""

import itertools
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

from gateway.cli.fleet import enrol_fleet
from gateway.devices.broker.embedded import find_free_port
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.operating import Mqtt
from gateway.store.places import Database
from tests import processes
from tests.waiting import eventually

MAC_BYTES = 16
WIDTHS = {77: "h", 78: "i"}  # of RFC 8746, as `array` calls them
# What a site is, whatever is asked of it; what that is a test adds.
SITE = """
[site]
name = "{site}"
{asks}
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
    def frames(self) -> dict[str, list[bytes]]:
        """What each device sent, a frame a round; one is the same however often it was sent."""
        with self._lock:
            return {name: sorted(frames) for name, frames in self._frames.items()}

    def answers(self) -> dict[bytes, list[tuple[int, list[int]]]]:
        """What was answered, (sensor, readings), by the round's name."""
        found: dict[bytes, list[tuple[int, list[int]]]] = {}
        for frame in itertools.chain.from_iterable(self.frames.values()):
            body = cbor2.loads(frame[:-MAC_BYTES])
            read = list(array(WIDTHS[body[4].tag], body[4].value))
            found.setdefault(body[3], []).append((body[5], read))
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
            child = processes.Child([sys.executable, "-c", code], stdout=log, stderr=log)
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
    folder: Path, mqtt: Mqtt, database: Database, asks: str, lease_s: float
) -> Iterator[Town]:
    """Enrol a fleet, and listen; its processes end with the block.

    Args:
        asks: the tables of the deployment file that say what is asked, and of how many devices.
    """
    site = "town-" + database.words.rpartition("=")[2]
    one = Town(folder, database.words, page := find_free_port())
    places = {"port": mqtt.port, "page": page, "words": database.words, "lease_s": lease_s}
    one.config.write_text(SITE.format(site=site, asks=asks, **places))
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


def killed_in_mid_round(one: Town, devices: int, *names: str) -> None:
    """Start these workers, a fleet, a gateway that asks; kill the first while devices answer."""
    crew = {name: one.start("work", "--name", name) for name in names}
    assert eventually(lambda: crew.keys() == set(one.holders()))
    fleet = one.start("fleet")
    assert eventually(lambda: "devices are on the broker" in one.log(fleet))
    one.start("serve")
    assert eventually(lambda: one.stored() > devices / 10)
    os.kill(crew[names[0]].pid, signal.SIGKILL)
    assert one.stored() < 0.9 * devices, "the round was over before the worker was killed"
