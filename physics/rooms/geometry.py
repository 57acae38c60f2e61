"""Rectangles and straight ways in a plan: what overlaps, what is in the way."""

import numpy as np
from numpy.typing import NDArray

from .records import Floats, Point, Rect

# Closer than this is touching: half a millimetre.
TOUCH_M = 5e-4


def inside(place: Point, rect: Rect) -> bool:
    """Return whether a place is within a rectangle; on its edge is outside."""
    left, top, right, bottom = rect
    x, y = place
    return left + TOUCH_M < x < right - TOUCH_M and top + TOUCH_M < y < bottom - TOUCH_M


def within(rect: Rect, size_m: Point) -> bool:
    """Return whether a rectangle lies in the room; its edge may be the room's."""
    left, top, right, bottom = rect
    return (
        min(left, top) >= -TOUCH_M
        and right <= size_m[0] + TOUCH_M
        and bottom <= size_m[1] + TOUCH_M
    )


def overlap(one: Rect, other: Rect) -> Rect | None:
    """Return what two rectangles have in common, or None; to touch is not to overlap.

    >>> overlap((0.0, 0.0, 2.0, 2.0), (1.0, 1.0, 3.0, 3.0))
    (1.0, 1.0, 2.0, 2.0)
    """
    common = (
        max(one[0], other[0]),
        max(one[1], other[1]),
        min(one[2], other[2]),
        min(one[3], other[3]),
    )
    wide, deep = common[2] - common[0], common[3] - common[1]
    return common if wide > TOUCH_M and deep > TOUCH_M else None


def crossing(start: Point, end: Point, rect: Rect) -> tuple[float, float] | None:
    """Return from where to where, as shares of the way, a straight way is in a rectangle, or None.

    Touching an edge or a corner is no crossing.

    Source: Liang and Barsky 1984, ACM Transactions on Graphics 3, 1: clipping by parameters.

    >>> crossing((0.0, 1.0), (4.0, 1.0), (1.0, 0.0, 2.0, 2.0))
    (0.250125, 0.499875)
    """
    since, until = 0.0, 1.0
    for axis in (0, 1):
        low, high = rect[axis] + TOUCH_M, rect[axis + 2] - TOUCH_M
        go = end[axis] - start[axis]
        if go == 0:
            if not low < start[axis] < high:
                return None
            continue
        first, last = sorted(((low - start[axis]) / go, (high - start[axis]) / go))
        since, until = max(since, first), min(until, last)
    return (since, until) if since < until else None


def blocked(starts: Floats, ends: Floats, rect: Rect) -> NDArray[np.bool_]:
    """Return whether each of many straight ways, from (k, 2) to (k, 2), goes through a rectangle.

    As `crossing` has it, all at once.
    """
    low = np.array(rect[:2]) + TOUCH_M
    high = np.array(rect[2:]) - TOUCH_M
    go = ends - starts
    moving = go != 0
    by = np.where(moving, go, 1.0)
    shares = np.stack([(low - starts) / by, (high - starts) / by])
    between = (low < starts) & (starts < high)
    # An axis that the way does not change on blocks it all along, or not at all.
    first = np.where(moving, shares.min(axis=0), np.where(between, -np.inf, np.inf))
    last = np.where(moving, shares.max(axis=0), np.where(between, np.inf, -np.inf))
    since = np.maximum(first.max(axis=1), 0.0)
    until = np.minimum(last.min(axis=1), 1.0)
    return np.asarray(since < until)
