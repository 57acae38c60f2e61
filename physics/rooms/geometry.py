"""Rectangles and straight ways in a plan: what overlaps, what is in the way."""

from .records import Point, Rect

# Closer than this is touching, of what is told in the file: half a millimetre.
TOUCH_M = 5e-4
# And of what is drawn: round-off.
_EXACT_M = 4e-10


def inside(place: Point, rect: Rect) -> bool:
    """Return whether a place is within a rectangle; on its edge is outside."""
    left, top, right, bottom = rect
    x, y = place
    return left + _EXACT_M < x < right - _EXACT_M and top + _EXACT_M < y < bottom - _EXACT_M


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

    >>> since, until = crossing((0.0, 1.0), (4.0, 1.0), (1.0, 0.0, 2.0, 2.0))
    >>> round(since, 6), round(until, 6)
    (0.25, 0.5)
    """
    since, until = 0.0, 1.0
    for axis in (0, 1):
        low, high = rect[axis] + _EXACT_M, rect[axis + 2] - _EXACT_M
        go = end[axis] - start[axis]
        if go == 0:
            if not low < start[axis] < high:
                return None
            continue
        first, last = sorted(((low - start[axis]) / go, (high - start[axis]) / go))
        since, until = max(since, first), min(until, last)
    return (since, until) if since < until else None
