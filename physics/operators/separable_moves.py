"""How far one source that moves in a plane or a room can change all the readings together.

The same number as `physics.sensitivity`, from the factors of the axes alone: 256 by 256 cells
take milliseconds, where the columns of the whole operator would take hundreds of megabytes.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, reduce

import numpy as np

from ..places import Floats
from .lowrank import LowRank
from .separable import Factor, Separable
from .steps import Step, steps


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
            cells, as in `physics.sensitivity.moves`.

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
        square = max(square, float(_apart(one, last).max()))
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
        _apart(one, other),
        _outer(middle, other.middle)
        + _outer(apart, other.apart) / 16
        + _outer(cross, other.cross) / 2,
        _outer(cross, other.middle)
        + _outer(middle, other.cross)
        + (_outer(apart, other.cross) + _outer(cross, other.apart)) / 4,
    )


def _apart(one: Pair, other: Pair) -> Floats:
    found = _outer(one.apart, other.middle)
    found += _outer(one.middle, other.apart)
    found += 2 * _outer(one.cross, other.cross)
    return found


def _outer(one: Floats, other: Floats) -> Floats:
    return np.outer(one, other).ravel()
