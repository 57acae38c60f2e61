"""Crowds over a real broker: what is released is the sum of who stayed; a Round costs once."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from edge.core import wire
from edge.core.budget import COUNT
from edge.mechanisms import secure_sum
from gateway.devices.enrol import budgets, enrol, roster
from gateway.devices.fleet.crowd import Crowd
from gateway.faults import OperatorFault
from gateway.mechanisms import make_first_limits
from gateway.mechanisms.places import Standing
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.service.operate.metrics import Metrics
from gateway.service.serving import Service
from gateway.settings import config
from gateway.settings.deployment import Deployment, Mqtt
from physics.fleet import Fleet
from tests import processes
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[4]
DEVICES = 20
CELLS = [(person % 3, 0) if person % 2 else (7, 7) for person in range(DEVICES)]


class Square:
    """A site of twenty people in two shards of ten, of whom two may be missing in each."""

    def __init__(self, mqtt: Mqtt, folder: Path, site: str, mechanism: str = "quadtree") -> None:
        self.mqtt, self.folder, self.site, self.mechanism = mqtt, folder, site, mechanism
        deployment = self.deployment()
        query = config.make_query(deployment)
        self.made, drawn = roster.enrol_in_shards(enrol.enrol_fleet(site, DEVICES), query)
        roster.save_shards(deployment.site.devices, site, drawn)
        self.shards = [one.shard.members for one in drawn]
        self.devices = enrol.derive_gateway_half(self.made.secrets)
        self.place = budgets.keep_slots_in_memory()
        budgets.write_first_budgets(self.made, make_first_limits(deployment, query), self.place)
        self.events: list[dict[str, Any]] = []

    def deployment(self, **changes: Any) -> Deployment:
        """Return the deployment, with these sections changed."""
        sections: dict[str, Any] = {
            "site": {
                "name": self.site,
                "database": self.folder / "heatveil.sqlite",
                "devices": self.folder / "devices.json",
            },
            "room": {"cells": [8, 8]},
            self.mechanism: {
                "devices": DEVICES,
                "shard": 10,
                "dropout": "1/5",
                "colluders": "1/10",
                **({"adjacency": "replace-one"} if self.mechanism == "quadtree" else {}),
            },
            "privacy": {"epsilon": "64/1"},
            "rounds": {"mechanism": self.mechanism, "gather_s": 60, "every_s": 0, "solve_s": 60},
            "mqtt": self.mqtt,
        }
        for name, section in changes.items():
            sections[name] = {**sections.get(name, {}), **section}
        return Deployment(**sections)

    def fleet(self, away: set[str] = frozenset()) -> Crowd:  # type: ignore[assignment]
        """Return the devices on the broker, but for these."""
        here = tuple(one for one in self.made.secrets.devices if one.identity.name not in away)
        devices = budgets.boot_devices(
            self.made.secrets._replace(devices=here), self.place
        ).devices
        return Crowd(self.mqtt, self.people(devices))

    def people(self, devices: Any) -> Any:
        """Return where these devices' owners are."""
        cells = np.array([[x + 8 * y for x, y in CELLS]])
        return Fleet(devices, Standing(cells, 8), None, mechanism=self.mechanism)

    def service(self, **changes: Any) -> Service:
        """Return the gateway; what it tells is added to `events`."""
        return Service(self.deployment(**changes), self.devices, on_event=self.events.append)

    def told(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of a kind, in order."""
        return [event for event in self.events if event["kind"] == kind]

    def counts(self, squares: list[tuple[int, int, int]], names: set[str]) -> list[int]:
        """Return how many of these devices are in each square (side, column, row) of the grid."""
        at = {f"node-{i:02}": cell for i, cell in enumerate(CELLS)}
        return [
            sum((at[name][0] // side, at[name][1] // side) == (x, y) for name in names)
            for side, x, y in squares
        ]


@pytest.fixture
def square(mosquitto: Mqtt, tmp_path: Path, request: pytest.FixtureRequest) -> Square:
    """Return a square whose site no other test has."""
    return Square(mosquitto, tmp_path, f"sums-{abs(hash(request.node.name)) % 10**9}")


QUARTERS = [(4, 0, 0), (4, 1, 0), (4, 0, 1), (4, 1, 1)]
ONE_ROUND = {"rounds": 1}


@pytest.mark.long
@pytest.mark.parametrize("maps", [1, 2])
def test_the_sums_of_all_shards_are_released_and_paid_for(square: Square, maps: int) -> None:
    """At epsilon 32 noise is 0 but once in 10**6 numbers, so each release is the truth."""
    promise = {"readings": maps}
    with square.fleet() as fleet, square.service(quadtree=ONE_ROUND, privacy=promise) as service:
        fleet.wait_connected()
        why = service.run_rounds()
        ledger = service.read_ledger()

    releases = square.told("release")
    everybody = {name for members in square.shards for name in members}
    assert [one["number"] for one in releases] == list(range(1, maps + 1))
    for release in releases:
        assert release["values"] == square.counts(QUARTERS, everybody)
        assert release["reports"] == DEVICES
    assert ledger.spent == ledger.budget == Fraction(64 * 64, 2)
    assert why == f"all of the budget is spent, in {maps} round{'s' * (maps > 1)}"
    budget = square.told("budget")[-1]
    assert (budget["epsilon_spent"], budget["rounds_left"]) == (64.0, 0)


@pytest.mark.long
def test_a_pyramid_needs_no_trusted_gateway(mosquitto: Mqtt, tmp_path: Path) -> None:
    """Two reports of epsilon 32: each release has the parts on every level; epsilon is spent."""
    square = Square(mosquitto, tmp_path, "sums-pyramid", "pyramid_sum")
    with square.fleet() as fleet, square.service(privacy={"readings": 2}) as service:
        fleet.wait_connected()
        service.run_rounds()
        ledger = service.read_ledger()

    everybody = {name for members in square.shards for name in members}
    squares = [
        (8 >> level, i % (1 << level), i >> level) for level in (1, 2, 3) for i in range(4**level)
    ]
    truth = [16 * count for count in square.counts(squares, everybody)]
    releases = square.told("release")
    assert [one["number"] for one in releases] == [1, 2]
    for release in releases:
        off = [abs(a - b) for a, b in zip(release["values"], truth, strict=True)]
        # Scale 4.4, and in each of two shards ten shares where seven make it: more once in 10**9.
        assert 0 < max(off) <= 140
        assert release["reports"] == DEVICES
    assert ledger.spent == ledger.budget == Fraction(64 * 64, 2)


@pytest.mark.long
def test_who_is_away_is_left_out_and_a_shard_of_too_few_is_not_opened(square: Square) -> None:
    """Two of ten may be missing. Of the other shard three are, and nothing of it is known."""
    away = {*square.shards[0][:2], *square.shards[1][:3]}
    with (
        square.fleet(away) as fleet,
        square.service(quadtree=ONE_ROUND, rounds={"gather_s": 10}) as service,
    ):
        fleet.wait_connected()
        service.run_rounds()

    release = square.told("release")[-1]
    stayed = {*square.shards[0]} - away
    assert release["values"] == square.counts(QUARTERS, stayed)
    assert release["reports"] == 8


@pytest.mark.long
def test_a_gateway_that_ends_in_a_round_gives_it_up_and_asks_with_what_is_left(
    square: Square,
) -> None:
    """The second start tells nobody another set of that sum; all Rounds together cost epsilon."""
    with square.fleet({*square.shards[0][:1]}) as fleet:
        fleet.wait_connected()
        with square.service() as service:
            running = threading.Thread(target=service.run_rounds)
            running.start()
            # One is away, so the first step waits, with what the others have sent.
            assert eventually(lambda: any(e["came"] for e in square.told("reports")))
            service.stop()
            running.join()
        assert not square.told("release")
        with square.service(rounds={"gather_s": 10}) as service:
            service.run_rounds()
            ledger = service.read_ledger()
            numbers = [e["number"] for e in square.told("round")]

    assert ledger.spent == ledger.budget == Fraction(64 * 64, 2)
    assert len(set(numbers)) == len(numbers)
    releases = square.told("release")
    assert releases[-1]["reports"] == DEVICES - 1
    assert min(e["number"] for e in releases) == 2


BOARD = """
import asyncio
from edge.core.budget import COUNT
from edge.host.enrol import Ram
from edge.core.budget import Budget
from edge.mechanisms.summing import Summed
from edge.net.device import Device
from edge.net.mqtt import Client
from edge.net.ring import Ring

who, kept = Summed(*{who}), Ram()
for at, record in enumerate({kept}):
    kept.write(at, record)
budget = Budget(kept, who.state_key)
budget.boot()

async def main():
    client = Client("127.0.0.1", {port}, "board-" + who.name, wait_s=5)
    device = Device(who, budget, lambda params: {cell}, client, Ring(1024), tick_ms=100,
                    mechanism="quadtree")
    asyncio.create_task(client.run())
    await device.run()

asyncio.run(main())
"""


@pytest.mark.long
def test_devices_in_micropython_take_part(
    square: Square, need: Callable[[str], str], tmp_path: Path
) -> None:
    """With the link, the clock and the arithmetic of a board, among others."""
    boards = [one.identity for one in square.made.secrets.devices if one.identity.sensor < 2]
    names = {one.identity.name for one in square.made.secrets.devices}
    with ExitStack() as running:
        for who in boards:
            kept = [square.place(who.name).read(at) for at in range(COUNT)]
            given = {"port": square.mqtt.port, "cell": CELLS[who.sensor]}
            path = tmp_path / f"{who.name}.py"
            path.write_text(BOARD.format(who=tuple(who), kept=kept, **given))
            command = [need("micropython"), "-X", "heapsize=256k", path]
            paths = {"MICROPYPATH": f"{ROOT}:.frozen"}
            child = running.enter_context(processes.Child(command, env=paths))
            running.callback(child.terminate)
        fleet = running.enter_context(square.fleet(away={who.name for who in boards}))
        service = running.enter_context(square.service(quadtree=ONE_ROUND))
        fleet.wait_connected()
        service.run_rounds()

    (release,) = square.told("release")
    assert release["values"] == square.counts(QUARTERS, names)
    assert release["reports"] == DEVICES


@pytest.mark.long
def test_a_step_waits_for_enough_devices_as_long_as_the_round_lasts(square: Square) -> None:
    """Three of a shard come when a fifth of the round, the step's part, is long over."""
    late = {*square.shards[0][:3]}
    with (
        square.fleet(late) as fleet,
        square.service(quadtree=ONE_ROUND, rounds={"gather_s": 10}) as service,
    ):
        fleet.wait_connected()
        running = threading.Thread(target=service.run_rounds)
        running.start()
        assert eventually(lambda: square.told("round"))
        time.sleep(3)
        with square.fleet({*square.shards[0], *square.shards[1]} - late) as others:
            others.wait_connected()
            running.join()

    assert square.told("release")[-1]["reports"] >= DEVICES - 2


class Liar:
    """A device's member of a secure sum that answers as it should, but for its shares."""

    def __init__(self, member: Any) -> None:
        self._member = member

    def __getattr__(self, name: str) -> Any:
        return getattr(self._member, name)

    def handle(self, message: bytes, shard: bool = False) -> list[bytes]:
        """Return the member's answer, and false shares in the place of its own."""
        sid, who, where = self._member._sid, self._member._who, self._member._up
        frames: list[bytes] = self._member.handle(message, shard)
        for at, frame in enumerate(frames):
            body = wire.open_message(frame, who.mac_key, where, secure_sum.LONGEST)
            if body[1] == secure_sum.REVEAL:
                given = b"\1" * len(body[3])
                frames[at] = secure_sum.pack(
                    secure_sum.REVEAL, sid, {3: given}, who.mac_key, where
                )
        return frames


@pytest.mark.long
def test_who_lies_in_a_sum_is_named_counted_and_shut_out(square: Square) -> None:
    """One gives false shares. Of another shard one joins too short, twice, and as it did before.

    The sum is exact with the liar's numbers in it, and in the next it has no part.
    """
    liar, puppet = square.shards[0][3], square.shards[1][0]
    mac = square.devices.by_name[puppet].mac_key
    where, metrics = wire.topic(square.site, puppet, "sum"), Metrics()
    promise = {"privacy": {"readings": 2}, "rounds": {"gather_s": 10}, "quadtree": ONE_ROUND}
    with (
        Pump("puppet") as pump,
        square.fleet({puppet}) as fleet,
        capture_logs() as logs,
        Service(
            square.deployment(**promise),
            square.devices,
            on_event=square.events.append,
            metrics=metrics,
        ) as service,
    ):
        fleet.wait_connected()
        device = fleet.lives[liar]._device
        device.node._member = Liar(device.node._member)
        link = Link(square.mqtt, "puppet", pump).wait_connected()
        running = threading.Thread(target=service.run_rounds)
        running.start()
        assert eventually(lambda: square.told("reports"))
        sid = service._intake._sums[1].sid  # type: ignore[attr-defined]
        short, keys, other = bytes(63), b"\1" * 64, b"\2" * 64
        for of, field in ((sid, short), (bytes(32), keys), (sid, keys), (sid, keys), (sid, other)):
            frame = secure_sum.pack(secure_sum.JOIN, of, {3: field}, mac, where)
            link.publish(where, frame)
        running.join()
        link.close()

    first, second = square.told("release")
    everybody = {name for members in square.shards for name in members} - {puppet}
    assert first["values"] == square.counts(QUARTERS, everybody)
    assert second["values"] == square.counts(QUARTERS, everybody - {liar})
    assert [one["device"] for one in square.told("quarantine")[-1]["devices"]] == [liar]
    lied = [one for one in logs if one["event"] == "a device lied in a secure sum"]
    assert [one["device"] for one in lied] == [liar]
    why = [one["why"] for one in logs if one["event"] == "a frame of a secure sum is refused"]
    assert why == ["wrong-length", "replayed", "joined-twice"]
    assert {one["device"] for one in logs if one.get("why") in why} == {puppet}
    text = metrics.render_known().decode()
    for series in (
        'sums_total{outcome="opened"} 4.0',
        'sum_dropped_total{step="share"} 1.0',
        'refused_total{kind="joined-twice"} 1.0',
        'refused_total{kind="repeated"} 1.0',
        "sum_suspects_total 1.0",
    ):
        assert f"heatveil_{series}" in text


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"quadtree": {"adjacency": "zero-out"}}, "hide where they are"),
        ({"quadtree": {"dropout": "3/10"}}, "enrolled for other shards"),
        ({"quadtree": {"shard": 20}}, "enrolled for other shards"),
        ({"quadtree": {"users": 200}}, "Leave users out"),
        ({"quadtree": {"kind": "proportions"}}, "report one place"),
    ],
)
def test_what_cannot_be_served_is_refused(
    square: Square, changes: dict[str, Any], why: str
) -> None:
    """In a sentence, before anything is asked."""
    with pytest.raises(OperatorFault, match=why), square.service(**changes):
        pass


def test_without_its_shards_nothing_is_asked(square: Square) -> None:
    """They say who is beside whom; no gateway may make them up."""
    (square.folder / roster.FILE).unlink()

    with pytest.raises(OperatorFault, match=r"cannot be read"), square.service():
        pass


def test_a_round_that_is_too_long_for_devices_is_not_paid_for(square: Square) -> None:
    """Nobody would answer it, and its epsilon would be spent."""
    prior = [(8, x, y) for x in range(256) for y in range(60)]
    changes: dict[str, Any] = {"room": {"cells": [256, 256]}, "quadtree": {"prior": prior}}
    with square.service(**changes) as service:
        assert "cannot be asked, and nothing was spent" in service.run_rounds()
        assert service.read_ledger().spent == 0
