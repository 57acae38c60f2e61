"""The most probable map if its logarithm is smooth, and how smooth the answers themselves say.

What it may claim of a cell is no matter of this prior, which crowds need not keep to: `profile`.

The smooth map is of a population, and the users are a sample of it, as rough as so many draws are.
What their answers say of their own shares, given f, is one step of expectation maximisation more:
it is the mean of the users' shares given the answers. At small epsilon it changes nothing, at
great epsilon it ends near the answers themselves.

Source: Good and Gaskins 1971, for penalised likelihood; Silverman 1982, for logarithms.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from .channel import Channel, choose_square_sides, compute_square_laws, sum_answers
from .em import log_likelihood

# What is held of a map before any answer: its logarithm is smooth, of one of three kinds.
#
# The logarithm u of the map's density is a Gaussian field with precision
#
#     strength * R_k + level * Z Z',
#     u' R_k u = sum over i + j = k of C(k, i) |D_y^i D_x^j u|**2
#
# with D the difference between neighbours and k = 1, 2 or 3. Z spans the polynomials of degree
# below k, which R_k does not see: for k = 3 the logarithms of all normal densities. A large map is
# described by u on a lattice of at most 24 x 24 places, between which it is interpolated by cubic
# splines. Where the kernel is wider than that, finer waves are not in the answers; where it is
# not, they may be, and `estimators` looks whether the map fits.
#
# Source: Silverman 1982, for logarithms and the third derivative; Wahba 1990, Section 2.4, for
# R_k.


Floats = NDArray[np.float64]

ORDERS = (1, 2, 3)
_PLACES_MAX = 24 * 24


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


def make_lattice(channel: Channel) -> Lattice:
    """Return the lattice of a channel's grid."""
    rows, columns = channel.rows, channel.columns
    step, block = choose_square_sides(channel, _PLACES_MAX)
    chances = compute_square_laws(channel, step, block)
    if step == 1:
        return Lattice((rows, columns), np.eye(rows), np.eye(columns), 1, block, chances)
    tops, lefts = np.arange(0, rows, step), np.arange(0, columns, step)
    shape = (len(tops), len(lefts))
    return Lattice(
        shape,
        _make_interpolation(rows, tops),
        _make_interpolation(columns, lefts),
        step,
        block,
        chances,
    )


def make_prior(shape: tuple[int, int], order: int) -> Prior:
    """Return the prior of an order on a lattice."""
    places = shape[0] * shape[1]
    rough = np.zeros((places, places))
    for i in range(order + 1):
        down, across = _make_differences(shape[0], i), _make_differences(shape[1], order - i)
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


def _make_differences(size: int, order: int) -> Floats:
    """Return the matrix of differences of an order; no rows where there are too few places."""
    return np.diff(np.eye(size), n=order, axis=0)


def _make_interpolation(size: int, starts: NDArray[np.int_]) -> Floats:
    """Return the weights by which blocks' middles give every cell, (size, blocks)."""
    if len(starts) == 1:
        return np.ones((size, 1))
    ends = np.append(starts[1:], size)
    middles = (starts + ends - 1) / 2
    degree = min(3, len(starts) - 1)
    spline = scipy.interpolate.make_interp_spline(middles, np.eye(len(starts)), k=degree)
    return np.asarray(spline(np.arange(size)))


# The most probable map under one kind of smoothness, and the strengths that the answers say.
#
# With f the map, g its law, n answers and A the precision of u given them,
#
#     A = n (diag(f) P' diag(1/g) P diag(f) - f f') + prior,
#     u <- u + A^-1 (f (P' (counts/g) - n) - prior u)
#
# and after each step the strengths are set to where the evidence, the probability of the answers
# with u integrated out, is greatest (MacKay 1992): strength = (directions that the answers decide)
# / (u' R u). No truth is looked at, no setting tuned.
#
# Source: MacKay 1992, equation 4.9 ("evidence"), and Section 6 for how wide a strength is; Green
# 1984, for scoring.


ENOUGH = 0.05  # nats: less changes no choice and no map
_LOWEST = -200.0
# What one direction had in it before any answer: u' R u, and the square of a tilt in each place.
_ROUGHNESS, _SLOPE = 0.01, 0.3
UNBENT = 0.5 / _ROUGHNESS  # a strength where the answers bend less than one direction
_STEPS_MAX = 60
_STRENGTHS = (1e-9, 1e9)


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """u on a lattice: the most probable one, and its precision's factor."""

    lattice: Lattice
    u: Floats  # (places,)
    factor: Floats  # lower, (places, places), with factor factor' = A
    order: int
    strength: float
    level: float
    evidence: float  # in nats, at these strengths; one constant is in it, that of the answers
    height: float  # likelihood and prior of u itself, in nats
    steps: int

    @property
    def mass(self) -> Floats:
        """The most probable map, (rows, columns)."""
        return softmax(self.lattice.spread(self.u))


def softmax(u: Floats) -> Floats:
    """Return exp(u) divided by its sum."""
    # No smaller: a processor is a hundred times slower with numbers next to nought.
    mass = np.exp(np.maximum(u - u.max(), _LOWEST))
    return mass / mass.sum()


def fit_order(places: Lattice, counts: Floats, smooth: Prior, u: Floats) -> Posterior:
    """Return the posterior under one order, on the way from u."""
    chances, reports, count = places.chances, float(counts.sum()), len(u)
    tilts = smooth.plain.shape[1]
    strength, level = 1.0, 0.01
    mass, law, worth = _evaluate_map(chances, u, counts)
    steps, settled = 0, False
    while not settled:
        steps += 1
        precision = smooth.precision(strength, level)
        weighed = chances * (math.sqrt(reports) * mass)
        weighed /= np.sqrt(law)[:, None]
        told = weighed.T @ weighed
        told -= np.outer(reports * mass, mass)
        # What is nought but for roundings must not come out below it.
        told.flat[:: count + 1] += 1e-13 * reports
        told += precision
        factor: Floats = scipy.linalg.cholesky(told, lower=True)
        uphill = mass * (chances.T @ (counts / law) - reports) - precision @ u
        way = scipy.linalg.cho_solve((factor, True), uphill)
        height = worth - float(u @ precision @ u) / 2
        u, mass, law, worth, gained = _climb(chances, counts, precision, u, way, height)
        bent = smooth.rank - strength * _trace(factor, smooth.rough)
        tilt = scipy.linalg.solve_triangular(factor, smooth.plain, lower=True)
        tilted = tilts - level * float(np.vdot(tilt, tilt))
        used = strength, level
        roughness, slope = float(u @ smooth.rough @ u), float(np.square(smooth.plain.T @ u).sum())
        # As if one direction of each kind had been seen before, with little in it: else two
        # answers from one place would be evidence of a cliff.
        bent, roughness = bent + 1, roughness + _ROUGHNESS
        tilted, slope = tilted + 1, slope + count * _SLOPE
        # Twice what the evidence changes by for each e-fold of a strength.
        still = max(abs(bent - strength * roughness), abs(tilted - level * slope))
        settled = (gained < ENOUGH and still < ENOUGH) or steps == _STEPS_MAX
        height = worth - float(u @ precision @ u) / 2
        evidence = height - float(np.log(np.diag(factor)).sum())
        evidence += smooth.log_determinant(*used) / 2
        strength, level = _find_strength(bent, roughness), _find_strength(tilted, slope)
    return Posterior(places, u, factor, smooth.order, *used, evidence, height, steps)


def _trace(factor: Floats, values: Floats) -> float:
    """Return the trace of (factor factor')^-1 values, of symmetric ones."""
    # Half of the inverse is all that is needed, in a third of the time that the whole takes.
    half = scipy.linalg.lapack.dpotri(factor, lower=True)[0].T
    return float(2 * np.vdot(half, values) - np.diag(half) @ np.diag(values))


def _find_strength(decided: float, roughness: float) -> float:
    """Return the strength at which the evidence is stationary."""
    return float(np.clip(max(decided, 1e-3) / max(roughness, 1e-300), *_STRENGTHS))


def _evaluate_map(chances: Floats, u: Floats, counts: Floats) -> tuple[Floats, Floats, float]:
    """Return the map of u, its law and its log-likelihood."""
    mass = softmax(u)
    law = chances @ mass
    return mass, law, log_likelihood(counts, law)


def _climb(
    chances: Floats, counts: Floats, precision: Floats, u: Floats, step: Floats, height: float
) -> tuple[Floats, Floats, Floats, float, float]:
    """Return u, map, law, likelihood and gain after as much of the step as leads uphill."""
    share = 1.0
    while True:
        tried = u + share * step
        mass, law, worth = _evaluate_map(chances, tried, counts)
        gained = worth - float(tried @ precision @ tried) / 2 - height
        if gained >= 0 or share < 1e-6:
            return tried, mass, law, worth, gained
        share /= 2


# The posterior of a map's logarithm, under the kind of smoothness that the answers favour.
#
# For each order of `smooth_map` the map is found by `smooth_map`, with the strengths that have the
# most evidence; and so is the order. A map on a lattice is at last fitted to the answers cell by
# cell. No truth is looked at, no setting tuned.
#
# Source: MacKay 1992, Section 5, for comparing kinds by their evidence.


_REFINED_MAX = 50


def fit_posterior(channel: Channel, counts: Floats) -> Posterior:
    """Return the posterior under the order that has the most evidence; there are answers.

    Args:
        channel: what gave the answers.
        counts: answers at each place of the outer array.
    """
    places = make_lattice(channel)
    coarse = sum_answers(channel, counts, places.block)
    u = np.zeros(places.chances.shape[1])
    fits: list[Posterior] = []
    for order in ORDERS:
        # Each order begins where the one before it ended: most of the way is the same.
        smooth = make_prior(places.shape, order)
        found = fit_order(places, coarse, smooth, u)
        if found.strength > UNBENT and fits:
            # The evidence has a second summit where nothing bends, and from there no way leads
            # to the first: from an even map it may.
            again = fit_order(places, coarse, smooth, np.zeros_like(u))
            found = max(found, again, key=lambda one: one.evidence)
        u = found.u
        fits.append(found if places.block == 1 else _refine(channel, counts, found))
    return max(fits, key=lambda found: found.evidence)


def _refine(channel: Channel, counts: Floats, found: Posterior) -> Posterior:
    """Return the posterior with u fitted to the answers cell by cell, not block by block.

    The blocks' precision stays: it differs from the cells' by what the answers cannot tell.
    """
    grid, reports = found.lattice, float(counts.sum())
    precision = make_prior(grid.shape, found.order).precision(found.strength, found.level)
    u, steps = found.u, found.steps
    mass = softmax(grid.spread(u))
    law = channel.forward(mass)
    height = log_likelihood(counts, law) - float(u @ precision @ u) / 2
    for _ in range(_REFINED_MAX):
        ratio = np.divide(counts, law, out=np.zeros_like(law), where=counts > 0)
        uphill = grid.gathered(mass * (channel.adjoint(ratio) - reports)) - precision @ u
        way = scipy.linalg.cho_solve((found.factor, True), uphill)
        share, gained = 1.0, -1.0
        while gained < 0 and share > 1e-3:
            tried = u + share * way
            mass = softmax(grid.spread(tried))
            law = channel.forward(mass)
            found_height = log_likelihood(counts, law) - float(tried @ precision @ tried) / 2
            gained = found_height - height
            share /= 2
        steps += 1
        if gained < 0:
            break
        u, height = tried, found_height
        if gained < ENOUGH:
            break
    # Of every order: the blocks' likelihood is no evidence beside the cells', which has another
    # constant and, between two places, another map.
    more = height - found.height
    return replace(
        found,
        u=u,
        steps=steps,
        evidence=found.evidence + more,
        height=height,
    )
