"""The Hilbert curve for arrays of places, in one, two and three dimensions.

The same curve as `edge.mechanisms.ranks.place_of`, number for number, and its inverse. Two
points whose places differ by t of the whole curve are at most 3 sqrt(t) apart in a unit square.

Source: Skilling 2004, "Programming the Hilbert curve"; paper 004, Section 2.3, for the bound.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]

_CHUNK = 1 << 15  # so many at a time: they stay in the processor's cache


def cells_of(points: ArrayLike, order: int) -> Whole:
    """Return the cell of each point of the unit interval, square or cube, (n, axes).

    A point outside counts as the nearest one inside, for dropping it would tell of it.

    Raises:
        ValueError: the points have another shape, or one has no place (NaN).
    """
    given = np.asarray(points, dtype=np.float64)
    given = given[:, None] if given.ndim == 1 else given
    if given.ndim != 2 or not 1 <= given.shape[1] <= 3 or np.isnan(given).any():
        raise ValueError(
            f"the points have shape {given.shape} and {np.isnan(given).sum()} NaN but must be "
            "(n, 1), (n, 2) or (n, 3) numbers: what stands nowhere has no place on a curve. Leave "
            "such points out, and say so."
        )
    side = 1 << order
    return np.asarray(np.clip(np.floor(given * side), 0, side - 1), np.int64)


def places_of(cells: ArrayLike, order: int) -> Whole:
    """Return the place on the curve of each cell, (n,), of cells (n, axes) below 2**order."""
    given = np.asarray(cells, dtype=np.int64)
    places = np.empty(len(given), np.int64)
    for begin in range(0, len(given), _CHUNK):
        part = given[begin : begin + _CHUNK]
        places[begin : begin + len(part)] = _forth([*part.T.copy()], order)
    return places


def cells_at(places: ArrayLike, order: int, axes: int) -> Whole:
    """Return the cell at each place of the curve, (n, axes); the inverse of `places_of`."""
    given = np.asarray(places, dtype=np.int64)
    cells = np.empty((len(given), axes), np.int64)
    for begin in range(0, len(given), _CHUNK):
        part = given[begin : begin + _CHUNK]
        cells[begin : begin + len(part)] = np.stack(_back(part, order, axes), axis=1)
    return cells


def _forth(x: list[Whole], order: int) -> Whole:
    for bit in range(order - 1, 0, -1):
        for i in range(len(x)):
            _turn(x, i, bit)
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    turn = np.zeros_like(x[0])
    for bit in range(order - 1, 0, -1):
        turn ^= -(x[-1] >> bit & 1) & ((1 << bit) - 1)
    place = np.zeros_like(x[0])
    for bit in range(order - 1, -1, -1):
        for v in x:
            place <<= 1
            place |= (v ^ turn) >> bit & 1
    return place


def _back(place: Whole, order: int, axes: int) -> list[Whole]:
    x = [np.zeros_like(place) for _ in range(axes)]
    for bit in range(order):
        for i in range(axes):
            x[i] |= (place >> (bit * axes + axes - 1 - i) & 1) << bit
    turn = x[-1] >> 1
    for i in range(axes - 1, 0, -1):
        x[i] ^= x[i - 1]
    x[0] ^= turn
    for bit in range(1, order):
        for i in range(axes - 1, -1, -1):
            _turn(x, i, bit)
    return x


def _turn(x: list[Whole], i: int, bit: int) -> None:
    """Turn or swap the lower bits of the first axis with those of axis i; its own inverse."""
    below = (1 << bit) - 1
    high = -(x[i] >> bit & 1)  # all ones where this bit is set
    swap = (x[0] ^ x[i]) & below & ~high
    x[0] ^= swap | (high & below)
    if i:
        x[i] ^= swap
