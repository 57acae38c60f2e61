"""How far one source that moves can change all the readings together, whatever the operator.

The same number as `physics.sensitivity`, without forming the operator: from the axes of a grid,
from thin factors, or from the near pairs.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from ..places import Floats
from .choose import Chosen
from .line_pairs import line_pair
from .lowrank import LowRank
from .near import Near
from .protocol import Operator
from .separable import Separable
from .separable_moves import pair, worst_step
from .steps import Among, steps
from .uniform import Uniform

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
        among: which moves; see `physics.operators.steps.steps`.
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
