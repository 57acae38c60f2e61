"""How much of a map lies in a rectangle.

A rectangle is (x0, y0, x1, y1) in cells, half open, its edges anywhere in a cell: within a cell
the mass is even. Every answer takes four looks at one
table of sums, however large the rectangle.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edge.core.records import Grid

from ..sequence import uniforms

Floats = NDArray[np.float64]


def sum_rectangles(mass: ArrayLike, rectangles: ArrayLike) -> Floats:
    """Return the share of the map that is in each rectangle, (rectangles,).

    Args:
        mass: (rows, columns), not negative.
        rectangles: (rectangles, 4), x0, y0, x1, y1 in cells; what is outside the map holds
            nothing.

    Raises:
        ValueError: a mass that is negative or nought in all, a rectangle whose second corner is
            before its first.

    >>> sum_rectangles([[1, 1], [1, 1]], [[0, 0, 1, 1], [0.5, 0, 2, 2]])
    array([0.25, 0.75])
    """
    masses = _map(mass)
    return _sum_boxes(masses / masses.sum(), check_rectangles(rectangles))


def _sum_boxes(mass: Floats, boxes: Floats) -> Floats:
    """Return the mass of each box from summed areas, between cells by interpolation."""
    rows, columns = mass.shape
    table = np.zeros((rows + 1, columns + 1))
    table[1:, 1:] = mass.cumsum(axis=0).cumsum(axis=1)

    def below(x: Floats, y: Floats) -> Floats:
        x, y = np.clip(x, 0, columns), np.clip(y, 0, rows)
        left = np.minimum(x.astype(np.int64), columns - 1)
        top = np.minimum(y.astype(np.int64), rows - 1)
        u, v = x - left, y - top
        upper = (1 - u) * table[top, left] + u * table[top, left + 1]
        lower = (1 - u) * table[top + 1, left] + u * table[top + 1, left + 1]
        return (1 - v) * upper + v * lower

    x0, y0, x1, y1 = boxes.T
    found = below(x1, y1) - below(x0, y1) - below(x1, y0) + below(x0, y0)
    return np.clip(found, 0.0, None)  # rounding leaves an empty box a hair below nought


def _map(mass: ArrayLike) -> Floats:
    masses = np.asarray(mass, dtype=np.float64)
    if (
        masses.ndim != 2
        or not masses.size
        or not masses.min() >= 0
        or not 0 < masses.sum() < np.inf
    ):
        raise ValueError(
            f"the map has shape {masses.shape} but must be (rows, columns) of masses, none "
            "negative and some above nought: there is no share of nothing. Correct it first."
        )
    return masses


def check_rectangles(rectangles: ArrayLike) -> Floats:
    """Return rectangles as (rectangles, 4), or refuse what are none."""
    boxes = np.asarray(rectangles, dtype=np.float64)
    if boxes.ndim == 1:
        boxes = boxes[None]
    good = boxes.ndim == 2 and boxes.shape[1] == 4 and bool(np.isfinite(boxes).all())
    if not (good and (boxes[:, :2] <= boxes[:, 2:]).all()):
        raise ValueError(
            f"the rectangles have shape {boxes.shape} but must be (rectangles, 4), x0, y0, x1 and "
            "y1 with the first corner before the second, or it is not known what is asked. Sort "
            "the corners."
        )
    return boxes


# Workloads of rectangles to ask a map about.


def draw_rectangles(grid: Grid, count: int, side: float | None = None, stream: int = 0) -> Floats:
    """Return rectangles to ask about, (count, 4) in cells, the same for the same arguments.

    Args:
        side: of each rectangle, as a part of the grid's own sides, put anywhere inside; None
            for corners on the lines between cells, every pair of columns and of rows equally
            likely.
        stream: which of the fixed sequences is walked; others are other workloads.

    Raises:
        ValueError: fewer than one rectangle, or a side that is not above 0 and at most 1.
    """
    if count < 1 or (side is not None and not 0 < side <= 1):
        raise ValueError(
            f"{count} rectangle(s) of side {side} were asked for but there must be at least one, "
            "and its side above 0 and at most 1, the whole grid. Give other numbers."
        )
    columns, rows = grid.shape
    drawn = uniforms(4 * count, stream).reshape(4, count)
    axes = [
        _place_edges(length, first, second, side)
        for length, first, second in ((columns, *drawn[:2]), (rows, *drawn[2:]))
    ]
    return np.stack([axes[0][0], axes[1][0], axes[0][1], axes[1][1]], axis=1)


def _place_edges(
    length: int, first: Floats, second: Floats, side: float | None
) -> tuple[Floats, Floats]:
    """Return where boxes start and stop on one axis."""
    if side is not None:
        start = first * (1 - side) * length
        return start, start + side * length
    here = np.floor(first * (length + 1))
    # Any of the other lines, so that a pair is of two.
    there = np.floor(second * length)
    there += there >= here
    return np.minimum(here, there), np.maximum(here, there)
