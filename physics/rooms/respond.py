"""How a room answers heat at its thermometers, worked out from its model for all places."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial, reduce
from itertools import islice

import numpy as np

from ..displaced import displaced, plus, times
from ..response import Response, worst
from .histories import History, constant, history, longest
from .known import Known, known_of
from .model import grid, standing
from .pulses import Stretch, pulses
from .raster import layout
from .reading.times import clock
from .records import Floats, Room
from .worn import worn

_HOLD_S = 3600.0
# Bodies are compared in the middles of cells. Anywhere in them they differed by up to 1 % more on
# cells of 250 mm, and 7 % on cells of 500 mm; so much of the cell's area in m2 is added.
_BETWEEN = 0.4
_AT_ONCE = 4


def respond(
    room: Room,
    protect_distance_m: float,
    at_s: float | None = None,
    hold_s: float = _HOLD_S,
    through_walls: bool = True,
) -> Response:
    """Return the response of a room at its thermometers.

    Args:
        room: from its file.
        protect_distance_m: up to here displaced paths are compared cell by cell.
        at_s: the moment of the reading; the doors are then as the file says, all day before it.
            Without, whichever doors stand open at some time of the day are taken to stand so
            all day, and the changes are enough for each of these states; they are no proof for
            a day in which doors move. The operator is then that of the state that lasts longest.
        hold_s: how long a source stood where it is, for the operator.
        through_walls: paths are displaced through walls too. Without, by ways on which one can
            walk at that moment, through no wall and no shut door, up to protect_distance_m;
            what is told of further distances still goes through walls, which is more.

    Raises:
        ValueError: a room without thermometers, or with arrays, or a moment outside of its day.
    """
    if at_s is not None:
        return respond_day(room, protect_distance_m, [at_s], hold_s, through_walls)
    known = known_of(room, protect_distance_m, hold_s, through_walls)
    return worst(_responses(known, constant(room)))


def respond_day(
    room: Room,
    protect_distance_m: float,
    at_s: Sequence[float],
    hold_s: float = _HOLD_S,
    through_walls: bool = True,
) -> Response:
    """Return the response that is enough for each of these readings, with the file's own doors.

    The operator is that of the reading in the middle of those that are looked at: one that
    another of them goes on from, for no door moved in between, is not. The rest is as for
    `respond`.

    Args:
        at_s: the moments of the readings.

    Raises:
        ValueError: no reading, one outside of the day, or a room that `respond` refuses.
    """
    if not len(at_s):
        raise ValueError(
            "there is no reading but at least one is needed, for noise is scaled to what it "
            "shows. Give the moments of the readings."
        )
    known = known_of(room, protect_distance_m, hold_s, through_walls)
    moments, day = sorted(at_s), room.day
    kept = longest(history(room, moment) for moment in moments)
    half = len(kept) // 2
    made = worst(_responses(known, kept[half:] + kept[:half]))
    told = clock(moments[0])
    if len(moments) > 1:
        told = f"each of {len(moments)} readings from {told} to {clock(moments[-1])}"
    lasts_s = day.step_s * round((moments[-1] - day.start_s) / day.step_s)
    return replace(made, lasts_s=lasts_s, doors=f"its doors as its file says until {told}")


def _responses(known: Known, several: Sequence[History]) -> list[Response]:
    """Return the response after each of these, side by side: solving lets other threads run."""
    for past in several:
        for opened in (*(since.opened for since in past), _always(past)):
            known.neighbours(opened)
    with ThreadPoolExecutor(min(len(several), _AT_ONCE)) as pool:
        return list(pool.map(partial(_response, known), several))


def _always(past: History) -> tuple[bool, ...]:
    """Return which doors never shut."""
    return tuple(all(stood) for stood in zip(*(since.opened for since in past), strict=True))


def _response(known: Known, past: History) -> Response:
    room, views, step_s = known.room, known.views, known.room.day.step_s
    air = ~layout(room).walls
    steps = sum(since.steps for since in past)
    held = min(steps, max(1, round(known.hold_s / step_s)))
    operator, shown, together = np.zeros_like(views), np.zeros_like(views), np.zeros_like(views)
    left = np.exp(-step_s / np.maximum(known.lags, 1e-9))[:, None, None]

    def watched() -> Iterator[Floats]:
        stretches = [Stretch(standing(room, since.opened), since.steps) for since in past]
        for nth, field in enumerate(pulses(views, stretches, step_s)):
            if nth < held:
                # A thermometer that lags shows a mean of what was there before.
                shown[:] = left * shown + (1 - left) * field
                operator[:] += shown
            together[:] += field
            yield field

    body, fields = partial(worn, room), watched()
    # Each stretch has its own neighbours, so no lag is told by those of another stretch.
    changes = reduce(
        plus,
        [
            displaced(islice(fields, since.steps), air, known.neighbours(since.opened), body)
            for since in past
        ],
    )
    near = known.neighbours(_always(past))
    more = 1 + _BETWEEN * (room.cell_mm / 1000) ** 2
    return Response(
        grid=grid(room),
        places_m=known.places,
        open_cells=near.open_cells.ravel(),
        operator=np.where(near.open_cells, body(operator), 0.0).reshape(len(views), -1),
        hold_s=held * step_s,
        lasts_s=steps * step_s,
        far_cells=near.far_cells,
        changes=times(changes, more),
        stays=displaced([together], air, near, body).joint,
        name=room.name,
        through_walls=known.through_walls,
    )
