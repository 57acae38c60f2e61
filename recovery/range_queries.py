"""Workloads of rectangles to ask a map about, and how far its answers are from the truth."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edge.records import Grid

from .ranges import boxes_of
from .sequence import uniforms

Floats = NDArray[np.float64]


class Errors(NamedTuple):
    """How far answers are from the truth, each with its standard error over the rectangles."""

    absolute: float  # mean of |answer - truth|
    absolute_se: float
    relative: float  # mean of |answer - truth| / max(truth, floor)
    relative_se: float


def in_cells(rectangles_m: ArrayLike, grid: Grid) -> Floats:
    """Return rectangles in cells, (rectangles, 4), of those in metres (or on the unit square)."""
    boxes = boxes_of(rectangles_m)
    columns, rows = grid.shape
    if grid.cell_mm:
        return boxes * 1000 / grid.cell_mm
    return boxes * np.array([columns, rows, columns, rows])


def workload(grid: Grid, count: int, side: float | None = None, stream: int = 0) -> Floats:
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
        _edges(length, first, second, side)
        for length, first, second in ((columns, *drawn[:2]), (rows, *drawn[2:]))
    ]
    return np.stack([axes[0][0], axes[1][0], axes[0][1], axes[1][1]], axis=1)


def errors(truth: ArrayLike, answers: ArrayLike, floor: float = 1e-3) -> Errors:
    """Return the mean absolute and the mean relative error of shares.

    Args:
        truth, answers: (rectangles,), shares.
        floor: the least share that an error is divided by, because of an empty rectangle no
            error is small; a thousandth is what papers on such queries take.
    """
    true, told = np.asarray(truth, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    if true.shape != told.shape or true.ndim != 1 or not len(true) or not floor > 0:
        raise ValueError(
            f"the shares have shapes {true.shape} and {told.shape} and the floor is {floor:g} but "
            "each answer needs its truth, and the floor must be above 0. Ask both maps the same."
        )
    off = np.abs(told - true)
    parts = off / np.maximum(true, floor)
    root = len(off) ** 0.5
    spread = [float(one.std(ddof=1)) / root if len(off) > 1 else np.inf for one in (off, parts)]
    return Errors(float(off.mean()), spread[0], float(parts.mean()), spread[1])


def _edges(
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
