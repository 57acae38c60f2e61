"""What is held of a map before any answer: its logarithm is smooth, of one of three kinds.

The logarithm u of the map's density is a Gaussian field with precision

    strength * R_k + level * Z Z',     u' R_k u = sum over i + j = k of C(k, i) |D_y^i D_x^j u|**2

with D the difference between neighbours and k = 1, 2 or 3. Z spans the polynomials of degree
below k, which R_k does not see: for k = 3 the logarithms of all normal densities. A large map is
described by u on a lattice of at most 24 x 24 places, between which it is interpolated by
cubic splines. Where the kernel is wider than that, finer waves are not in the answers; where it is
not, they may be, and `disk_estimators` looks whether the map fits.

Source: Silverman 1982, for logarithms and the third derivative; Wahba 1990, Section 2.4, for R_k.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from .channel import Channel
from .em_blocks import block_chances
from .em_blocks import in_blocks as in_blocks

Floats = NDArray[np.float64]

ORDERS = (1, 2, 3)
_PLACES_MAX = 24 * 24
# More chances take half a second a step to weigh: then answers are summed over larger blocks.
_CHANCES_MAX = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """Where u is free, and what the answers say there: the channel, coarse enough to be a matrix.

    `down` and `across` interpolate; they are unit matrices where every cell is free.
    """

    shape: tuple[int, int]
    down: Floats  # (rows, lattice rows)
    across: Floats  # (columns, lattice columns)
    step: int  # cells of the grid between two places
    block: int  # cells along a side of what answers are summed over
    chances: Floats  # (blocks of answers, places)

    def spread(self, u: Floats) -> Floats:
        """Return u in every cell, (rows, columns), of a lattice's flat u."""
        return self.down @ u.reshape(self.shape) @ self.across.T

    def gathered(self, values: Floats) -> Floats:
        """Return the transpose of `spread`, flat."""
        return (self.down.T @ values @ self.across).ravel()


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """One kind of smoothness on a lattice; strengths are found from the answers."""

    order: int
    rough: Floats  # R_k, (places, places)
    plain: Floats  # Z, (places, polynomials without the constant), orthonormal
    rank: int  # of R_k
    log_volume: float  # log of the product of R_k's positive eigenvalues

    def precision(self, strength: float, level: float) -> Floats:
        """Return the precision of u before any answer, positive definite."""
        places = len(self.rough)
        # The constant is in neither part, and changes no map: it is pinned.
        pin = 1 / places
        return strength * self.rough + level * (self.plain @ self.plain.T) + pin

    def log_determinant(self, strength: float, level: float) -> float:
        """Return the logarithm of the precision's determinant."""
        tilts = self.plain.shape[1]
        return self.log_volume + self.rank * math.log(strength) + tilts * math.log(level)


def lattice(channel: Channel) -> Lattice:
    """Return the lattice of a channel's grid."""
    rows, columns = channel.rows, channel.columns
    step = 1

    def count(step: int) -> int:
        return math.ceil(rows / step) * math.ceil(columns / step)

    while count(step) > _PLACES_MAX:
        step += 1
    block, high, wide = step, *channel.support.shape
    while math.ceil(high / block) * math.ceil(wide / block) * count(step) > _CHANCES_MAX:
        block += 1
    if block == 1:
        chances = channel.matrix()[channel.support.ravel()]
        return Lattice((rows, columns), np.eye(rows), np.eye(columns), 1, 1, chances)
    tops, lefts = np.arange(0, rows, step), np.arange(0, columns, step)
    chances = block_chances(channel, tops, lefts, step, block)
    shape = (len(tops), len(lefts))
    return Lattice(shape, _between(rows, tops), _between(columns, lefts), step, block, chances)


def blocked(channel: Channel, counts: Floats, block: int) -> Floats:
    """Return the answers in the blocks that a lattice's `chances` are of."""
    kept = in_blocks(channel.support.astype(np.float64), block) > 0
    return in_blocks(counts, block)[kept]


def prior(shape: tuple[int, int], order: int) -> Prior:
    """Return the prior of an order on a lattice."""
    places = shape[0] * shape[1]
    rough = np.zeros((places, places))
    for i in range(order + 1):
        down, across = _differences(shape[0], i), _differences(shape[1], order - i)
        rough += math.comb(order, i) * np.kron(down.T @ down, across.T @ across)
    # In units in which strengths of all orders are alike; on twice the places a side the same
    # strength is half as smooth, for the integral of the squares goes with side ** (2 order - 2).
    rough *= max(shape) ** (2 * order - 1) / places
    y, x = np.indices(shape).reshape(2, -1) / max(shape)
    powers = [y**i * x**j for i in range(order) for j in range(order - i)]
    # On few rows some powers repeat others.
    left, sizes, _ = np.linalg.svd(np.stack(powers, axis=1), full_matrices=False)
    plain = left[:, sizes > 1e-9 * sizes[0]]
    even = np.full((places, 1), places**-0.5)
    free, sizes, _ = np.linalg.svd(plain - even @ (even.T @ plain), full_matrices=False)
    free = free[:, sizes > 1e-6]
    whole = rough + free @ free.T + even @ even.T
    log_volume = float(np.linalg.slogdet(whole)[1])
    return Prior(order, rough, free, places - plain.shape[1], log_volume)


def _differences(size: int, order: int) -> Floats:
    """Return the matrix of differences of an order; no rows where there are too few places."""
    return np.diff(np.eye(size), n=order, axis=0)


def _between(size: int, starts: NDArray[np.int_]) -> Floats:
    """Return the weights by which blocks' middles give every cell, (size, blocks)."""
    if len(starts) == 1:
        return np.ones((size, 1))
    ends = np.append(starts[1:], size)
    middles = (starts + ends - 1) / 2
    degree = min(3, len(starts) - 1)
    spline = scipy.interpolate.make_interp_spline(middles, np.eye(len(starts)), k=degree)
    return np.asarray(spline(np.arange(size)))
