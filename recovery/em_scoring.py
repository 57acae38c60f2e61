"""The most probable map under one kind of smoothness, and the strengths that the answers say.

With f the map, g its law, n answers and A the precision of u given them,

    A = n (diag(f) P' diag(1/g) P diag(f) - f f') + prior,
    u <- u + A^-1 (f (P' (counts/g) - n) - prior u)

and after each step the strengths are set to where the evidence, the probability of the answers
with u integrated out, is greatest (MacKay 1992): strength = (directions that the answers decide)
/ (u' R u). No truth is looked at, no setting tuned.

Source: MacKay 1992, equation 4.9 ("evidence"), and Section 6 for how wide a strength is; Green
1984, for scoring.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from .em import log_likelihood
from .em_prior import Lattice, Prior

Floats = NDArray[np.float64]

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
    decided: float  # how many directions of u the answers decide
    evidence: float  # in nats, at these strengths; one constant is in it, that of the answers
    overall: float  # the same, over all strengths
    height: float  # likelihood and prior of u itself, in nats
    steps: int
    rivals: tuple["Posterior", ...] = ()  # under the other orders

    @property
    def mass(self) -> Floats:
        """The most probable map, (rows, columns)."""
        return exponential(self.lattice.spread(self.u))


def exponential(u: Floats) -> Floats:
    """Return exp(u) divided by its sum."""
    # No smaller: a processor is a hundred times slower with numbers next to nought.
    mass = np.exp(np.maximum(u - u.max(), _LOWEST))
    return mass / mass.sum()


def fitted(
    places: Lattice, counts: Floats, smooth: Prior, u: Floats, needed: float = -math.inf
) -> Posterior:
    """Return the posterior under one order; not to the end where its evidence stays below this."""
    chances, reports, count = places.chances, float(counts.sum()), len(u)
    tilts = smooth.plain.shape[1]
    strength, level = 1.0, 0.01
    mass, law, worth = _law(chances, u, counts)
    steps, settled, before = 0, False, math.inf
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
        u, mass, law, worth, gained = _climbed(chances, counts, precision, u, way, height)
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
        # If every step to come gained as much as this and the one before it.
        coming = (gained + before + still) * (_STEPS_MAX - steps)
        settled |= steps > 2 and evidence + coming < needed
        before = gained
        strength, level = _strength(bent, roughness), _strength(tilted, slope)
    overall = evidence + _chance(used[0] * _ROUGHNESS, bent)
    if tilts:
        overall += _chance(used[1] * count * _SLOPE, tilted)
    decided = bent + tilted - 2
    return Posterior(
        places, u, factor, smooth.order, *used, decided, evidence, overall, height, steps
    )


def _trace(factor: Floats, values: Floats) -> float:
    """Return the trace of (factor factor')^-1 values, of symmetric ones."""
    # Half of the inverse is all that is needed, in a third of the time that the whole takes.
    half = scipy.linalg.lapack.dpotri(factor, lower=True)[0].T
    return float(2 * np.vdot(half, values) - np.diag(half) @ np.diag(values))


def _chance(seen: float, decided: float) -> float:
    """Return the logarithm of a strength's own chance, integrated over its e-folds.

    One direction seen before, with x = strength times what was in it, has the density
    sqrt(x) exp(-x / 2) / sqrt(2 pi) over ln x; and the answers and it leave ln x a variance of
    2 / directions that they decide.
    """
    return math.log(seen) / 2 - seen / 2 + math.log(2 / decided) / 2


def _strength(decided: float, roughness: float) -> float:
    """Return the strength at which the evidence is stationary."""
    return float(np.clip(max(decided, 1e-3) / max(roughness, 1e-300), *_STRENGTHS))


def _law(chances: Floats, u: Floats, counts: Floats) -> tuple[Floats, Floats, float]:
    """Return the map of u, its law and its log-likelihood."""
    mass = exponential(u)
    law = chances @ mass
    return mass, law, log_likelihood(counts, law)


def _climbed(
    chances: Floats, counts: Floats, precision: Floats, u: Floats, step: Floats, height: float
) -> tuple[Floats, Floats, Floats, float, float]:
    """Return u, map, law, likelihood and gain after as much of the step as leads uphill."""
    share = 1.0
    while True:
        tried = u + share * step
        mass, law, worth = _law(chances, tried, counts)
        gained = worth - float(tried @ precision @ tried) / 2 - height
        if gained >= 0 or share < 1e-6:
            return tried, mass, law, worth, gained
        share /= 2
