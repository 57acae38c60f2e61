"""How far one source that moves can change all the readings together, whatever the operator.

The same number as `physics.kernel.sensitivity`, without forming the operator: from the axes of a
grid, from thin factors, or from the near pairs.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from ..places import Floats
from .choose import Chosen, Operator
from .lowrank import LowRank
from .near import Near
from .separable import Factor, Separable
from .uniform import Even, Line, Modes, Uniform

# Which moves of one source count as neighbours, on a grid of one to three axes.

Step: TypeAlias = tuple[int, ...]
Among: TypeAlias = Literal["ring", "disc", "sides", "corners"]


@lru_cache(maxsize=1024)  # the same moves are asked for at every spread
def steps(counts: tuple[int, ...], cells: int = 1, among: Among = "ring") -> tuple[Step, ...]:
    """Return the steps, x first, one of each pair of a move and its reverse.

    Args:
        counts: how many cells along each axis, x first.
        cells: d, how far a source moves.
        among: "ring" is longer than d - 1 and at most d cells, as in `physics.kernel.moves`;
            "disc" is every move of at most d cells; "sides" is d cells along one axis, for d = 1
            the 4 neighbours in a plane and the 6 in a room; "corners" is at most d cells along
            each axis, for d = 1 the 8 neighbours and the 26.

    Raises:
        ValueError: another word, or no two cells are so far apart.

    >>> steps((3, 3), 1, "corners")
    ((0, 1), (1, -1), (1, 0), (1, 1))
    """
    if among not in get_args(Among):
        raise ValueError(
            f"among is {among!r} but must be one of {', '.join(get_args(Among))}, for it says "
            "which moves are hidden. Take 'disc' where people walk obliquely."
        )
    whole = cells >= 1 and cells % 1 == 0  # which neither a NaN nor infinity is
    most = [min(cells, count - 1) for count in counts if whole]
    found = tuple(
        step
        for step in itertools.product(*(range(-int(far), int(far) + 1) for far in most))
        if step > tuple(-move for move in step) and _held(step, int(cells), among)
    )
    if not found:
        raise ValueError(
            f"the move is {cells} cells but {' by '.join(map(str, counts))} cells have no two "
            "that far apart, so there is nothing to hide. Ask for a whole number from 1 to "
            f"{max(counts) - 1}, or make the grid finer."
        )
    return found


def _held(step: Step, cells: int, among: Among) -> bool:
    square = sum(move**2 for move in step)
    if among == "corners":
        return True
    if among == "sides":
        return square == cells**2 == max(map(abs, step)) ** 2
    return (among == "disc" or square > (cells - 1) ** 2) and square <= cells**2


# How far one source that moves in a plane or a room can change all the readings together.
#
# The same number again, from the factors of the axes alone: 256 by 256 cells take milliseconds,
# where the columns of the whole operator would take hundreds of megabytes.


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two columns u and v, for each place that u can have: all that their product needs."""

    apart: Floats  # ||u - v||**2
    middle: Floats  # ||(u + v) / 2||**2
    cross: Floats  # (u - v)'(u + v) / 2


def separable_sensitivity(operator: Separable, cells: int = 1) -> float:
    """Return the joint sensitivity, for a unit source that moves by so many cells.

    Args:
        operator: the factors; where some sensors are silent the number is that of all of them,
            which is the larger: noise is planned before it is known who will be heard.
        cells: d, how far the source moves; the ring of moves longer than d - 1 and at most d
            cells, as in `physics.kernel.moves`.

    Raises:
        ValueError: no two cells are so far apart.

    >>> separable_sensitivity(Separable((np.eye(3), np.eye(2))))
    1.4142135623730951
    """
    found = steps(operator.cells, cells, "ring")
    return worst_step(found, lambda axis, move: pair(operator.factors[axis], move))


def worst_step(found: Iterable[Step], line_pair: Callable[[int, int], Pair]) -> float:
    """Return the greatest distance of two columns of a Kronecker product that such steps join.

    With d = u - v and e = (u + v) / 2 for the two columns of each axis, and x for Kronecker's

        u x w - v x z = d x e' + e x d'

    so the squared distance is ||d||**2 ||e'||**2 + ||e||**2 ||d'||**2 + 2 (d'e)(d''e'), in which
    nothing large cancels.

    Args:
        found: steps, one whole number for each axis.
        line_pair: of an axis and a move along it, the pairs of its columns.
    """
    known = cache(line_pair)
    square = 0.0
    for step in found:
        *first, last = [known(axis, move) for axis, move in enumerate(step)]
        # Nothing has one column: (1,) of length one, not apart.
        one = reduce(_product, first, Pair(np.zeros(1), np.ones(1), np.zeros(1)))
        square = max(square, float(_pairs_apart(one, last).max()))
    return math.sqrt(square)


def pair(factor: Factor, move: int) -> Pair:
    """Return the pairs of columns of one axis that a move along it joins."""
    columns = _columns(factor)
    here = columns[:, max(0, -move) : columns.shape[1] - max(0, move)]
    there = columns[:, max(0, move) : columns.shape[1] - max(0, -move)]
    difference, mean = here - there, (here + there) / 2
    return Pair(
        np.einsum("ij,ij->j", difference, difference),
        np.einsum("ij,ij->j", mean, mean),
        np.einsum("ij,ij->j", difference, mean),
    )


def _columns(factor: Factor) -> Floats:
    """Return columns as long and as far apart as the factor's."""
    if isinstance(factor, LowRank):
        return np.asarray(np.linalg.qr(factor.left, mode="r") @ factor.right.T)
    return factor


def _product(one: Pair, other: Pair) -> Pair:
    """Return the pair of u x w and v x z, for every place on both axes."""
    apart, middle, cross = one.apart, one.middle, one.cross
    return Pair(
        _pairs_apart(one, other),
        _outer(middle, other.middle)
        + _outer(apart, other.apart) / 16
        + _outer(cross, other.cross) / 2,
        _outer(cross, other.middle)
        + _outer(middle, other.cross)
        + (_outer(apart, other.cross) + _outer(cross, other.apart)) / 4,
    )


def _pairs_apart(one: Pair, other: Pair) -> Floats:
    found = _outer(one.apart, other.middle)
    found += _outer(one.middle, other.apart)
    found += 2 * _outer(one.cross, other.cross)
    return found


def _outer(one: Floats, other: Floats) -> Floats:
    return np.outer(one, other).ravel()


# Pairs of columns along one axis, from its transform: what the sensitivity of a grid needs.
#
# Without walls all columns are windows of one kernel, so the sums over sensors are running sums.
# With a sensor in every cell between walls the columns are waves, and
#
#     ||A_i - A_j||**2 = sum over modes m of w_m**2 (c_m(i) - c_m(j))**2
#
# where the difference of two cosines is a product of two sines: nothing cancels, and the sum over
# modes is one more transform. Else the columns themselves are formed.

# Columns of one axis are formed up to this many numbers, a quarter of a gigabyte.
_FORMED_MOST = 1 << 25


def line_pair(line: Line, move: int) -> Pair:
    """Return the pairs of columns of this axis that a move along it joins.

    Raises:
        ValueError: the columns would have to be formed and are too many.
    """
    if isinstance(line, Modes) and line.whole:
        return _waves(line, move)
    if isinstance(line, Even) and line.mirrored is None:
        return _windows(line, move)
    if line.shape[0] * line.shape[1] > _FORMED_MOST:
        raise ValueError(
            f"an axis has {line.shape[1]} cells and {line.shape[0]} sensors between walls, which "
            f"takes more than {_FORMED_MOST} numbers, for only with a sensor in every cell, or no "
            "walls, is the transform enough. Take the sensitivity from thin factors "
            "(want='low rank')."
        )
    return pair(line.along(np.eye(line.shape[1]), 0), move)


def _windows(line: Even, move: int) -> Pair:
    """Column i is the kernel from place last - i * every on, one in so many numbers of it."""
    steps, kernel = line.steps, line.kernel
    shift = abs(move) * steps.source_every
    early, late = kernel[: len(kernel) - shift], kernel[shift:]
    here, there = (late, early) if move > 0 else (early, late)
    difference, mean = here - there, (here + there) / 2
    # A move up the line makes the windows begin so much earlier in what is left of the kernel.
    start = np.arange(max(0, -move), steps.sources - max(0, move))
    first = (steps.sources - 1 - max(0, move) - start) * steps.source_every
    products = difference**2, mean**2, difference * mean
    return Pair(*(_sums(part, first, steps.sensor_every, steps.sensors) for part in products))


def _sums(values: Floats, first: np.ndarray, every: int, count: int) -> Floats:
    """Return the sum of `count` values, one in so many, from each of these places on."""
    padded = np.append(values, np.zeros(-len(values) % every)).reshape(-1, every)
    # One row of noughts before: a window may begin at the very first value.
    running = np.cumsum(np.vstack([np.zeros(every), padded]), axis=0).ravel()
    return np.asarray(running[first + count * every] - running[first])


def _waves(line: Modes, move: int) -> Pair:
    cells = len(line.values)
    mode = np.arange(cells) + (1 if line.cold else 0)
    power = line.values**2 * np.where(mode % cells == 0, 1.0, 2.0) / cells
    half = np.pi * mode * move / (2 * cells)
    far, near = np.sin(half) ** 2, np.cos(half) ** 2
    # At the point between the two cells: c(i) - c(j) = 2 sin sin, c(i) + c(j) = 2 cos cos.
    phase = np.exp(1j * np.pi * mode * (1 + move) / cells)
    sign = -1.0 if line.cold else 1.0

    def over(weights: Floats) -> np.ndarray:
        spectrum = np.zeros(cells, dtype=complex)
        spectrum[mode % cells] = weights * phase
        return np.asarray(np.fft.ifft(spectrum) * cells)

    apart = 2 * ((power * far).sum() - sign * over(power * far).real)
    middle = ((power * near).sum() + sign * over(power * near).real) / 2
    cross = sign * over(power * np.sin(2 * half)).imag / 2
    held = slice(max(0, -move), cells - max(0, move))
    return Pair(np.maximum(apart, 0)[held], np.maximum(middle, 0)[held], cross[held])


Indices = NDArray[np.intp]

# Numbers of columns compared at a time.
_BLOCK = 1 << 22
# Columns that are formed one after the other have at most so many numbers: half a minute.
_MOST = 1 << 31
_ROUNDING = 1e-12


def moved(
    operator: Operator,
    cells: int = 1,
    among: Among = "ring",
    counts: tuple[int, ...] | None = None,
) -> float:
    """Return the joint sensitivity, for a unit source that moves by so many cells.

        D(d) = max over cells i and j that such a move joins of || A_i - A_j ||

    Args:
        operator: from `forward_operator`, or one of those that it chooses from.
        cells: d, how far the source moves.
        among: which moves; see `physics.operators.moved.steps`.
        counts: how many cells along each axis, x first; None along a line, and for operators
            that know it. Silent sensors of a `Separable` count as heard: that is the larger.

    Raises:
        ValueError: no two cells are so far apart; counts not the operator's; scattered sources.

    >>> from physics.operators.direct import Dense
    >>> moved(Dense(np.eye(3)))
    1.4142135623730951
    """
    known = operator.cells if isinstance(operator, Chosen | Separable | Uniform) else counts
    if isinstance(operator, Chosen) and known is None and counts is None:
        raise ValueError(
            f"the {operator.shape[1]} sources are scattered but must be a grid, for the next of a "
            "list may be at the other end of the room. Take moved_within, in metres."
        )
    operator = _inner(operator)
    cells_along = known or (operator.shape[1],)
    if int(np.prod(cells_along)) != operator.shape[1] or counts not in (None, cells_along):
        raise ValueError(
            f"counts is {counts} but the operator has {operator.shape[1]} sources"
            f"{f' on {known}' if known else ''}, and neighbours can only be found when they "
            "agree. Give the number of cells along each axis of its own grid, x first."
        )
    found = steps(tuple(cells_along), cells, among)
    if isinstance(operator, Separable):
        factors = operator.factors
        return worst_step(found, lambda axis, move: pair(factors[axis], move))
    if isinstance(operator, Uniform):
        lines = operator.axes
        return worst_step(found, lambda axis, move: line_pair(lines[axis], move))
    index = np.arange(operator.shape[1]).reshape(*reversed(cells_along))
    apart = _apart(operator)
    return max(_greatest(apart, *_ends(index, step)) for step in found)


def moved_within(operator: Operator, sources_m: ArrayLike, distance_m: float) -> float:
    """Return the joint sensitivity, for a unit source that moves at most so far, anyhow.

    For scattered places, where cells mean nothing; 0 where no two are so near.

    Args:
        sources_m: the operator's own, (sources,) or (sources, axes).
        distance_m: in metres.

    Raises:
        ValueError: a distance below nought or no number.
    """
    if not distance_m >= 0:
        raise ValueError(
            f"distance_m is {distance_m:g} but must be 0 or more, or none is hidden. Give metres."
        )
    places = np.asarray(sources_m, dtype=float).reshape(operator.shape[1], -1)
    # Two places just so far apart are not to be missed by rounding.
    far = distance_m * (1 + _ROUNDING) + _ROUNDING * float(np.abs(places).max(initial=0.0))
    pairs = cKDTree(places).query_pairs(far, output_type="ndarray")
    return _greatest(_apart(_inner(operator)), pairs[:, 0], pairs[:, 1])


def presence(operator: Operator) -> float:
    """Return how far one unit source that comes or goes changes all the readings together."""
    operator = _inner(operator)
    if isinstance(operator, Separable):
        still = [pair(factor, 0).middle.max() for factor in operator.factors]
    elif isinstance(operator, Uniform):
        still = [line_pair(line, 0).middle.max() for line in operator.axes]
    else:
        return _greatest(_apart(operator), np.arange(operator.shape[1]), None)
    return float(np.sqrt(np.prod(still)))


def _inner(operator: Operator) -> Operator:
    return operator.operator if isinstance(operator, Chosen) else operator


# Of sources here and there, how far apart their columns are; without the latter, how long.
Apart = Callable[[Indices, Indices | None], Floats]


def _apart(operator: Operator) -> Apart:
    if isinstance(operator, Near):
        sparse = operator.matrix.tocsc()

        def of_pairs(here: Indices, there: Indices | None) -> Floats:
            block = sparse[:, here] if there is None else sparse[:, here] - sparse[:, there]
            return np.sqrt(np.asarray(block.multiply(block).sum(axis=0)).ravel())

        return of_pairs
    columns: Callable[[Indices], Floats] = operator.columns
    if isinstance(operator, LowRank):
        # As long and as far apart as the columns, with fewer numbers.
        thin = np.linalg.qr(operator.left, mode="r")
        right = operator.right

        def columns(sources: Indices) -> Floats:
            return np.asarray(thin @ right[sources].T)

    def of_columns(here: Indices, there: Indices | None) -> Floats:
        block = columns(here) if there is None else columns(here) - columns(there)
        return np.sqrt(np.einsum("ij,ij->j", block, block))

    tall = operator.rank if isinstance(operator, LowRank) else operator.shape[0]
    if tall * operator.shape[1] > _MOST:
        raise ValueError(
            f"the columns of {operator.shape[1]} sources at {tall} sensors would all have to be "
            f"formed but at most {_MOST} numbers are, for these operators know no quicker way. "
            "Use want='low rank', or even places."
        )

    def in_blocks(here: Indices, there: Indices | None) -> Floats:
        each = max(1, _BLOCK // tall)
        found = [
            of_columns(here[at : at + each], None if there is None else there[at : at + each])
            for at in range(0, len(here), each)
        ]
        return np.concatenate(found) if found else np.zeros(0)

    return in_blocks


def _greatest(apart: Apart, here: Indices, there: Indices | None) -> float:
    return float(apart(here, there).max(initial=0.0)) if len(here) else 0.0


def _ends(index: Indices, step: tuple[int, ...]) -> Iterator[Indices]:
    """Yield the sources that such a step leads from, and those it leads to; axes x last."""
    moves = tuple(reversed(step))
    sizes = index.shape
    for sign in (1, -1):
        part = tuple(
            slice(max(0, -sign * move), size - max(0, sign * move))
            for move, size in zip(moves, sizes, strict=True)
        )
        yield index[part].ravel()
