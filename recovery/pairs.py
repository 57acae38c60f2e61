"""A compressed operator of a plane, as pairs of one direction for each axis; never formed.

With orthonormal columns in U the operator is A = U B, and for the cell (ix, iy)

    B[p, iy * nx + ix] = along[ix, first[p]] * across[iy, second[p]]

Neither U nor B is formed: a product with B is two small matrix products.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """B, (r, cells), as pairs of directions, and the way from readings to its rows.

    Args:
        along: (nx, rx), what each cell of the first axis gives in each direction.
        across: (ny, ry), the same of all other axes.
        first, second: (pairs,), which directions each pair joins; the strongest pair first.
        left: (mx, rx) and (my, ry), orthonormal: what each sensor has of each direction.
        mix: T, (r, pairs), where sensors are silent, else (0, 0); then r is the pairs.
        basis: W, (heard sensors, r), where sensors are silent, else (0, 0).
    """

    along: Floats
    across: Floats
    first: Indices
    second: Indices
    left: tuple[Floats, Floats]
    mix: Floats
    basis: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """(r, cells), as of B."""
        rows = len(self.mix) if self.mix.size else len(self.first)
        return rows, len(self.along) * len(self.across)

    def compress(self, readings: Floats) -> tuple[Floats, Floats]:
        """Return (k, r) and (k,) of readings (k, sensors): U'y, and what is beyond, ||y - U U'y||.

        For any heat ||A f - y||**2 = ||B f - U'y||**2 + ||y - U U'y||**2.
        """
        if self.mix.size:
            inside = readings @ self.basis
            return inside, np.linalg.norm(readings - inside @ self.basis.T, axis=1)
        x, y = self.left
        table = readings.reshape(-1, len(y), len(x))
        inside = (y.T @ (table @ x))[:, self.second, self.first]
        rest = table - y @ (self._table(inside) @ x.T)
        return inside, np.linalg.norm(rest.reshape(len(table), -1), axis=1)

    def expand(self, inside: Floats) -> Floats:
        """Return U times each row, (k, sensors) of (k, r)."""
        if self.mix.size:
            return inside @ self.basis.T
        x, y = self.left
        return (y @ self._table(inside) @ x.T).reshape(len(inside), -1)

    def matvec(self, heat: Floats) -> Floats:
        """Return B f, (r,), of heat, (cells,)."""
        table = self.across.T @ heat.reshape(len(self.across), -1) @ self.along
        pairs = table[self.second, self.first]
        return self.mix @ pairs if self.mix.size else pairs

    def rmatvec(self, inside: Floats) -> Floats:
        """Return B'q, (cells,), of q, (r,)."""
        pairs = self.mix.T @ inside if self.mix.size else inside
        return np.asarray(self.across @ self._table(pairs[None])[0] @ self.along.T).ravel()

    def columns(self, cells: Indices) -> Floats:
        """Return those columns of B, (r, k)."""
        y, x = np.divmod(cells, len(self.along))
        pairs = self.along[x][:, self.first] * self.across[y][:, self.second]
        return np.ascontiguousarray((pairs @ self.mix.T if self.mix.size else pairs).T)

    def dense(self) -> Floats:
        """Return B formed whole, (r, cells): r times the memory of a map."""
        return self.columns(np.arange(self.shape[1]))

    def _table(self, pairs: Floats) -> Floats:
        """Return (k, ry, rx) of (k, pairs), nought where a pair was left out."""
        table = np.zeros((len(pairs), self.across.shape[1], self.along.shape[1]))
        table[:, self.second, self.first] = pairs
        return table
