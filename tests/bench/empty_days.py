"""Whole days of a room with a file, drawn as the gateway draws them, and what that is worth."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edge.core.entropy import Tape
from gateway import mechanisms
from gateway.lab.thermal_days.day import Living, average_recent_watts, read_day, simulate_day
from gateway.lab.thermal_days.rooms import views_of
from gateway.lab.thermal_days.run import ask
from gateway.mechanisms.thermal import vacant
from gateway.settings.roomfile import Vacancy
from physics.rooms.day import Day, day
from physics.rooms.records import Course, Room
from recovery.distance import earth_movers
from recovery.thermal import vacancy

# A Monday on the clock here.
MIDNIGHT_S = datetime(2026, 1, 12).astimezone().timestamp()
_HELD = 0.4  # no cause is further off than that share of what a file says

Judge = Callable[..., Any]


class Lived(NamedTuple):
    """A day as it was: with its people, or the same with nobody there."""

    room: Room  # as it truly is
    day: Day
    whole: Any  # gateway.lab.thermal_days.day.Lived
    read: Any


class Round(NamedTuple):
    """What came of one round, and what was so."""

    status: str
    total_w: float
    true_w: float
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
    _, views = views_of(room)
    today = day(room)
    whole = simulate_day(Living(room, today, views), rounds_s=moments_s)
    alone = replace(whole, seen_k=whole.empty_k)
    nobody = Day(())
    return (
        Lived(room, today, whole, read_day(room, whole, world)),
        Lived(room, nobody, alone, read_day(room, alone, world)),
    )


def releases(query: Any, been: Lived, moments_s: Sequence[float], seed: int) -> list[Any]:
    """Return what the rounds of a day release, veiled by the devices' own code."""
    mechanism = replace(mechanisms.find("thermal"), recover=lambda query, releases: None)
    tape, baseline_c = Tape(b"day %d" % seed), been.room.air.baseline_c
    args = (query, been.whole, been.read, baseline_c, moments_s, tape, lambda name: None)
    return [asked.release for asked in ask(mechanism, *args)]


def drawn(
    query: Any,
    plan: Path,
    given: Sequence[Any],
    moments_s: Sequence[float],
    *,
    day_s: float = MIDNIGHT_S,
    state: bytes | None = None,
    judge: Judge = vacancy.judge,
) -> tuple[list[Any], bytes | None]:
    """Return a map of each release, as the process that draws maps does, and the last state."""
    start_s = MIDNIGHT_S + seen_start_s(plan)
    found = []
    was, vacant.judge = vacant.judge, judge  # type: ignore[attr-defined]
    try:
        for release, at_s in zip(given, moments_s, strict=True):
            recorded = (start_s,) * len(release.values)
            asked = Vacancy(plan, day_s + at_s, recorded, False, None, state)
            cleared = vacant.subtract_empty_room(query, [release], asked)
            found.append(cleared.found)
            state = cleared.state
    finally:
        vacant.judge = was  # type: ignore[attr-defined]
    return found, state


def seen_start_s(plan: Path) -> float:
    """Return when the day of a room file begins, in seconds since midnight."""
    from gateway.lab.thermal_days.rooms import room_of

    return room_of(plan).day.start_s


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
    return Round(status, total, float(heat.sum()), off, guess)


def row(people: Sequence[Round], empty: Sequence[Round]) -> str:
    """Return a line of the table, as its head says."""
    off = [one.off_m for one in people if one.off_m is not None]
    there = [one for one in people if one.true_w > 0]
    cells = (
        f"{np.mean(off):.2f}" if off else "-",
        f"{np.mean([abs(one.total_w - one.true_w) for one in people]):.0f}",
        f"{np.mean([one.status == 'nobody' for one in empty]):.0%}",
        f"{np.mean([one.status == 'nobody' for one in there]):.0%}" if there else "-",
        f"{sum(one.status == 'unresolved' for one in [*people, *empty])}",
    )
    return " | ".join(f"{cell:>7}" for cell in cells)


HEAD = " | ".join(("map off", "  watts", "empty -", "people", "no map"))
