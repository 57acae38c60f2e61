"""The forward operator as it stands: kept whole where it fits, else formed anew at every use.

Also the yardstick: every other operator's error is measured against rows that are formed here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernel import AnyWalls, forward
from ..places import Floats
from .layout import Axes, chosen_sources, vectors

# Entries formed at a time: a megabyte of them stays in a processor's memory, which makes them
# two to three times as fast as if all were formed at once.
_BLOCK = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """The forward operator A, (sensors, sources), as a matrix."""

    matrix: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, sources)."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def matvec(self, heat: ArrayLike) -> Floats:
        """Return the readings, (sensors,) or (sensors, k), of heat, (sources,) or (sources, k)."""
        return np.asarray(self.matrix @ vectors("heat", heat, self.shape[1]))

    def rmatvec(self, readings: ArrayLike) -> Floats:
        """Return the transposed operator's answer, (sources,) or (sources, k)."""
        return np.asarray(self.matrix.T @ vectors("readings", readings, self.shape[0]))

    def columns(self, sources: ArrayLike) -> Floats:
        """Return what a unit of heat in each of these sources, (k,), leaves: (sensors, k)."""
        return self.matrix[:, chosen_sources(sources, self.shape[1])]

    def dense(self) -> Floats:
        """Return the matrix itself."""
        return self.matrix


@dataclass(frozen=True, slots=True, eq=False)
class Direct:
    """The forward operator A of places, a block of its rows formed at a time and then forgotten.

    Args:
        sources_m, sensors_m: places of a grid, or (k, axes).
        spread_m2, walls: as for `physics.kernel.forward`.
        lengths_m: between the walls, one for each axis.
    """

    sources_m: Axes | Floats
    sensors_m: Axes | Floats
    spread_m2: float
    walls: AnyWalls
    lengths_m: tuple[float, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, sources)."""
        return count(self.sensors_m), count(self.sources_m)

    def matvec(self, heat: ArrayLike) -> Floats:
        """Return the readings, (sensors,) or (sensors, k), of heat, (sources,) or (sources, k)."""
        given = vectors("heat", heat, self.shape[1])
        return np.concatenate([self.rows(some) @ given for some in self._blocks()])

    def rmatvec(self, readings: ArrayLike) -> Floats:
        """Return the transposed operator's answer, (sources,) or (sources, k)."""
        given = vectors("readings", readings, self.shape[0])
        total = np.zeros((self.shape[1], *given.shape[1:]))
        for some in self._blocks():
            total += self.rows(some).T @ given[some]
        return total

    def columns(self, sources: ArrayLike) -> Floats:
        """Return what a unit of heat in each of these sources, (k,), leaves: (sensors, k)."""
        some = chosen_sources(sources, self.shape[1])
        every = np.arange(self.shape[0])
        return self._entries(every, some)

    def rows(self, sensors: NDArray[np.intp]) -> Floats:
        """Return what these sensors, (k,), feel of every source: (k, sources)."""
        return self._entries(sensors, np.arange(self.shape[1]))

    def dense(self) -> Floats:
        """Return the operator formed whole, (sensors, sources)."""
        whole = np.empty(self.shape)
        for some in self._blocks():
            whole[some[0] : some[-1] + 1] = self.rows(some)
        return whole

    def _blocks(self) -> Iterator[NDArray[np.intp]]:
        each = max(1, _BLOCK // self.shape[1])
        for start in range(0, self.shape[0], each):
            yield np.arange(start, min(start + each, self.shape[0]))

    def _entries(self, sensors: NDArray[np.intp], sources: NDArray[np.intp]) -> Floats:
        """Return A at these sensors and sources: the product of one kernel for each axis."""
        here, there = some_places(self.sensors_m, sensors), self.sources_m
        if isinstance(there, Axes) and max(there.counts) < len(sources):
            # Along an axis of a grid the same place comes again and again.
            at: tuple[Any, ...] = np.unravel_index(sources, tuple(reversed(there.counts)))[::-1]
            lines = there.arrays()
        else:
            at = (slice(None),) * len(self.lengths_m)
            lines = tuple(some_places(there, sources).T)
        total = np.ones((len(sensors), len(sources)))
        for axis, line in enumerate(lines):
            given = self.spread_m2, self.walls, self.lengths_m[axis]
            total *= forward(line, here[:, axis], *given)[:, at[axis]]
        return total


def count(places_m: Axes | Floats) -> int:
    """Return how many places there are."""
    return int(np.prod(places_m.counts)) if isinstance(places_m, Axes) else len(places_m)


def some_places(places_m: Axes | Floats, which: NDArray[np.intp]) -> Floats:
    """Return some of the places, (k, axes), without forming all those of a grid."""
    if not isinstance(places_m, Axes):
        return places_m[which].reshape(len(which), -1)
    index = np.unravel_index(which, tuple(reversed(places_m.counts)))
    pairs = zip(places_m.arrays(), reversed(index), strict=True)
    return np.stack([along[part] for along, part in pairs], axis=1)
