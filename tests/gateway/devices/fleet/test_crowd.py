"""A fleet asks for as many open files as it needs, and says so where it may not have them.

A fleet of edge's own devices: deaths, returns, what is kept, and who is not let in.
"""

import asyncio
import json
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from edge.core import wire
from edge.core.budget import Files, Limits
from edge.core.records import Grid, Guarantee, Round
from edge.host import post
from gateway.devices.enrol import budgets, enrol
from gateway.devices.fleet import crowd, spool
from gateway.devices.fleet.crowd import Churn, Crowd, DeviceLife
from gateway.devices.fleet.member import Member, SharedState
from gateway.devices.fleet.spool import FrameCounts, Shelf
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt
from physics.fleet import Fleet
from physics.sensors import PointSensors
from tests.waiting import eventually, hearing

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


LIMITS = Limits(1, 8, 1, 10_000, 10**9, 0)


class Site:
    """Four devices that a crowd runs, what they say, and one who asks and may thank them."""

    def __init__(self, mqtt: Mqtt, folder: Path, pump: Pump) -> None:
        self.mqtt, self.folder = mqtt, folder
        self.name = f"fleet-{folder.name[-24:]}"
        self.made = enrol.enrol_fleet(self.name, 4)
        enrol.save_secrets(self.made.secrets, folder / "secrets.json")
        self.keys = {who.name: who.config_key for who, _ in self.made.secrets.devices}
        self.place = lambda one: Files(str(folder), one)
        budgets.write_first_budgets(self.made, LIMITS, self.place)
        self.said: list[tuple[str, str, bytes]] = []
        heard = {"subscribe": [f"heatveil/1/{self.name}/+/+"], "on_message": self._came}
        self.link = Link(mqtt, f"asks-{self.name}", pump, **heard).wait_connected()

    def _came(self, link: Link, message: Message) -> None:
        link.acknowledge(message)
        name, leaf = message.topic.split("/")[3:]
        if message.payload:
            self.said.append((name, leaf, message.payload))

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
        started = budgets.boot_devices(self.made.secrets, self.place).devices
        fleet = Fleet(started, PointSensors(np.arange(4) / 4), np.random.default_rng(1))
        alone = {
            one.identity.name: self.made.secrets._replace(devices=(one,))
            for one in self.made.secrets.devices
        }

        def boot(name: str) -> Any:
            return budgets.boot_devices(alone[name], self.place).devices[0][1]

        return Crowd(
            self.mqtt, fleet, None, spool.make_folder_spools(self.folder), boot, loops=2, **how
        )


@pytest.fixture
def site(mosquitto: Mqtt, tmp_path: Path) -> Iterator[Site]:
    """Return a site of its own for each test."""
    with Pump("asks") as pump:
        one = Site(mosquitto, tmp_path, pump)
        yield one
        one.link.close()


def test_what_became_of_each_frame_is_counted(site: Site, home: Any) -> None:
    """Made, sent, acknowledged by the broker; received only when the gateway's receipt came."""
    with site.crowd() as fleet:
        missing = fleet.wait_connected()
        site.ask(home, 1)
        came = eventually(lambda: fleet.counts.acknowledged == 4)
        before = fleet.counts
        for name in sorted(NAMES)[:3]:
            site.thank(name, 1, 1)
        thanked = eventually(lambda: fleet.counts.received == 3)

    assert missing == {}
    assert came
    assert thanked
    assert (before.sent, before.waiting) == (4, 4)
    assert (fleet.counts.received, fleet.counts.waiting, fleet.counts.lost) == (3, 1, 0)


def test_devices_say_goodbye_when_they_are_stopped(site: Site) -> None:
    """Or "ready" would stand there for ever, and nobody answer."""
    with site.crowd() as fleet:
        fleet.wait_connected()
    with hearing(site.mqtt, f"heatveil/1/{site.name}/+/state") as heard:
        assert eventually(
            lambda: (
                {one.topic.split("/")[3]: one.payload for one in heard}
                == dict.fromkeys(NAMES, b"disconnected")
            )
        )


def test_one_that_dies_is_told_as_lost_and_comes_back_with_the_same_frame(
    site: Site, home: Any
) -> None:
    """Another boot, so no noise twice; the frame without a receipt goes again as it was."""
    with site.crowd() as fleet:
        fleet.wait_connected()
        site.ask(home, 1)
        first = eventually(
            lambda: {who for who, leaf, _ in list(site.said) if leaf == "data"} == NAMES
        )
        fleet.kill("node-1")
        told = eventually(lambda: site.of("state", "node-1")[-1:] == [b"lost"])
        gone = set(fleet.up)
        fleet.restart("node-1")
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


TORN = b"\xff" * 9


@pytest.mark.parametrize(
    ("file", "after"),
    [
        ("one.spool", FrameCounts(received=4, waiting=1, lost=1)),
        (None, FrameCounts(received=4, waiting=0, lost=1)),
    ],
    ids=["on the disk", "in memory"],
)
def test_deaths_count_nothing_twice(tmp_path: Path, file: str | None, after: FrameCounts) -> None:
    """Neither what was receipted while its file holds another, nor what was torn before."""
    (tmp_path / "one.spool.1").write_bytes(TORN)
    shelves: list[Shelf] = []

    def lend_shelf(name: str, key_id: bytes) -> Shelf:
        shelves.append(Shelf(name, tmp_path / file if file else None))
        return shelves[-1]

    ground: Any = Mock(spools=lend_shelf, hall=SharedState())
    broker: Any = None
    life = DeviceLife("node-1", broker, ground)
    for number in range(5):
        shelves[0].put(bytes([number]) * 20)
    for _ in range(4):
        shelves[0].drop_oldest()
    for _ in range(3):
        asyncio.run(life.kill())

    assert life.count_frames() == after


class Quiet:
    """Stands where the client would be, and is never connected."""

    connected, reconnects, topics, on_message, on_state = False, 0, (), None, None


def test_no_noise_is_drawn_while_a_frame_of_another_waits(
    home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Devices of one process stand in each other's way, and how long would show in a frame."""
    hall, members, drawn = SharedState(), {}, []
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


class Mortals:
    """A fleet that notes who is gone, and whose devices are so for a moment only."""

    def __init__(self) -> None:
        self.names, self.gone = [f"node-{number}" for number in range(5)], set[str]()

    def kill(self, name: str) -> None:
        assert name not in self.gone, "it was dead already"
        self.gone.add(name)

    def restart(self, name: str) -> None:
        self.gone.remove(name)


def test_devices_die_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many a minute, several at once perhaps, nobody twice, and every one returns."""
    monkeypatch.setattr(crowd, "AWAY_S", (0.01, 0.05))
    fleet: Any = Mortals()
    with Churn(fleet, 6000) as dying:
        came = eventually(lambda: dying.returns >= 20)

    assert came
    assert dying.deaths - dying.returns == len(fleet.gone)


# What the devices of one process share: a Round that is opened once.

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
WHERE = wire.round_topic("lab", "thermal")
PROMISE = Guarantee((1, 1), (1, 10**5), (1, 50), "a move", "local", "a day", "presence")


def message(number: int, key: bytes = KEY) -> bytes:
    """Return a signed Round."""
    asked = Round(number, "thermal", Grid((9, 1), 0), (9, 8, 0, 4096, 10_000, 1, 0), PROMISE)
    return bytes(post.pack_round(asked, key, WHERE))


def test_a_hall_opens_a_round_as_a_device_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is saved is to do the same again on the same bytes."""
    hall, opened = SharedState(), []
    real = wire.unpack_round
    monkeypatch.setattr(wire, "unpack_round", lambda *words: opened.append(words) or real(*words))
    for number in (1, 1, 1, 2, 1):
        round = real(message(number), KEY, WHERE)
        assert hall.open_round(KEY, message(number), WHERE) == (round, wire.name_of(round))

    assert len(opened) == 3


def test_what_was_opened_for_one_opens_nothing_for_another() -> None:
    """Neither another key, nor another topic, nor other bytes may live off what was verified."""
    hall = SharedState()
    hall.open_round(KEY, message(1), WHERE)
    forged = bytearray(message(1))
    forged[5] ^= 1
    for key, said, where in (
        (OTHER, message(1), WHERE),
        (KEY, message(1, OTHER), WHERE),
        (KEY, message(1), wire.round_topic("attic", "thermal")),
        (KEY, bytes(forged), WHERE),
        (KEY, forged, WHERE),
    ):
        with pytest.raises(wire.Fault):
            hall.open_round(key, said, where)


def test_bytes_that_change_afterwards_are_opened_anew() -> None:
    """A buffer that is used again must not stand for what was in it."""
    hall, held = SharedState(), bytearray(message(1))
    hall.open_round(KEY, held, WHERE)
    held[-1] ^= 1

    with pytest.raises(wire.Fault):
        hall.open_round(KEY, held, WHERE)
