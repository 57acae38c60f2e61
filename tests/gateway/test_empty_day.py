"""The empty room is taken off by the gateway itself: days over a broker, and rooms without any."""

import re
from collections.abc import Container, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from edge.core.entropy import Tape
from gateway import mechanisms
from gateway.devices.enrol import budgets, enrol
from gateway.devices.fleet.crowd import Crowd
from gateway.lab.thermal_days.day import (
    LivingRoom,
    Thermometers,
    average_recent_watts,
    read_day,
    simulate_day,
)
from gateway.lab.thermal_days.rooms import find_views, load_room
from gateway.lab.thermal_days.run import play_rounds
from gateway.mechanisms.thermal import vacant
from gateway.mechanisms.thermal.granting import make_first_limits
from gateway.service.serving import Service
from gateway.settings import config
from gateway.settings.deployment import Mqtt
from gateway.settings.roomfile import Vacancy
from physics.fleet import Fleet
from physics.instruments.chain import complete_levels
from physics.rooms.day import Day, draw_day
from physics.rooms.records import Course, Room
from physics.rooms.vacant import DAY_S
from recovery.distance import earth_movers
from tests.gateway.lab.thermal_days.conftest import ROOM

# A Monday on the clock here.
MIDNIGHT_S = datetime(2026, 1, 12).astimezone().timestamp()
_HELD = 0.4  # no cause is further off than that share of what a file says


class Lived(NamedTuple):
    """A day as it was: with its people, or the same with nobody there."""

    room: Room  # as it truly is
    day: Day
    whole: Any  # gateway.lab.thermal_days.day.Lived
    read: Any


class Round(NamedTuple):
    """What came of one round, and what was so."""

    status: str
    off_m: float | None  # the map from the truth; None where nobody is there, or there is no map
    guess_m: float | None  # a map that has seen nothing


def calm(text: str) -> str:
    """Return a room file without weather, neighbours or heaters: the control."""
    text = re.sub(r"(?m)^(outside_c|supply_c) = (\d|\[\[).*$", r"\1 = 20.0", text)
    return re.sub(r"(?m)^power_w = 250.*$|^power_w = 150.*$", "power_w = 0", text)


def wrong(room: Room, world: np.random.Generator) -> Room:
    """Return a room that differs from its file as the causes' priors say that rooms do."""

    def about(value: float, share: float) -> float:
        return value * (1 + float(np.clip(share * world.normal(), -_HELD, _HELD)))

    def warmer(course: Course, by_k: float) -> Course:
        return tuple((at_s, value + by_k) for at_s, value in course)

    air = room.air._replace(
        mixing_m2_per_s=about(room.air.mixing_m2_per_s, 0.2),
        air_changes_per_h=about(room.air.air_changes_per_h, 0.2),
        capacity_factor=max(1.0, about(room.air.capacity_factor, 0.1)),
        supply_c=warmer(room.air.supply_c, 0.5 * world.normal()),
    )
    outdoors_k, ramp_k = 1.5 * world.normal(size=2)

    def weather(course: Course) -> Course:
        if len(course) == 1:
            return warmer(course, 0.5 * world.normal())
        # Each hour, so that it can go another way in between.
        hours = 3600.0 * np.arange(25)
        values = np.interp(hours, *np.array(course).T) + outdoors_k
        values += ramp_k * np.clip((hours - 12 * 3600) / 36000, -0.5, 0.5)
        return tuple(zip(hours.tolist(), values.tolist(), strict=True))

    sides = {
        name: side._replace(outside_c=weather(side.outside_c)) for name, side in room.sides.items()
    }
    panes = tuple(one._replace(outside_c=weather(one.outside_c)) for one in room.windows)
    heaters = tuple(one._replace(power_w=about(one.power_w, 0.1)) for one in room.heaters)
    return replace(room, air=air, sides=sides, windows=panes, heaters=heaters)


def living(
    room: Room, moments_s: Sequence[float], world: np.random.Generator
) -> tuple[Lived, Lived]:
    """Return a day of a room with its people, and the same day with nobody there."""
    _, views = find_views(room)
    today = draw_day(room, np.random.default_rng(1))
    whole = simulate_day(LivingRoom(room, today, views), rounds_s=moments_s)
    alone = replace(whole, seen_k=whole.empty_k)
    nobody = Day(())
    return (
        Lived(room, today, whole, read_day(room, whole, world)),
        Lived(room, nobody, alone, read_day(room, alone, world)),
    )


def releases(query: Any, been: Lived, moments_s: Sequence[float], seed: int) -> list[Any]:
    """Return what the rounds of a day release, veiled by the devices' own code."""
    mechanism = replace(mechanisms.find_mechanism("thermal"), recover=lambda query, releases: None)
    tape, baseline_c = Tape(b"day %d" % seed), been.room.air.baseline_c
    args = (query, been.whole, been.read, baseline_c, moments_s, tape, lambda name: None)
    return [asked.release for asked in play_rounds(mechanism, *args)]


def drawn(
    query: Any,
    plan: Path,
    given: Sequence[Any],
    moments_s: Sequence[float],
    *,
    day_s: float = MIDNIGHT_S,
    state: bytes | None = None,
) -> tuple[list[Any], bytes | None]:
    """Return a map of each release, as the process that draws maps does, and the last state."""
    start_s = MIDNIGHT_S + load_room(plan).day.start_s
    found = []
    for release, at_s in zip(given, moments_s, strict=True):
        recorded = (start_s,) * len(release.values)
        asked = Vacancy(plan, day_s + at_s, recorded, False, None, state)
        cleared = vacant.subtract_empty_room(query, [release], asked)
        found.append(cleared.found)
        state = cleared.state
    return found, state


def score(query: Any, been: Lived, found: Any, at_s: float, hold_s: float) -> Round:
    """Return what a map, or what was told of it, is worth.

    Args:
        found: a result, or the event of one.
    """
    grid = query.grid
    heat = average_recent_watts(been.room, been.day, at_s, hold_s)
    columns, rows = grid.shape
    times = heat.shape[0] // rows  # the truth may be drawn finer
    heat = heat.reshape(rows, times, columns, times).sum(axis=(1, 3))
    if isinstance(found, dict):
        status, mass, total = found["status"], found["mass"], found["total"] or 0.0
    else:
        mass, total = getattr(found, "mass", None), float(getattr(found, "total", 0.0))
        said = str(getattr(found, "status", ""))
        nobody = said.startswith("nobody is there")
        status = "nobody" if nobody else "solved" if mass is not None else "unresolved"
    off = guess = None
    if heat.any() and total > 0:
        far_m = max(columns, rows) * grid.cell_mm / 1000
        free = np.ones((rows, columns)) if query.response is None else query.response.open_cells
        free = np.asarray(free, dtype=float).reshape(rows, columns)
        off = far_m * earth_movers(heat, np.asarray(mass), normalise=True)
        guess = far_m * earth_movers(heat, free, normalise=True)
    return Round(status, off, guess)


# Nobody, Ada beside the desk for an hour, and for three.
MOMENTS_S = [3600 * hour for hour in (9.5, 12.0, 13.5)]
SITE = """
[site]
name = "{site}"
[room]
plan = "room.toml"
[heat]
[sensors]
background_k = 6.0
[privacy]
epsilon = "100000/1"
delta = "1/100000"
protect_distance_m = 0.5
readings = 8
[rounds]
estimator = "lasso"
gather_s = 10
every_s = 0
[mqtt]
port = {port}
insecure = true
"""


def site(folder: Path, room: str = ROOM, port: int = 1, name: str = "day") -> Path:
    """Return a deployment file beside its room file."""
    (folder / "room.toml").write_text(room)
    (folder / "site.toml").write_text(SITE.format(site=name, port=port))
    return folder / "site.toml"


class Days:
    """A site on the broker whose clock stands still but for the moments of its rounds."""

    def __init__(self, path: Path, been: Sequence[Lived], moments_s: Sequence[float]) -> None:
        self.deployment = config.load_deployment(path)
        self.query = config.make_query(self.deployment)
        world = np.random.default_rng(8)
        thermometers = Thermometers(been[0].room, world)
        start_s = been[0].room.day.start_s
        level = complete_levels(thermometers.measure_level(been[0].whole.seen_k[0], start_s - 60))
        name, sensors = self.deployment.site.name, len(level)
        made, place = enrol.enrol_fleet(name, sensors), budgets.keep_slots_in_memory()
        limits = make_first_limits(self.query, 0.0)
        budgets.write_first_budgets(made, limits._replace(budget=10 * limits.budget), place)
        started = budgets.boot_devices(made.secrets, place).devices
        self.devices = enrol.derive_gateway_half(made.secrets)
        self.fleet = Fleet(started, thermometers.kinds, world, level)
        self.fleet.recorded_ms = int(1000 * (MIDNIGHT_S + start_s))
        # (time of the epoch, what sensors see, time by the instruments)
        self.moments = [
            (MIDNIGHT_S + nth * DAY_S + at_s, one.whole.seen_k[one.whole.find_step(at_s)])
            for nth, one in enumerate(been)
            for at_s in moments_s
        ]
        self.maps: list[dict[str, Any]] = []
        self.show()

    def time(self) -> float:
        """Return the time of the epoch, of the moment that is shown."""
        return self.moments[min(len(self.maps), len(self.moments) - 1)][0]

    def show(self) -> None:
        """Let the sensors see the moment whose turn it is."""
        if len(self.maps) < len(self.moments):
            at_s, seen_k = self.moments[len(self.maps)]
            self.fleet.set_temperatures(seen_k, at_s - MIDNIGHT_S)

    def hear(self, event: dict[str, Any]) -> None:
        """Go on to the next moment when a map was drawn; a start tells the last one again."""
        if event["kind"] == "map" and event["number"] > len(self.maps):
            self.maps.append(event)
            self.show()

    def run(self, rounds: int) -> None:
        """Run a gateway for so many rounds, each of them with its map."""
        with (
            Service(self.deployment, self.devices, on_event=self.hear) as service,
            Crowd(self.deployment.mqtt, self.fleet),
        ):
            service.wait_connected()
            for _ in range(rounds):
                service.run_rounds(1)


@pytest.mark.long
def test_a_day_with_somebody_and_a_day_with_nobody_through_broker_and_solver(
    mosquitto: Mqtt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a room that is not quite as its file; the gateway is started again in between."""
    path = site(tmp_path, port=mosquitto.port, name="two-days")
    world = np.random.default_rng(2)
    people, nobody = living(wrong(load_room(tmp_path / "room.toml"), world), MOMENTS_S, world)
    days = Days(path, (people, nobody), MOMENTS_S)
    monkeypatch.setattr("gateway.store.store.time", SimpleNamespace(time=days.time))

    days.run(3)
    days.run(3)

    assert [one["status"] for one in days.maps] == ["nobody", "solved", "solved", *["nobody"] * 3]
    assert [one["empty_room"] for one in days.maps] == [[]] * 6
    assert all(one["nobody"] > 0.9 for one in days.maps[3:])
    hold_s = days.query.response.hold_s
    for event, at_s in zip(days.maps[1:3], MOMENTS_S[1:], strict=True):
        found = score(days.query, people, event, at_s, hold_s)
        assert found.off_m is not None
        assert found.guess_m is not None
        assert found.off_m < 0.75 * found.guess_m


class Home(NamedTuple):
    """A room as it truly is and as its file says, with what two of its days released."""

    query: Any
    plan: Path
    days: tuple[Lived, Lived]
    sent: list[list[Any]]

    def told(self, numbers: Container[int] = range(1, 7)) -> list[str]:
        """Return what is told of a day with Ada and of the empty day after it.

        Args:
            numbers: of the rounds that have a map.
        """
        said, state, hold_s = [], None, self.query.response.hold_s
        for nth, (been, sent) in enumerate(zip(self.days, self.sent, strict=True)):
            day_s, first = MIDNIGHT_S + nth * DAY_S, 1 + nth * len(MOMENTS_S)
            having = [i for i in range(len(MOMENTS_S)) if first + i in numbers]
            given, moments_s = [sent[i] for i in having], [MOMENTS_S[i] for i in having]
            found, state = drawn(self.query, self.plan, given, moments_s, day_s=day_s, state=state)
            for one, at_s in zip(found, moments_s, strict=True):
                said.append(score(self.query, been, one, at_s, hold_s).status)
        return said


def home(folder: Path, room: str, seed: int = 2) -> Home:
    """Return a room and its days; one without weather is as its file says."""
    query = config.make_query(config.load_deployment(site(folder, room)))
    world, true = np.random.default_rng(seed), load_room(folder / "room.toml")
    days = living(wrong(true, world) if room == ROOM else true, MOMENTS_S, world)
    sent = [releases(query, been, MOMENTS_S, seed) for been in days]
    return Home(query, folder / "room.toml", days, sent)


RIGHT = ["nobody", "solved", "solved", *["nobody"] * 3]


@pytest.mark.long
def test_a_room_that_is_not_as_its_file_says_is_told_empty_when_it_is(tmp_path: Path) -> None:
    """Weather, heater, air and walls are each a little off, as the priors say."""
    assert home(tmp_path, ROOM).told() == RIGHT


@pytest.mark.long
def test_a_round_without_a_map_leaves_no_gap_in_what_is_known_of_the_empty_room(
    tmp_path: Path,
) -> None:
    """Rounds may be quicker than maps: the room is marched on from the last one that was drawn."""
    found = home(tmp_path, ROOM)

    assert found.told((1, 4, 6)) == ["nobody"] * 3
    assert found.told((1, 3)) == ["nobody", "solved"]


@pytest.mark.long
def test_without_weather_and_heaters_it_says_the_same(tmp_path: Path) -> None:
    """The control: what is told of an empty day is not told because of the weather."""
    assert home(tmp_path, calm(ROOM)).told() == RIGHT
