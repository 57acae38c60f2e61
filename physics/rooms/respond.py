"""How a room answers heat at its thermometers, worked out from its model for all places."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import groupby, islice
from typing import NamedTuple, Protocol

import numpy as np

from ..certificate import bound_changes, from_bytes, search_certificate, to_bytes
from ..diffusion.medium import Medium, make_still_drive
from ..diffusion.run import Run
from ..displaced import Floor, Past, build_floor, build_lags
from ..instruments.presets import find_preset
from ..response import Response, pick_worst
from .model import build_medium
from .plan import (
    compute_bodies,
    compute_views,
    find_free_cells,
    make_grid,
    make_lattice,
    make_plan,
)
from .records import Floats, Room
from .tables import format_clock

# How the doors of a room stood before a reading, counted back from it.


class Since(NamedTuple):
    """So many steps with these doors open, and no other."""

    opened: tuple[bool, ...]
    steps: int


History = tuple[Since, ...]


def trace_doors(room: Room, at_s: float) -> History:
    """Return how the doors stood, from a moment back to the start of the day.

    Raises:
        ValueError: a moment outside of the day.
    """
    day = room.day
    if not day.start_s + day.step_s <= at_s <= day.until_s:
        raise ValueError(
            f"the reading is at {at_s:g} s but the day is from {day.start_s:g} to "
            f"{day.until_s:g}: before it there is nothing to feel, and after it nothing is known. "
            "Give a moment within the day."
        )
    count = round((at_s - day.start_s) / day.step_s)
    middles = [day.start_s + day.step_s * (nth - 0.5) for nth in range(count, 0, -1)]
    stood = [tuple(door.is_open(at) for door in room.doors) for at in middles]
    return tuple(Since(opened, len(list(same))) for opened, same in groupby(stood))


def list_door_days(room: Room) -> list[History]:
    """Return a day for each way the doors stand at some time, which longest first: none moves."""
    whole = trace_doors(room, room.day.until_s)
    lasting: dict[tuple[bool, ...], int] = {}
    for one in whole:
        lasting[one.opened] = lasting.get(one.opened, 0) + one.steps
    states = sorted(lasting, key=lambda opened: -lasting[opened])
    return [(Since(opened, sum(lasting.values())),) for opened in states]


def keep_longest(histories: Iterable[History]) -> list[History]:
    """Return those that no other goes on from: who was there longer has changed no less."""
    several = list(dict.fromkeys(histories))
    return [
        one
        for one in several
        if not any(other != one and _has_prefix(other, one) for other in several)
    ]


def _has_prefix(other: History, one: History) -> bool:
    """Say whether a history begins with all of another."""
    *before, last = one
    if len(other) < len(one) or other[: len(before)] != tuple(before):
        return False
    same = other[len(before)]
    return same.opened == last.opened and same.steps >= last.steps


# What sensors feel of a watt anywhere, at any lag before the reading: one run for all of them.
#
# What a sensor feels of a watt that was in some cell during a lag before the reading is what that
# cell would feel of a watt at the sensor, for heat passes from here to there as from there to
# here. So one run, with a pulse at each sensor's view, gives the response to a source anywhere:
# the field after l steps is the response to the interval that ended l steps before the reading.
# Through doors that open and close it holds with their states in reverse order. The steps are
# those of a simulated day, and the answer to a source is the same whenever it starts: this is the
# very answer of that simulation, to round-off.
#
# Source: reciprocity of Green's functions for symmetric operators; Morse and Feshbach 1953,
# section 7.4.


class Stretch(NamedTuple):
    """Steps in one medium, counted back from the reading."""

    medium: Medium
    steps: int


def compute_pulses(views: Floats, stretches: Sequence[Stretch], step_s: float) -> Iterator[Floats]:
    """Yield (sensors, rows, columns) for each lag: kelvin of a watt in each cell during it.

    Args:
        views: (sensors, rows, columns), the share of each cell that a sensor sees.
    """
    # What a joule in each cell does to each sensor. When a door moves this goes on, and not the
    # pulse's temperature, for the leaf takes up other heat than the air did.
    pulse = views
    for nth, (medium, steps) in enumerate(stretches):
        stored = medium.capacity * medium.volume_m3
        # Beside the response to an interval that to its end, where the next medium begins.
        both = nth < len(stretches) - 1
        zero = np.zeros_like(views)
        run = Run(medium, np.concatenate([zero, pulse / stored]) if both else zero)
        calm = make_still_drive(medium)
        first = np.concatenate([pulse, zero]) if both else pulse
        for step in range(steps):
            run.step(calm._replace(power_w=first) if step == 0 else calm, step_s)
            yield run.field_k[: len(views)]
        if both:
            pulse = run.field_k[len(views) :] * stored


_HOLD_S = 3600.0
# Who stood for other times than that, in parts of it: one who just came, one who sat all morning.
_OTHERS = (0.25, 2.5, 8.0)
_AT_ONCE = 4
_SERIES = (1, 2, 5, 10, 20, 50)  # distances that are told, in sides of a cell of the map


class Kept(Protocol):
    """Where certificates are kept, by the digest of their response."""

    def get(self, digest: str) -> bytes | None:
        """Return what was kept, None if nothing was."""

    def keep(self, digest: str, raw: bytes) -> None:
        """Keep this."""


class _Known(NamedTuple):
    """A room, its thermometers, and how it is asked."""

    room: Room
    places: Floats  # (sensors, 2)
    lags_s: Floats  # (sensors,), how far each lags behind the air
    views: Floats  # (sensors, rows, columns) of heat cells
    floors: dict[tuple[bool, ...], Floor]  # by the doors that are open
    far_cells: tuple[int, ...]
    cells: int  # the protected distance
    hold_s: float


def compute_response(
    room: Room,
    protect_distance_m: float,
    hold_s: float = _HOLD_S,
    through_walls: bool = True,
    kept: Kept | None = None,
) -> Response:
    """Return the response of a room at its thermometers, whichever way its doors stand all day.

    Each way in which doors stand at some time of the day is taken to last all day, and the
    changes are enough for each of them; they are no proof for a day in which doors move. The
    operator is that of the way that lasts longest.

    Args:
        room: from its file.
        protect_distance_m: how far apart displaced paths are; part of a cell of the map is one.
        hold_s: how long a source stood where it is, for the operator.
        through_walls: paths are displaced through walls too. Without, by ways through air at
            that moment, through no wall and no shut door.
        kept: certificates of what lags change together; one that is missing is looked for and
            kept there. Without, it is looked for.

    Raises:
        ValueError: a room without thermometers.
    """
    several = list_door_days(room)
    known = _prepare(room, protect_distance_m, hold_s, through_walls, several)
    return _prove(*_compute_worst_response(known, several), known.cells, kept)


def compute_day_response(
    room: Room,
    protect_distance_m: float,
    at_s: Sequence[float],
    hold_s: float = _HOLD_S,
    through_walls: bool = True,
    kept: Kept | None = None,
) -> Response:
    """Return the response that is enough for each of these readings, with the file's own doors.

    The operator is that of the reading in the middle of those that are looked at: one that
    another of them goes on from, for no door moved in between, is not. The rest is as for
    `compute_response`.

    Args:
        at_s: the moments of the readings.

    Raises:
        ValueError: no reading, one outside of the day, or a room that `compute_response` refuses.
    """
    if not len(at_s):
        raise ValueError(
            "there is no reading but at least one is needed, for noise is scaled to what it "
            "shows. Give the moments of the readings."
        )
    moments, day = sorted(at_s), room.day
    several = keep_longest(trace_doors(room, moment) for moment in moments)
    half = len(several) // 2
    several = several[half:] + several[:half]
    known = _prepare(room, protect_distance_m, hold_s, through_walls, several)
    made, pasts = _compute_worst_response(known, several)
    told = format_clock(moments[0])
    if len(moments) > 1:
        told = f"each of {len(moments)} readings from {told} to {format_clock(moments[-1])}"
    lasts_s = day.step_s * round((moments[-1] - day.start_s) / day.step_s)
    made = replace(made, lasts_s=lasts_s, doors=f"its doors as its file says until {told}")
    return _prove(made, pasts, known.cells, kept)


def _prepare(
    room: Room,
    protect_distance_m: float,
    hold_s: float,
    through_walls: bool,
    several: Iterable[History],
) -> _Known:
    """Return what all responses of a room need, with the floor of each state of its doors.

    Raises:
        ValueError: a room without thermometers.
    """
    if not room.thermometers:
        raise ValueError(
            f"room {room.name} has no thermometers but needs some: noise is scaled to what they "
            "feel. Give [thermometers]."
        )
    places = np.array([place for one in room.thermometers for place in one.places_m], float)
    lags = np.array(
        [find_preset(one.kind).lag_s for one in room.thermometers for _ in one.places_m]
    )
    cells = int(np.ceil(1000 * protect_distance_m / room.cell_mm - 1e-9))
    through_m = cells * room.cell_mm / 1000 if through_walls else None
    floors = {}
    for opened in {since.opened for one in several for since in one}:
        here = make_lattice(room, opened)
        floors[opened] = build_floor(
            here.nodes_m, here.corners, here.pitch_m, here.table, through_m, room.size_m
        )
    far = int(np.ceil(np.hypot(*make_grid(room).shape)))
    far_cells = sorted({cells, far, *(one for one in _SERIES if one < far)})
    seen = compute_views(room, places).reshape(len(places), *make_plan(room).shape)
    return _Known(room, places, lags, seen, floors, tuple(far_cells), cells, hold_s)


def _compute_worst_response(
    known: _Known, several: Sequence[History]
) -> tuple[Response, list[Past]]:
    """Return the response that is enough after each of these, each lag at its worst; and lags.

    Side by side: solving lets other threads run.
    """
    with ThreadPoolExecutor(min(len(several), _AT_ONCE)) as pool:
        made, pasts = zip(*pool.map(partial(_compute_door_response, known), several), strict=True)
    return pick_worst(made), list(pasts)


def _compute_door_response(known: _Known, doors: History) -> tuple[Response, Past]:
    room, step_s = known.room, known.room.day.step_s
    steps = sum(since.steps for since in doors)
    held = min(steps, max(1, round(known.hold_s / step_s)))
    left = np.exp(-step_s / np.maximum(known.lags_s, 1e-9))
    cells = known.views[0].size
    shown, felt = (np.zeros((cells, len(known.places))) for _ in range(2))
    # What is felt of a source that stood for so many steps.
    kept = {held: felt} | {min(steps, max(1, round(held * part))): felt for part in _OTHERS}

    def watched() -> Iterator[Floats]:
        stretches = [Stretch(build_medium(room, since.opened), since.steps) for since in doors]
        for nth, field in enumerate(compute_pulses(known.views, stretches, step_s)):
            # A thermometer that lags shows a mean of what was there before.
            shown[:] = left * shown + (1 - left) * field.reshape(-1, cells).T
            if nth < max(kept):
                felt[:] += shown
            if nth + 1 in kept:
                kept[nth + 1] = felt.copy()
            yield shown.copy()

    fields = watched()
    # Each stretch has its own floor, so no lag is told by those of another stretch.
    parts = ((known.floors[since.opened], islice(fields, since.steps)) for since in doors)
    lags = build_lags(parts, [far * room.cell_mm / 1000 for far in known.far_cells])
    open_cells = find_free_cells(room)
    # A door that is shut at the reading may have been open while somebody stood in it.
    there = compute_bodies(room, doors[0].opened)
    ajar = compute_bodies(room, (True,) * len(room.doors))
    nobody = np.asarray(there.sum(axis=1)) == 0

    def operator(felt: Floats) -> Floats:
        made = np.where(nobody[:, None], ajar @ felt, there @ felt).T
        return np.where(open_cells, made, 0.0)

    response = Response(
        grid=make_grid(room),
        places_m=known.places,
        open_cells=open_cells,
        operator=operator(kept.pop(held)),
        hold_s=held * step_s,
        lasts_s=steps * step_s,
        far_cells=known.far_cells,
        changes=lags.most,
        name=room.name,
        through_walls=next(iter(known.floors.values())).across is not None,
        others=np.array([operator(one) for one in kept.values()]) if kept else None,
    )
    return response, lags


def _prove(made: Response, pasts: Sequence[Past], cells: int, kept: Kept | None) -> Response:
    """Return a response with what its lags change together in the place of each at its worst.

    Where the readings have several pasts, what is enough for one may be so for the others: only
    for one that changes more another certificate is looked for.
    """
    if made.through_walls:
        return replace(made, proof="each lag at its worst: walls are no obstacle to it")
    nth, raw = made.find_distance(cells), None if kept is None else kept.get(made.digest)
    joint = np.zeros(len(made.far_cells))
    try:
        certificates = [] if raw is None else from_bytes(raw)
        for lags in sorted(pasts, key=lambda it: -it.most.joint[nth]):
            least = lags.most.joint
            if least[nth] > joint[nth]:
                least = np.min(
                    [least, *(bound_changes(lags, one) for one in certificates)], axis=0
                )
            if least[nth] > joint[nth] and raw is None:
                certificates.append(search_certificate(lags))
                least = np.minimum(least, bound_changes(lags, certificates[-1]))
            joint = np.maximum(joint, least)
    except ValueError as fault:
        return replace(made, proof=f"each lag at its worst: {fault}")
    if kept is not None and raw is None:
        kept.keep(made.digest, to_bytes(certificates))
    return replace(made, changes=made.changes._replace(joint=joint), proof="all lags together")
