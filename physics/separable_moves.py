"""How far one source that moves in a plane or a room can change all the readings together.

The same number as `physics.sensitivity`, from the factors of the axes alone: 256 by 256 cells
take milliseconds, where the columns of the whole operator would take hundreds of megabytes.
"""

import itertools
from dataclasses import dataclass
from functools import reduce

import numpy as np

from .lowrank import LowRank
from .places import Floats
from .separable import Factor, Separable


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two columns u and v, for each place that u can have: all that their product needs."""

    apart: Floats  # ||u - v||**2
    middle: Floats  # ||(u + v) / 2||**2
    cross: Floats  # (u - v)'(u + v) / 2


def separable_sensitivity(operator: Separable, cells: int = 1) -> float:
    """Return the joint sensitivity, for a unit source that moves by so many cells.

    With d = u - v and e = (u + v) / 2 for the two columns of each axis, and x for Kronecker's

        u x w - v x z = d x e' + e x d'

    so the squared distance is ||d||**2 ||e'||**2 + ||e||**2 ||d'||**2 + 2 (d'e)(d''e'), in which
    nothing large cancels.

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
    counts = operator.cells
    steps = [
        step
        for step in itertools.product(range(-cells, cells + 1), repeat=len(counts))
        if (cells - 1) ** 2 < sum(move**2 for move in step) <= cells**2
        and all(abs(move) < count for move, count in zip(step, counts, strict=True))
        # A move and its reverse change the readings as much.
        and step > tuple(-move for move in step)
    ]
    if not steps:
        raise ValueError(
            f"the move is {cells} cells but {' by '.join(map(str, counts))} cells have no two "
            "that far apart, so there is nothing to hide. Ask for a whole number from 1 to "
            f"{max(counts) - 1}, or make the grid finer."
        )
    square = 0.0
    known = {
        (axis, move): _pair(factor, move)
        for axis, factor in enumerate(operator.factors)
        for move in {step[axis] for step in steps}
    }
    for step in steps:
        pairs = [known[axis, move] for axis, move in enumerate(step)]
        square = max(square, float(reduce(_product, pairs).apart.max()))
    return float(np.sqrt(square))


def _pair(factor: Factor, move: int) -> Pair:
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

    def outer(a: Floats, b: Floats) -> Floats:
        return np.outer(a, b).ravel()

    apart, middle, cross = one.apart, one.middle, one.cross
    return Pair(
        outer(apart, other.middle) + outer(middle, other.apart) + 2 * outer(cross, other.cross),
        outer(middle, other.middle)
        + outer(apart, other.apart) / 16
        + outer(cross, other.cross) / 2,
        outer(cross, other.middle)
        + outer(middle, other.cross)
        + (outer(apart, other.cross) + outer(cross, other.apart)) / 4,
    )
