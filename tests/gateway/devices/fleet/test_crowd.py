"""A fleet asks for as many open files as it needs, and says so where it may not have them.

A fleet of edge's own devices: deaths, returns, what is kept, and who is not let in.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.core import cbor, wire
from edge.core.limits import Limits
from edge.core.slots import Files
from edge.host import post
from gateway.devices.enrol import budgets, enrol
from gateway.devices.fleet import crowd, spool
from gateway.devices.fleet.crowd import Churn, Crowd
from gateway.devices.fleet.member import Hall, Member
from gateway.faults import LinkFault, OperatorFault
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt
from physics.fleet import Fleet
from physics.sensors import PointSensors
from tests import processes
from tests.waiting import eventually

FILES = resource.RLIMIT_NOFILE


@pytest.fixture
def before() -> Iterator[tuple[int, int]]:
    """Return what is allowed; it is again, afterwards."""
    allowed = resource.getrlimit(FILES)
    yield allowed
    resource.setrlimit(FILES, allowed)


def test_a_thousand_devices_open_more_files_than_is_usual(before: tuple[int, int]) -> None:
    """Else some would not reach the broker, and be told that there is none."""
    resource.setrlimit(FILES, (1024, before[1]))
    crowd.allow_open_files(100)
    assert resource.getrlimit(FILES)[0] == 1024
    crowd.allow_open_files(1000)
    assert resource.getrlimit(FILES) == (3200, before[1])


NAMES = {f"node-{number}" for number in range(4)}
# A fleet that is killed from outside, on the devices of a folder.
PROCESS = """
import json, sys, threading
from pathlib import Path
import numpy as np
from edge.core.slots import Files
from gateway.devices.enrol import budgets, enrol
from gateway.settings.deployment import Mqtt
from gateway.devices.fleet import spool
from gateway.devices.fleet.crowd import Crowd
from physics.fleet import Fleet
from physics.sensors import PointSensors
folder, port, site = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
secrets = enrol.load_secrets(folder / "secrets.json", site)
started = budgets.boot(secrets, lambda name: Files(str(folder), name)).devices
fleet = Fleet(started, PointSensors(np.arange(4) / 4), np.random.default_rng(1))
broker = Mqtt(host="127.0.0.1", port=port, insecure=True)
with Crowd(broker, fleet, None, spool.keep_in_folder(folder), loops=2) as crowd:
    crowd.wait()
    print("up", flush=True)
    threading.Event().wait()
"""


LIMITS = Limits(1, 8, 1, 10_000, 10**9, 0)


class Site:
    """Four devices that a crowd runs, what they say, and one who asks and may thank them."""

    def __init__(
        self,
        mqtt: Mqtt,
        folder: Path,
        pump: Pump,
        count: int,
        *,
        limits: Limits = LIMITS,
        thanks: bool = False,
    ) -> None:
        self.mqtt, self.folder, self.thanks = mqtt, folder, thanks
        self.name = f"fleet-{folder.name[-24:]}"
        self.made = enrol.enrol_fleet(self.name, count)
        enrol.save_secrets(self.made.secrets, folder / "secrets.json")
        self.keys = {who.name: who.config_key for who, _ in self.made.secrets.devices}
        self.place = lambda one: Files(str(folder), one)
        budgets.provision(self.made, limits, self.place)
        self.said: list[tuple[str, str, bytes]] = []
        heard = {"subscribe": [f"heatveil/1/{self.name}/+/+"], "on_message": self._came}
        self.link = Link(mqtt, f"asks-{self.name}", pump, **heard).wait()

    def _came(self, link: Link, message: Message) -> None:
        link.ack(message)
        name, leaf = message.topic.split("/")[3:]
        if message.payload:
            self.said.append((name, leaf, message.payload))
        if leaf == "data" and self.thanks:
            body = cbor.decode(message.payload[: -wire.MAC_BYTES])
            self.thank(name, body[2], body[1])

    def of(self, leaf: str, name: str = "") -> list[bytes]:
        """Return what was said on this leaf, by this device or by any."""
        return [what for who, on, what in list(self.said) if on == leaf and who in (name or who)]

    def ask(self, home: Any, number: int) -> None:
        """Ask all of them a round."""
        where = wire.round_topic(self.name, "thermal")
        key = self.made.secrets.site_key
        self.link.publish(where, bytes(post.pack_round(home.round(number), key, where)))

    def thank(self, name: str, epoch: int, seq: int) -> None:
        """Receipt a frame."""
        where = wire.topic(self.name, name, "receipt")
        said = post.pack_receipt(epoch, seq, True, self.keys[name], where)
        self.link.publish(where, bytes(said))

    def crowd(self, **how: Any) -> Crowd:
        started = budgets.boot(self.made.secrets, self.place).devices
        fleet = Fleet(started, PointSensors(np.arange(4) / 4), np.random.default_rng(1))
        alone = {
            one.identity.name: self.made.secrets._replace(devices=(one,))
            for one in self.made.secrets.devices
        }

        def boot(name: str) -> Any:
            return budgets.boot(alone[name], self.place).devices[0][1]

        return Crowd(
            self.mqtt, fleet, None, spool.keep_in_folder(self.folder), boot, loops=2, **how
        )


@pytest.fixture
def site(mosquitto: Mqtt, tmp_path: Path) -> Iterator[Site]:
    """Return a site of its own for each test."""
    with Pump("asks") as pump:
        one = Site(mosquitto, tmp_path, pump, 4)
        yield one
        one.link.close()


def test_what_became_of_each_frame_is_counted(site: Site, home: Any) -> None:
    """Made, sent, acknowledged by the broker; received only when the gateway's receipt came."""
    with site.crowd() as fleet:
        missing = fleet.wait()
        site.ask(home, 1)
        came = eventually(lambda: fleet.counts.acknowledged == 4)
        before = fleet.counts, fleet.unreceipted
        for name in sorted(NAMES)[:3]:
            site.thank(name, 1, 1)
        thanked = eventually(lambda: fleet.counts.received == 3)

    assert missing == {}
    assert came
    assert thanked
    assert (before[0].made, before[0].sent, before[0].waiting, before[1]) == (4, 4, 4, 4)
    assert (fleet.counts.received, fleet.counts.waiting, fleet.counts.lost) == (3, 1, 0)


def test_without_a_broker_nothing_is_left_half_started(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No thread of ours lives on after the one clear line."""
    monkeypatch.setattr(crowd, "PATIENCE_S", 0.3)
    site.mqtt = Mqtt(host="127.0.0.1", port=1, insecure=True)
    threads = set(threading.enumerate())
    with (
        pytest.raises(LinkFault, match="no MQTT broker at 127.0.0.1:1"),
        site.crowd() as one,
    ):
        one.wait()

    assert set(threading.enumerate()) == threads


def test_devices_say_goodbye_when_they_are_stopped(site: Site) -> None:
    """Or "ready" would stand there for ever, and nobody answer."""
    retained: dict[str, bytes] = {}

    def came(link: Link, message: Message) -> None:
        link.ack(message)
        retained[message.topic.split("/")[3]] = message.payload

    with site.crowd() as fleet:
        fleet.wait()
    with Pump("late") as pump:
        topics = [f"heatveil/1/{site.name}/+/state"]
        late = Link(site.mqtt, f"late-{site.name}", pump, subscribe=topics, on_message=came)
        gone = eventually(lambda: retained == dict.fromkeys(NAMES, b"disconnected"))
        late.close()

    assert gone


def test_one_that_dies_is_told_as_lost_and_comes_back_with_the_same_frame(
    site: Site, home: Any
) -> None:
    """Another boot, so no noise twice; the frame without a receipt goes again as it was."""
    with site.crowd() as fleet:
        fleet.wait()
        site.ask(home, 1)
        first = eventually(lambda: len(site.of("data", "node-1")) == 1)
        fleet.die("node-1")
        told = eventually(lambda: site.of("state", "node-1")[-1:] == [b"lost"])
        gone = set(fleet.up)
        fleet.again("node-1")
        again = eventually(lambda: len(site.of("data", "node-1")) >= 2)
        back = eventually(lambda: site.of("state", "node-1")[-1:] == [b"ready"])

    assert first
    assert told
    assert gone == NAMES - {"node-1"}
    assert again
    assert back
    assert len(set(site.of("data", "node-1"))) == 1
    assert [json.loads(meta)["boot"] for meta in site.of("meta", "node-1")][-1] == 2
    assert fleet.counts.sent == 4


def started(site: Site) -> "subprocess.Popen[str]":
    words = [sys.executable, "-c", PROCESS, str(site.folder), str(site.mqtt.port), site.name]
    process = processes.Child(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


@pytest.mark.long
def test_what_has_no_receipt_outlives_kill_9(site: Site, home: Any) -> None:
    """The disk has it before the broker: the next process sends the same bytes, and no others."""
    with started(site) as first:
        site.ask(home, 1)
        assert eventually(lambda: len(site.of("data")) == 4)
        os.kill(first.pid, signal.SIGKILL)
    sent = set(site.of("data"))
    with started(site) as second:
        assert eventually(lambda: len(site.of("data")) == 8)
        for name in NAMES:
            site.thank(name, 1, 1)
        assert eventually(lambda: not any(map(os.path.getsize, site.folder.glob("*.spool"))))
        os.kill(second.pid, signal.SIGKILL)

    assert set(site.of("data")) == sent
    assert len(sent) == 4


class Quiet:
    """Stands where the client would be, and is never connected."""

    connected, reconnects, topics, on_message, on_state = False, 0, (), None, None


def test_no_noise_is_drawn_while_a_frame_of_another_waits(
    home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Devices of one process stand in each other's way, and how long would show in a frame."""
    hall, members, drawn = Hall(), {}, []
    for name, node in home.nodes.items():
        member = Member(hall, node.identity, node.budget, lambda _: [1000], Quiet(), _Ring())
        monkeypatch.setattr(member.node, "prepare", lambda name=name: drawn.append(name))
        members[name] = member
    asked, read = home.message(home.round()), lambda _: [1000]
    for member in members.values():
        member.prepare()
    first = list(drawn)
    frame = members["node-0"].answer(asked, read, 0)
    for name in ("node-1", "node-2"):
        members[name].prepare()
    while_it_waits = drawn[len(first) :]
    members["node-0"].prepare()  # the ticker asks once the frame has gone
    members["node-1"].prepare()

    assert first == sorted(NAMES)
    assert frame is not None
    assert while_it_waits == []
    assert drawn[len(first) :] == ["node-0", "node-1"]


class _Ring:
    """Takes every frame, and has none."""

    overwritten, size, trouble = 0, 1024, ""

    def __len__(self) -> int:
        return 0

    def put(self, frame: bytes) -> None:
        """Take it."""


# Deaths and returns: so many a minute, nobody twice at once, and nobody where none are asked.


class Mortals:
    """A fleet that notes who is gone."""

    def __init__(self) -> None:
        self.names = [f"node-{number}" for number in range(5)]
        self.gone: set[str] = set()
        self.most, self.bars = 0, False

    def die(self, name: str) -> None:
        assert name not in self.gone, "it was dead already"
        self.gone.add(name)
        self.most = max(self.most, len(self.gone))

    def again(self, name: str) -> None:
        if self.bars:
            raise OperatorFault("its budget is lost")
        self.gone.remove(name)


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Mortals:
    """Return a fleet whose devices are gone for a moment only."""
    monkeypatch.setattr(crowd, "AWAY_S", (0.01, 0.05))
    return Mortals()


def test_devices_die_and_come_back(fleet: Mortals) -> None:
    """Several may be gone at once, and every one returns."""
    with Churn(fleet, 6000) as dying:
        came = eventually(lambda: dying.returns >= 20)

    assert came
    assert dying.deaths - dying.returns == len(fleet.gone)
    assert fleet.most >= 1
