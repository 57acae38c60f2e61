"""A room from its file: what is asked of it, which warmth is public, and its times of day."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from physics.instruments.presets import find_preset
from physics.rooms import model, plan, tables
from physics.rooms.read import read_room
from physics.rooms.records import Privacy, Room
from physics.rooms.respond import compute_day_response
from recovery.thermal import Query

from ...faults import OperatorFault
from ...mechanisms.flags import convert_plan_faults
from .day import Lived

# The room's own warmth: what of it the device takes off, what the gateway, and room for it.
#
# Everything here is made from the room's file alone, never from who was there: it is public.

Floats = NDArray[np.float64]

# A thermometer is off by more than so many standard deviations once in sixteen thousand.
_OFF = 4.0


def list_round_times_s(room: Room, readings: int, every_min: float) -> Sequence[float]:
    """Return when the rounds are, in seconds since midnight: every so often, to the day's end."""
    clock = room.day
    times = clock.start_s + 60 * every_min * np.arange(1, readings + 1)
    return [float(at_s) for at_s in times if at_s <= clock.until_s + 1e-6]


def find_first_visit_s(room: Room) -> float:
    """Return when somebody may first be in the room, by its file alone; infinite for never."""
    first = [stay[0].at_s for person in room.people for stay in person.stays]
    first += [at_s for walker in room.walkers for at_s in walker.at_s]
    if room.arrivals:
        first += [at_s for at_s, per_h in room.arrivals.per_h if per_h > 0]
    return min(first, default=math.inf)


def count_empty_rounds(room: Room) -> int:
    """Return how many of the first rounds are publicly known to be of nobody.

    Raises:
        OperatorFault: none is, so that nothing would show the room alone.
    """
    if room.privacy is None:
        return 0
    opens_s = find_first_visit_s(room)
    moments = list_round_times_s(room, room.privacy.readings, room.privacy.every_min)
    known = sum(at_s <= opens_s for at_s in moments)
    if not known:
        raise OperatorFault(
            f'[privacy] background = "gateway" of the room {room.name} has its first round at '
            f"second {moments[0] if moments else math.nan:g}, when somebody may be there, but the "
            "gateway needs readings of hours that are known to be empty. Let the day start "
            'earlier, or write background = "recorded"'
        )
    return min(known, room.privacy.readings - 1)


def widen_query_clamp(query: Query, room: Room, lived: Lived, moments_s: Sequence[float]) -> Query:
    """Return the query with room in its clamp for what the empty room does over the day.

    And, where a level follows, with a level that is quick enough for the empty room.
    """
    empty = lived.empty_k - (0.0 if query.background == "gateway" else lived.empty_k[0])
    swing_k = float(np.abs(empty).max())
    if query.background == "gateway":  # the device's own offset is still in what it sends
        swing_k += _OFF * max(
            math.hypot(kind.accuracy_k, kind.uniformity_k)
            for kind in (find_preset(group.kind) for group in room.thermometers)
        )
    query = replace(query, background_k=math.ceil(10 * swing_k + 1) / 10)
    if query.background != "following":
        return query
    at = [0, *(lived.find_step(at_s) for at_s in moments_s)]
    fastest_k = float(np.abs(np.diff(lived.empty_k[at], axis=0)).max(initial=0.0))
    return replace(query, slew=Fraction(max(1, math.ceil(1000 * fastest_k)), 1000))


def find_level_grains(query: Query, lived: Lived, step: int, exponent: int) -> Floats:
    """Return what the gateway takes off each sensor after the veil, in whole grains.

    It is what the empty room has done since the device's level was recorded. From a level that
    follows nothing is taken: what that has made of it depends on who was there.
    """
    if query.background == "following":
        return np.zeros(lived.empty_k.shape[1])
    since = lived.empty_k[0] if query.background == "recorded" else 0.0
    return np.asarray(np.rint(np.ldexp(lived.empty_k[step] - since, exponent)))


def subtract_grains(release: Any, grains: Floats) -> Any:
    """Return a release with a public number of grains taken off each sensor."""
    values = [
        None if value is None else value - int(known)
        for value, known in zip(release.values, grains, strict=True)
    ]
    return release._replace(values=values)


def describe_baseline(query: Query) -> list[str]:
    """Return what is taken off where, for a terminal."""
    clamp = (
        "A device cuts off what is beyond all that people can do to a reading and "
        f"{query.background_k:.1f} K more, which heaters and weather may."
    )
    since = (
        "What the empty room does over the day, with its heaters and the weather, is taken off "
        "after the veil, from the room's file alone, which is right here: of a real room a "
        "gateway counts as noise what the file may have wrong."
    )
    if query.background == "following":
        slew_k = float(query.slew or 0)
        return [
            f"Background: each device takes off a level that follows its readings, by up to "
            f"{slew_k:g} K at an answer; the noise is made for that too. Nothing is taken off "
            "after the veil: what the level lags behind the room by is in the maps, and whoever "
            "stays long is taken for the room, and missed when gone.",
            clamp,
        ]
    if query.background == "gateway":
        return [
            "Background: the device takes off the baseline alone, so its own offset is sent too; "
            f"the gateway learns that from the first {query.empty_readings} rounds, of hours that "
            f"the file says are empty. {since}",
            clamp,
        ]
    return [
        "Background: each device takes off what it counted before the day, when nobody was "
        f"there. {since}",
        clamp,
    ]


# Times of day on the command line, in the words of a room file.


def format_clock(at_s: float) -> str:
    """Return a moment to the minute, from seconds since midnight.

    >>> format_clock(30660.0), format_clock(90010.0)
    ('08:31', '25:00')
    """
    return tables.format_clock(60 * round(at_s / 60))


def parse_clock(text: str) -> float:
    """Return seconds since midnight, from a time of day.

    Raises:
        OperatorFault: it is none.

    >>> parse_clock("08:31")
    30660.0
    """
    try:
        return tables.parse_clock(text)
    except ValueError as fault:
        raise OperatorFault(
            f"--from {text} came but a time of day is needed, for the scene begins then. Write "
            "--from 08:00"
        ) from fault


# A room from its file, with the query that its [privacy] asks and what its thermometers feel.


@dataclass(frozen=True, eq=False)
class RoomModel:
    """A room, and how it is asked; not at all without [privacy] or without thermometers."""

    room: Room
    views: Floats  # (sensors, heat cells)
    places_m: Floats  # (sensors, 2)
    query: Query | None = None
    every_min: float = 0.0
    hold_s: float = 0.0  # how long the map takes a source to have stood where it is


def load_room(path: Path) -> Room:
    """Return the room of a file.

    Raises:
        OperatorFault: the file is wrong; it says in which line.
    """
    try:
        return read_room(path)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault


def make_model(room: Room, estimator: str = "auto") -> RoomModel:
    """Return a room with the query of its [privacy], as far as that is known before the day.

    What the empty room does over the day, which the clamp must hold, comes later: see
    `widen_query_clamp`.

    Raises:
        OperatorFault: it asks what cannot be had.
    """
    places, views = find_views(room)
    if room.privacy is None or not len(places):
        return RoomModel(room, views, places)
    return _make_query(room, room.privacy, views, places, estimator)


def find_views(room: Room) -> tuple[Floats, Floats]:
    """Return where thermometers are, (sensors, 2), and what each sees, (sensors, heat cells)."""
    told = [place for group in room.thermometers for place in group.places_m]
    places = np.array(told, dtype=float).reshape(-1, 2)
    return places, plan.compute_views(room, places) if told else np.zeros((0, 0))


def _make_query(
    room: Room, privacy: Privacy, views: Floats, places: Floats, estimator: str
) -> RoomModel:
    kinds = [find_preset(group.kind) for group in room.thermometers]
    steps = {kind.step for kind in kinds}
    if len(steps) > 1:
        raise OperatorFault(
            f"the room {room.name} has thermometers with {len(steps)} different steps but all "
            "must have one, for noise is laid out in whole steps of one converter. Keep one "
            "kind, or leave [privacy] out"
        )
    follows, gateway = (privacy.background == way for way in ("following", "gateway"))
    with convert_plan_faults():
        response = compute_day_response(
            room,
            privacy.protect_distance_m,
            list_round_times_s(room, privacy.readings, privacy.every_min),
            through_walls=privacy.through_walls,
        )
        query = Query(
            grid=model.make_grid(room),
            sensors=(len(places),),
            spread_m2=math.inf,
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            protect_distance_m=privacy.protect_distance_m,
            intensity_max=privacy.power_max_w,
            sources_max=privacy.people_max,
            step=next(iter(steps)),
            readings=privacy.readings,
            estimator=estimator,
            sensor_noise=max(kind.noise_sd_k for kind in kinds),
            response=response,
            background=privacy.background,  # type: ignore[arg-type]  # the room file is checked
            background_k=1.0,
            slew=Fraction(1, 1000) if follows else None,
            empty_readings=count_empty_rounds(room) if gateway else 0,
        )
    return RoomModel(room, views, places, query, privacy.every_min, response.hold_s)
