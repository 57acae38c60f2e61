"""Scattered places along a line, by panels: the fast Gauss transform, with polynomials.

The line is cut into panels two standard deviations wide. Heat is handed to the Chebyshev nodes of
its panel, passed on from panel to panel as far as it reaches, and read off between the nodes. One
small matrix serves all panels so many apart, and mirror images are panels read backwards, so the
work is twenty numbers a place at any spread: where low rank would need too many directions and
near pairs are too many.

Source: Greengard and Strain, "The fast Gauss transform", SIAM J. Sci. Stat. Comput. 12 (1991),
with interpolation instead of Hermite series.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..kernel import AnyWalls, heat_kernel
from ..places import Floats
from .layout import chosen_sources, room_lengths, vectors
from .near import reach_m

# A kernel on a panel two deviations wide is, to rounding, its polynomial through so many nodes.
NODES = 22
WIDTH = 2.0
# More panels than this are more than the places that pay for them.
MOST_PANELS = 1 << 19
_TOUCHING = 1e-290
_BLOCK = 1 << 14  # places at a time: what fits into a cache


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """The forward operator A of a line, (sensors, sources), in three sparse steps.

    Args:
        given: (sources, panels * nodes), how much of its heat a source hands to each node.
        read: (sensors, panels * nodes), the same for sensors.
        passed: (shifts, nodes, nodes), from a panel to the one so many further on, the middle
            one to itself.
        walls: "none", "insulated" or "cold".
    """

    given: sparse.csr_array
    read: sparse.csr_array
    passed: Floats
    walls: AnyWalls

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, sources)."""
        return int(self.read.shape[0]), int(self.given.shape[0])

    def matvec(self, heat: ArrayLike) -> Floats:
        """Return the readings, (sensors,) or (sensors, k), of heat, (sources,) or (sources, k)."""
        given = vectors("heat", heat, self.shape[1])
        return np.asarray(self.read @ self._pass(np.asarray(self.given.T @ given)))

    def rmatvec(self, readings: ArrayLike) -> Floats:
        """Return the transposed operator's answer, (sources,) or (sources, k)."""
        given = vectors("readings", readings, self.shape[0])
        # A kernel and its mirror images are felt the same in either direction.
        return np.asarray(self.given @ self._pass(np.asarray(self.read.T @ given)))

    def columns(self, sources: ArrayLike) -> Floats:
        """Return what a unit of heat in each of these sources, (k,), leaves: (sensors, k)."""
        some = self.given[chosen_sources(sources, self.shape[1])].toarray().T
        return np.asarray(self.read @ self._pass(some))

    def dense(self) -> Floats:
        """Return the operator formed whole, (sensors, sources); for checks on small ones."""
        return self.columns(np.arange(self.shape[1]))

    def _pass(self, nodes: Floats) -> Floats:
        """Return what is felt at every node, (panels * nodes,) or with k columns."""
        tail = nodes.shape[1:]
        panels, shifts = len(nodes) // NODES, len(self.passed) // 2
        held = nodes.reshape(panels, NODES, -1)
        at = np.arange(-shifts, panels + shifts)
        room, turned = at // panels, at % panels
        if self.walls == "none":
            around = np.where((room == 0)[:, None, None], held[turned], 0.0)
        else:  # every second room is seen in a mirror, its panels and their nodes backwards
            odd = (room % 2 == 1)[:, None, None]
            mirror = held[panels - 1 - turned, ::-1] * (1 if self.walls == "insulated" else -1)
            around = np.where(odd, mirror, held[turned])
        felt = np.zeros_like(held)
        for shift, matrix in enumerate(self.passed):
            # What stands `shifts - shift` panels before is felt here.
            felt += matrix @ around[2 * shifts - shift :][:panels]
        return felt.reshape(-1, *tail)


def forward_panels(
    sources_m: Floats,
    sensors_m: Floats,
    spread_m2: float,
    walls: AnyWalls = "none",
    length_m: float = 1.0,
) -> Panels:
    """Return the operator of `physics.kernel.forward` along a line, by panels.

    Args:
        sources_m, sensors_m: (k,), in any order, inside the walls.
        spread_m2, walls, length_m: as for `physics.kernel.forward`.

    Raises:
        ValueError: so many panels that they cannot pay, or as `physics.kernel.forward`.
    """
    room_lengths(sources_m[:, None], sensors_m[:, None], spread_m2, walls, (length_m,))
    low, high = 0.0, length_m
    if walls == "none":
        low = float(min(sources_m.min(), sensors_m.min()))
        high = float(max(sources_m.max(), sensors_m.max()))
    panels = panels_of(high - low, spread_m2)
    if panels > MOST_PANELS:
        raise ValueError(
            f"{panels} panels are needed from {low:g} to {high:g} m at a spread of {spread_m2:g} "
            f"m2 but at most {MOST_PANELS} pay, for most would be empty. Use near pairs."
        )
    wide = (high - low) / panels or math.sqrt(spread_m2)
    nodes = np.cos(np.linspace(np.pi, 0, NODES))
    shifts = min(math.ceil(reach_m(spread_m2) / wide) + 1, panels if walls == "none" else 1 << 30)
    apart = (nodes[:, None] - nodes) * wide / 2
    steps = wide * np.arange(-shifts, shifts + 1)[:, None, None]
    passed = heat_kernel(apart + steps, spread_m2)
    parts = [_weights(places - low, panels, wide, nodes) for places in (sources_m, sensors_m)]
    return Panels(parts[0], parts[1], passed, walls)


def panels_of(span_m: float, spread_m2: float) -> int:
    """Return how many panels a line of this length takes."""
    return max(1, math.ceil(span_m / (WIDTH * math.sqrt(2 * spread_m2))))


def _weights(places: Floats, panels: int, wide: float, nodes: Floats) -> sparse.csr_array:
    """Return what each node of its panel counts for at each place."""
    panel = np.clip((places / wide).astype(np.int32), 0, panels - 1)
    within = np.clip(2 * (places / wide - panel) - 1, -1.0, 1.0)
    weights = np.empty((len(places), NODES))
    for start in range(0, len(places), _BLOCK):
        weights[start : start + _BLOCK] = _polynomials(within[start : start + _BLOCK], nodes)
    column = panel[:, None] * NODES + np.arange(NODES, dtype=np.int32)
    first = np.arange(0, len(places) * NODES + 1, NODES, dtype=np.int32)
    shape = len(places), panels * NODES
    return sparse.csr_array((weights.ravel(), column.ravel(), first), shape=shape)


def _polynomials(places: Floats, nodes: Floats) -> Floats:
    """Return, at each place, the polynomials that are one at a node and nought at the others.

    Source: Berrut and Trefethen 2004, formula (4.2), with the weights (5.4) of these nodes.
    """
    shares = places[:, None] - nodes
    # Nearer to a node than this a place is the node, or its weight would overflow.
    at_place, at_node = np.nonzero(np.abs(shares) < _TOUCHING)
    shares[at_place] = np.inf
    shares[at_place, at_node] = 1.0
    signs = np.where(np.arange(NODES) % 2, -1.0, 1.0)
    signs[[0, -1]] /= 2
    np.divide(signs, shares, out=shares)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares
