"""How far warmth that was given off elsewhere changes what sensors feel, whatever the path.

Take one source of at most P watts and two paths of it that are never further apart than a
protected distance. Its warmth reaches the sensors by K_l, the response at the moment of reading
to a watt in each cell during the lag l before it, so the two readings differ by

    sum over l of p_l (K_l[:, here_l] - K_l[:, there_l]),    0 <= p_l <= P

and, by the triangle inequality, in l2 norm by at most P times the sum over lags of the greatest
|| K_l[:, a] - K_l[:, b] || of cells a and b that are no further apart; on one sensor by at most
P times the sum of the greatest difference there. Who moves within a lag has been in several
cells, and a body is in several at once: each is a mean of such differences with the same
weights on both sides, and no mean is longer than the longest. A thermometer that lags behind
the air takes a mean of what was there before, again with weights of one together, so the sum
over all lags is not raised by it either.

Source: the triangle inequality, over time.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .pairs import Blocks, Near, pairs_of
from .places import Floats

# What is bounded by blocks where that is no worse adds at most this share to the sum.
_LOOSE = 2e-3


class Displaced(NamedTuple):
    """What a source of one watt changes, in kelvin, at the most."""

    joint: Floats  # (distances,), l2 norm over all sensors of displaced paths
    each: Floats  # (distances, sensors), on one sensor
    presence: float  # l2 norm of what a source gives that comes, wherever it goes
    presence_each: Floats  # (sensors,)


def displaced(
    fields: Iterable[Floats],
    open_cells: NDArray[np.bool_],
    far_cells: Sequence[int],
    exact_cells: int,
) -> Displaced:
    """Return what one watt changes at the most, on any path and any displaced one.

    Args:
        fields: for each lag, (sensors, rows, columns): kelvin at each sensor of a watt that was
            in each cell during that lag.
        open_cells: (rows, columns), where a source can be.
        far_cells: distances, in sides of a cell, growing.
        exact_cells: up to here all pairs of cells are compared; beyond it they are compared in
            blocks, which is a little more than the truth and never less.

    Raises:
        ValueError: no source can be anywhere, or a field is not finite or of another shape.
    """
    _check(open_cells, far_cells)
    near = [
        found
        for nth, cells in enumerate(far_cells)
        if cells <= exact_cells
        for found in pairs_of(open_cells, cells, far_cells[nth - 1] if nth else 0, nth)
    ]
    exact = sum(cells <= exact_cells for cells in far_cells)
    blocks = Blocks(open_cells, far_cells)
    joint, each, loose = np.zeros(len(far_cells)), np.zeros((len(far_cells), 0)), 0.0
    presence, presence_each = 0.0, np.zeros(0)
    for field in fields:
        felt = _felt(field, open_cells)
        if not each.size:
            each, presence_each = np.zeros((len(joint), felt.shape[1])), np.zeros(felt.shape[1])
        presence += float(np.sqrt(np.einsum("ij,ij->i", felt, felt).max()))
        presence_each += np.abs(felt).max(axis=0)
        apart, span = blocks.apart(felt), felt.max(axis=0) - felt.min(axis=0)
        spans = np.tile(span, (len(joint), 1))
        # Long after, all is nearly even, and what little may differ need not be known exactly.
        if exact and loose + apart[exact - 1] > _LOOSE * joint[0]:
            apart[:exact], spans[:exact] = _compared(felt, near, exact)
        elif exact:
            loose += apart[exact - 1]
        joint += apart
        each += spans
    return Displaced(joint, each, presence, presence_each)


def _compared(felt: Floats, near: Sequence[Near], exact: int) -> tuple[Floats, Floats]:
    """Return the greatest difference up to each of the exact distances: l2, and on each sensor."""
    square, each = np.zeros(exact), np.zeros((exact, felt.shape[1]))
    for distance, one, other in near:
        change = felt[one]
        change -= felt[other]
        most = float(np.einsum("ij,ij->i", change, change).max())
        square[distance] = max(square[distance], most)
        np.abs(change, out=change)
        np.maximum(each[distance], change.max(axis=0), out=each[distance])
    return np.sqrt(np.maximum.accumulate(square)), np.maximum.accumulate(each)


def _felt(field: Floats, open_cells: NDArray[np.bool_]) -> Floats:
    """Return (open cells, sensors) of a field."""
    if field.ndim != 3 or field.shape[1:] != open_cells.shape or not np.isfinite(field).all():
        raise ValueError(
            f"a field has shape {field.shape} or holds a value that is not finite, but "
            f"(sensors, {', '.join(map(str, open_cells.shape))}) of finite numbers is needed, or "
            "the noise that rests on it would protect nobody. Take them from the room's model."
        )
    return np.ascontiguousarray(field[:, open_cells].T)


def _check(open_cells: NDArray[np.bool_], far_cells: Sequence[int]) -> None:
    growing = all(a < b for a, b in pairwise(far_cells))
    if np.count_nonzero(open_cells) < 2 or not far_cells or far_cells[0] < 1 or not growing:
        raise ValueError(
            f"there are {np.count_nonzero(open_cells)} cells to stand in and the distances are "
            f"{tuple(far_cells)}, but two cells and growing whole distances from 1 are needed: "
            "else there is nothing to hide. Correct the room, or the distances."
        )
