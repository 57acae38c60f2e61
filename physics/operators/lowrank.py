"""The forward operator as a product of two thin factors, never formed whole.

Heat is smooth: a sensor a spread away sees nearly what its neighbour sees, so the kernel is
interpolated from a few Chebyshev nodes on either side and the small matrix between the nodes
is cut at its numerical rank. The price is (sensors + sources) x rank instead of their product.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernel import AnyWalls, Length, forward
from ..places import Floats
from .layout import chosen_sources, room_lengths, vectors

# What is left out, relative to the largest singular value between the nodes.
_CUT = 1e-15
# From here on the small matrix is no longer small: its own cost grows with the cube.
MOST_NODES = 1200
# Nearer to a node than this a place is the node, or its weight would overflow.
_TOUCHING = 1e-290
# The stated error is measured on so many sensors and sources, evenly out of all.
_PROBES = 96


@dataclass(frozen=True, slots=True, eq=False)
class LowRank:
    """The forward operator A, (sensors, sources), nearly left @ right.T.

    Args:
        left: (sensors, rank).
        right: (sources, rank).
        error: the greatest difference from A found on an even sample of its entries, both
            corners among them, relative to the largest entry found.
    """

    left: Floats
    right: Floats
    error: float

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, sources), as of the dense operator."""
        return len(self.left), len(self.right)

    @property
    def rank(self) -> int:
        """How many numbers pass from the sources to the sensors."""
        return self.left.shape[1]

    def matvec(self, heat: ArrayLike) -> Floats:
        """Return the readings, (sensors,) or (sensors, k), of heat, (sources,) or (sources, k)."""
        return np.asarray(self.left @ (self.right.T @ vectors("heat", heat, self.shape[1])))

    def rmatvec(self, readings: ArrayLike) -> Floats:
        """Return the transposed operator's answer, (sources,) or (sources, k)."""
        return np.asarray(
            self.right @ (self.left.T @ vectors("readings", readings, self.shape[0]))
        )

    def columns(self, sources: ArrayLike) -> Floats:
        """Return what a unit of heat in each of these sources, (k,), leaves: (sensors, k)."""
        return np.asarray(self.left @ self.right[chosen_sources(sources, len(self.right))].T)

    def dense(self) -> Floats:
        """Return the operator formed whole, (sensors, sources); for checks on small ones."""
        return np.asarray(self.left @ self.right.T)


def forward_lowrank(
    sources_m: ArrayLike,
    sensors_m: ArrayLike,
    spread_m2: float,
    walls: AnyWalls = "none",
    length_m: Length = 1.0,
) -> LowRank:
    """Return the operator of `physics.kernel.forward` along a line, in thin factors.

    Positions may be any, in any order. The work is (sensors + sources) x nodes x rank, with
    24 + 3.6 length / sqrt(2 spread) nodes on either side.

    Raises:
        ValueError: as `forward`; places in a plane; no places; a spread so small beside the
            length that the operator has no low rank.

    >>> operator = forward_lowrank(np.linspace(0, 1, 1000), np.linspace(0, 1, 500), 0.05)
    >>> operator.shape, operator.rank < 20, operator.error < 1e-12
    ((500, 1000), True, True)
    """
    sources, sensors = np.asarray(sources_m, dtype=float), np.asarray(sensors_m, dtype=float)
    if sources.ndim != 1 or sensors.ndim != 1 or not sources.size or not sensors.size:
        raise ValueError(
            f"the sources have shape {sources.shape} and the sensors {sensors.shape} but both "
            "must be (k,) with at least one place, for the factors here are those of a line. "
            "In a plane use one operator for each axis."
        )
    # The ends of each range stand for it: forward refuses here what it would refuse anyway.
    ends = [np.array([places.min(), places.max()]) for places in (sources, sensors)]
    forward(ends[0], ends[1], spread_m2, walls, length_m)
    from_nodes = [_nodes(first, last, spread_m2) for first, last in ends]

    def exact(some_sources: Floats, some_sensors: Floats) -> Floats:
        return forward(some_sources, some_sensors, spread_m2, walls, length_m)

    inner, kept, outer = np.linalg.svd(exact(*from_nodes))
    rank = max(1, int((kept > _CUT * kept[0]).sum()))
    left = _interpolate(sensors, from_nodes[1], inner[:, :rank] * kept[:rank])
    right = _interpolate(sources, from_nodes[0], outer[:rank].T)
    return LowRank(left, right, _error(left, right, sources, sensors, exact))


def _nodes(first: float, last: float, spread_m2: float) -> Floats:
    """Return Chebyshev nodes from first to last, enough for a kernel of this spread."""
    if first == last:
        return np.array([first])
    count = int(24 + 3.6 * (last - first) / np.sqrt(2 * spread_m2))
    if count > MOST_NODES:
        raise ValueError(
            f"spread_m2 is {spread_m2:g} over places {last - first:g} apart, which takes {count} "
            f"nodes where at most {MOST_NODES} pay, for heat that has hardly spread has no low "
            "rank. Use forward, or wait longer."
        )
    angles = np.linspace(np.pi, 0, count)
    # Rounding must not carry the last node through a wall.
    return np.clip((first + last) / 2 + (last - first) / 2 * np.cos(angles), first, last)


def _interpolate(places: Floats, nodes: Floats, values: Floats, block: int = 16384) -> Floats:
    """Return, at each place, the polynomials that have these values, (nodes, k), at the nodes.

    Source: Berrut and Trefethen 2004, formula (4.2), with the weights (5.4) of these nodes.
    """
    weights = np.where(np.arange(len(nodes)) % 2, -1.0, 1.0)
    weights[[0, -1]] /= 2
    found = np.empty((len(places), values.shape[1]))
    for start in range(0, len(places), block):
        gaps = places[start : start + block, None] - nodes
        at_place, at_node = np.nonzero(np.abs(gaps) < _TOUCHING)
        gaps[at_place] = np.inf
        gaps[at_place, at_node] = weights[at_node]
        shares = weights / gaps
        found[start : start + block] = (shares @ values) / shares.sum(axis=1, keepdims=True)
    return found


def _error(
    left: Floats,
    right: Floats,
    sources: Floats,
    sensors: Floats,
    exact: Callable[[Floats, Floats], Floats],
) -> float:
    some_sensors, some_sources = _sample(sensors), _sample(sources)
    truth = exact(sources[some_sources], sensors[some_sensors])
    found = left[some_sensors] @ right[some_sources].T
    largest = float(np.abs(truth).max())
    return float(np.abs(found - truth).max()) / largest if largest else 0.0


def _sample(places: Floats) -> NDArray[np.intp]:
    """Return the indices of places that lie evenly in order, the first and the last too."""
    ranks = np.linspace(0, len(places) - 1, min(_PROBES, len(places))).astype(int)
    return np.argsort(places)[ranks]


# Thin factors of scattered places in a plane or a room, from those of each axis.
#
# The kernel is a product of one for each axis, so row i of the left factor is the Kronecker
# product of the axes' rows i. Pairs of directions that together count for nothing are left out.

# What is left out, relative to the largest direction, before the sum of all is trusted to 1e-13.
_PRODUCT_CUT = 1e-17


def forward_thin(
    sources_m: Floats,
    sensors_m: Floats,
    spread_m2: float,
    walls: AnyWalls = "none",
    lengths_m: tuple[float, ...] = (1.0,),
) -> LowRank:
    """Return the operator of `physics.kernel.forward` in thin factors.

    Args:
        sources_m, sensors_m: (k, axes) each, in any order.
        spread_m2, walls: as for `physics.kernel.forward`.
        lengths_m: between the walls, one for each axis or one for all.

    Raises:
        ValueError: as `physics.kernel.forward` and `physics.operators.lowrank.forward_lowrank`.
    """
    lengths_m = room_lengths(sources_m, sensors_m, spread_m2, walls, lengths_m)
    left, right, error = np.ones((len(sensors_m), 1)), np.ones((len(sources_m), 1)), 0.0
    for axis, length in enumerate(lengths_m):
        line = forward_lowrank(sources_m[:, axis], sensors_m[:, axis], spread_m2, walls, length)
        size = np.outer(_sizes(left) * _sizes(right), _sizes(line.left) * _sizes(line.right))
        one, other = np.nonzero(size > _PRODUCT_CUT * size.max())
        left = left[:, one] * line.left[:, other]
        right = right[:, one] * line.right[:, other]
        error += line.error
    return LowRank(left, right, error)


def _sizes(half: Floats) -> Floats:
    """Return the largest entry of each direction."""
    return np.asarray(np.abs(half).max(axis=0))
