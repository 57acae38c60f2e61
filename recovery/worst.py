"""The most that what is sent can change, at every spread that a room can meet.

The whole numbers that are sent jump while heat spreads, so the worst of them need not be where
the temperatures change most, nor at any spread that was tried. Between two spreads each
sensor's change is bounded by the larger of its two, and by a little more where it may bend; a
stretch that this bound allows to be the worst is halved, until the bound is hardly above what
was found. It is the bound that comes out, so the answer is never too small.
"""

import heapq
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from physics.sensitivity import moves

from .spreads import BENDS, Room, felt
from .whole import bounded, reach, whole_square

Floats = NDArray[np.float64]

PRESENCE = 0  # instead of a distance: a source that comes or goes

_NEAR = 1.001  # of the squared sensitivity: noise is half a part in a thousand wider at the most
_NARROW = 1e-5  # of the logarithm of the spread: a stretch is halved no further


class Grains(NamedTuple):
    """How a unit source's warmth becomes whole numbers."""

    exponent: int  # a grain is 2**-exponent units
    step: Fraction | None  # of the converter
    intensity_max: float

    def most(self, norms: Floats, sensors: int) -> Floats:
        """Return what changes of these l2 norms come to at the most, squared in grains.

        On one sensor x steps are rounded up to ceil(x), and then to grains. Their squares add
        up to at most (|x| + sqrt(sensors))**2; and since ceil(x)**2 is 1 up to a step, and
        beyond it at most 1 + 3 x**2, to at most sensors + 3 |x|**2, or to sensors where |x| is
        within a step.
        """
        grain, root = 2.0**-self.exponent, math.sqrt(sensors)
        unit = grain if self.step is None else float(self.step)
        x = norms * self.intensity_max * (1 + 1e-9) / unit
        counts = np.minimum(np.square(x + root), sensors + np.where(x > 1, 3 * np.square(x), 0))
        if self.step is None or (self.step * Fraction(2) ** self.exponent).denominator == 1:
            return np.asarray(counts * (unit / grain) ** 2)
        return np.asarray(np.square(np.sqrt(counts) * (unit / grain) + root))


class Stretch(NamedTuple):
    """Spreads between two others; sorts by what it may come to, the most first."""

    first: float  # minus the greatest of the bounds
    low: float  # logarithms of the spreads
    high: float
    counted: bool  # whether the bounds are of the whole numbers at both ends
    bound: Floats  # (distances,), nought where it does not matter any more

    def looked_at(self) -> tuple[list[float], list[tuple[float, float]]]:
        """Return at which points to count, and between which to bound."""
        if not self.counted:
            return [self.low, self.high], [(self.low, self.high)]
        middle = (self.low + self.high) / 2
        return [middle], [(self.low, middle), (middle, self.high)]


def worst_squares(room: Room, cells: tuple[int, ...], grains: Grains) -> list[int]:
    """Return the greatest squared l2 norm of what moves up to each distance change, in grains.

    Args:
        cells: the distances, growing; or PRESENCE alone.

    Raises:
        ValueError: it is beyond what can be squared exactly, see `recovery.whole`.
    """
    every, here = np.ones(len(cells), dtype=bool), room.operator()
    # What is found somewhere is not too large, and what is answered not too small.
    found = _squares(room, here, here, 0.0, cells, every, grains)
    answer = found.copy()
    queue = list(_stretches(room, cells, grains))
    heapq.heapify(queue)
    while queue:
        stretch = heapq.heappop(queue)
        wanted = stretch.bound > np.maximum.accumulate(answer)
        if not wanted.any():
            continue
        points, parts = stretch.looked_at()
        for point in points:
            there = room.operator(math.exp(point))
            found = np.maximum(found, _squares(room, there, there, 0.0, cells, wanted, grains))
        for low, high in parts:
            ends = room.operator(math.exp(low)), room.operator(math.exp(high))
            bound = _squares(room, *ends, high - low, cells, wanted, grains)
            done = (bound <= _NEAR * np.maximum.accumulate(found)) | (high - low < _NARROW)
            answer = np.maximum(answer, np.where(done, bound, found))
            left = np.where(done, 0.0, bound)
            if left.any():
                heapq.heappush(queue, Stretch(-float(left.max()), low, high, True, left))
    return [int(square) for square in np.maximum.accumulate(answer)]


def _stretches(room: Room, cells: tuple[int, ...], grains: Grains) -> Iterator[Stretch]:
    """Yield what lies between two spreads that were tried, bounded by what is felt there."""
    present, sensors = cells == (PRESENCE,), math.prod(room.sensors)
    tried = felt(room, () if present else cells)
    norms = tried.presence[:, None] if present else tried.moves
    logs = np.log(tried.spreads_m2)
    for nth, wide in enumerate(np.diff(logs)):
        higher = np.maximum(norms[nth], norms[nth + 1]) * math.exp(BENDS * (wide / 2) ** 2)
        bound = grains.most(higher, sensors)
        yield Stretch(-float(bound.max()), logs[nth], logs[nth + 1], False, bound)


def _squares(
    room: Room,
    one: Floats,
    other: Floats,
    wide: float,
    cells: tuple[int, ...],
    wanted: NDArray[np.bool_],
    grains: Grains,
) -> Floats:
    """Return the squares of the larger of two operators' changes, for the wanted distances.

    Each counts the moves longer than the distance before it; nought where it is not wanted.
    """
    warmest = max(float(one.max()), float(other.max()))
    bent = grains.intensity_max * math.exp(BENDS * (wide / 2) ** 2)
    squares = np.zeros(len(cells))
    for nth in np.flatnonzero(wanted):
        blocks = (
            bounded(np.maximum(np.abs(a), np.abs(b)), bent, warmest)
            for a, b in _changes(room, one, other, cells, int(nth))
        )
        squares[nth] = whole_square(blocks, grains.exponent, grains.step)
    return squares


def _changes(
    room: Room, one: Floats, other: Floats, cells: tuple[int, ...], nth: int
) -> Iterator[tuple[Floats, Floats]]:
    """Yield what each of two operators changes by, move by move."""
    if cells[nth] == PRESENCE:
        yield one, other
        return
    shape = room.grid.shape
    near = reach(shape, cells[nth - 1]).stop if nth else 1
    for cell in range(near, reach(shape, cells[nth]).stop):
        if one is other:
            yield from ((block, block) for block in moves(one, cell, shape))
        else:
            yield from zip(moves(one, cell, shape), moves(other, cell, shape), strict=True)
