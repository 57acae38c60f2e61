"""The outer sides of a room, cell by cell: how they pass heat, and what is beyond them."""

import numpy as np

from . import courses
from .raster import overlap, shape
from .records import Floats, Room


def film(room: Room, side: str) -> Floats:
    """Return what each cell of a side passes, (cells,) in W/(m2 K): windows and wall by area.

    A U-value is from the room's air to the air beyond, surfaces included, so it is the film
    itself. A window as high as it says takes its share of the cells; the wall above and below
    has the side's own.

    Source: EN ISO 6946:2017, section 3 (thermal transmittance); areas add up.
    """
    return sum(_parts(room, side), start=np.zeros(_count(room, side)))


def beyond_k(room: Room, side: str, from_s: float, to_s: float) -> Floats:
    """Return the temperature beyond each cell of a side, (cells,), as the mean over a step.

    Where a cell has two kinds of weather behind it, what the heat flow feels: the mean by film.
    """
    known = [room.sides[side].outside_c, *(it.outside_c for it in room.windows if it.side == side)]
    outside = [courses.mean(one, from_s, to_s) - room.air.baseline_c for one in known]
    parts = _parts(room, side)
    total = sum(parts, start=np.zeros(_count(room, side)))
    felt = sum((u * k for u, k in zip(parts, outside, strict=True)), start=np.zeros(len(total)))
    return np.where(total > 0, felt / np.where(total > 0, total, 1.0), outside[0])


def _parts(room: Room, side: str) -> list[Floats]:
    # The side itself first, then its windows in their order; each by its share of the area.
    windows = [window for window in room.windows if window.side == side]
    glazed = [
        overlap(room, window.from_m, window.to_m, _count(room, side))
        * (window.height_m / room.height_m)
        for window in windows
    ]
    rest = 1.0 - sum(glazed, start=np.zeros(_count(room, side)))
    passed = [share * window.u_w_per_m2k for share, window in zip(glazed, windows, strict=True)]
    return [np.maximum(rest, 0.0) * room.sides[side].u_w_per_m2k, *passed]


def _count(room: Room, side: str) -> int:
    rows, columns = shape(room)
    return rows if side in ("east", "west") else columns
