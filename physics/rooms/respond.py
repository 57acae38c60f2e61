"""How a room answers heat at its thermometers, worked out from its model for all places."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import groupby

import numpy as np
from scipy.special import ndtr

from ..diffusion.medium import Medium
from ..displaced import Displaced, displaced
from ..instruments.presets import named
from ..instruments.views import point_views
from ..response import Response, worst
from .footprint import FOOTPRINT_M
from .model import free, grid, media
from .pulses import Stretch, pulses
from .raster import Mask, layout, shape
from .records import Floats, Room

_HOLD_S = 3600.0
# Bodies are compared in the middles of cells. Anywhere in them they differed by up to 1 % more on
# cells of 250 mm, and 7 % on cells of 500 mm; so much of the cell's area in m2 is added.
_BETWEEN = 0.4
_AT_ONCE = 4
_SERIES = (1, 2, 5, 10, 20, 50)


def respond(
    room: Room, protect_distance_m: float, at_s: float | None = None, hold_s: float = _HOLD_S
) -> Response:
    """Return the response of a room at its thermometers.

    Args:
        room: from its file.
        protect_distance_m: up to here displaced paths are compared cell by cell.
        at_s: the moment of the reading; the doors are then as the file says, all day before it.
            Without, whichever doors stand open at some time of the day are taken to stand so
            all day, and the changes are enough for each of these states. The operator is then
            that of the state that lasts longest.
        hold_s: how long a source stood where it is, for the operator.

    Raises:
        ValueError: a room without thermometers, or with arrays, or a moment outside of its day.
    """
    places, lags = _thermometers(room)
    views = point_views(places, grid(room)).reshape(len(places), *shape(room))
    step_s, day = room.day.step_s, room.day
    if at_s is not None and not day.start_s + step_s <= at_s <= day.until_s:
        raise ValueError(
            f"the reading is at {at_s:g} s but the day is from {day.start_s:g} to "
            f"{day.until_s:g}: before it there is nothing to feel, and after it nothing is known. "
            "Give a moment within the day."
        )
    steps = round(((day.until_s if at_s is None else at_s) - day.start_s) / step_s)
    ends = [day.start_s + step_s * nth for nth in range(steps, 0, -1)]
    backwards = [media(room, end - step_s, end) for end in ends]
    stretches = [Stretch(one, len(list(group))) for one, group in groupby(backwards)]
    if at_s is not None:
        made = _response(room, places, lags, views, stretches, protect_distance_m, hold_s)
        return replace(made, doors=f"its doors as its file says until {at_s:.15g} s of the day")
    states = sorted(dict.fromkeys(backwards), key=backwards.count, reverse=True)

    def held(state: Medium) -> Response:
        stretch = [Stretch(state, steps)]
        return _response(room, places, lags, views, stretch, protect_distance_m, hold_s)

    # Solving lets other threads run meanwhile.
    with ThreadPoolExecutor(min(len(states), _AT_ONCE)) as pool:
        return worst(list(pool.map(held, states)))


def worn(room: Room, field: Floats) -> Floats:
    """Return the response to a person who stands in the middle of each cell, of a field.

    It is `footprint.spread` at the middles of all cells at once; in walls it has no meaning.

    Args:
        field: (sensors, rows, columns).
    """
    rows, columns = shape(room)
    plan, cell_m = layout(room), room.cell_mm / 1000
    down, across = (
        np.diff(
            ndtr((np.arange(count + 1) - np.arange(count)[:, None] - 0.5) * cell_m / FOOTPRINT_M)
        )
        for count in (rows, columns)
    )
    found = np.zeros_like(field)
    for zone in range(plan.zone.max() + 1):
        air = (plan.zone == zone) | plan.doors if zone else ~plan.walls
        here = plan.zone == zone
        if not here.any():
            continue
        y, x = (_extent(here.any(axis=axis)) for axis in (1, 0))
        total = down[y] @ air @ across[x].T
        spread = np.matmul(np.matmul(down[y], air * field), across[x].T) / np.where(
            here[y, x], total, 1
        )
        found[:, y, x][:, here[y, x]] = spread[:, here[y, x]]
    return found


def _extent(marked: Mask) -> slice:
    where = np.flatnonzero(marked)
    return slice(int(where[0]), int(where[-1]) + 1)


def _response(
    room: Room,
    places: Floats,
    lags: Floats,
    views: Floats,
    stretches: Sequence[Stretch],
    protect_distance_m: float,
    hold_s: float,
) -> Response:
    step_s, plan = room.day.step_s, layout(room)
    cells = int(np.ceil(1000 * protect_distance_m / room.cell_mm - 1e-9))
    longest = int(np.ceil(np.hypot(*shape(room))))
    far = tuple(sorted({cells, longest, *(one for one in _SERIES if one < longest)}))
    standing = free(room).reshape(shape(room))
    steps = sum(part.steps for part in stretches)
    held = min(steps, max(1, round(hold_s / step_s)))
    operator, shown, together = np.zeros_like(views), np.zeros_like(views), np.zeros_like(views)
    left = np.exp(-step_s / np.maximum(lags, 1e-9))[:, None, None]

    def watched() -> Iterator[Floats]:
        for nth, field in enumerate(pulses(views, stretches, step_s)):
            if nth < held:
                # A thermometer that lags shows a mean of what was there before.
                shown[:] = left * shown + (1 - left) * field
                operator[:] += shown
            together[:] += field
            yield field

    body = partial(worn, room)
    changes = displaced(watched(), ~plan.walls, standing, far, cells, body)
    stays = displaced([together], ~plan.walls, standing, far, cells, body).joint
    more = 1 + _BETWEEN * (room.cell_mm / 1000) ** 2
    joint, each, presence, presence_each = changes
    return Response(
        grid=grid(room),
        places_m=places,
        open_cells=standing.ravel(),
        operator=np.where(standing, body(operator), 0.0).reshape(len(views), -1),
        hold_s=held * step_s,
        lasts_s=steps * step_s,
        far_cells=far,
        changes=Displaced(more * joint, more * each, more * presence, more * presence_each),
        stays=stays,
        name=room.name,
    )


def _thermometers(room: Room) -> tuple[Floats, Floats]:
    """Return where the thermometers are, (sensors, 2), and how far they lag, (sensors,)."""
    if room.arrays or not room.thermometers:
        raise ValueError(
            f"room {room.name} has {sum(len(one.places_m) for one in room.thermometers)} "
            f"thermometers and {len(room.arrays)} arrays, but the noise that is scaled to a room "
            "is that of thermometers alone: what an array sees is not bounded here. Give "
            "[thermometers], and no [[array]]."
        )
    places = [place for one in room.thermometers for place in one.places_m]
    lags = [named(one.kind).lag_s for one in room.thermometers for _ in one.places_m]
    return np.array(places, dtype=float), np.array(lags)
