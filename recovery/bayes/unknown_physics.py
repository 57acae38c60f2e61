"""Sources, spread, wall loss and drift from the same readings.

Who inverts with the wrong physics is wrong for ever, however little noise there is: a spread
that is 25 in 100 off costs more than the veil does. So nothing is taken for known that is not:

    p(sources | y) = integral over spread, loss of p(sources | y, spread, loss) p(spread, loss | y)

with the posterior of the sources at every point of a grid that is fine where the evidence is,
and drift taken out of the noise beforehand. Before any reading the spread is even in its
logarithm, and the loss H of walls L apart even in H L / (1 + H L), which is 0 for insulated
ones and 1 for cold.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..estimators.check import check
from ..estimators.record import Estimate, Seen
from .conditional import Conditional, conditional, together
from .digits import with_digits
from .drift import Drift, drift
from .physics_grid import HOPELESS, Explored, explore
from .room_physics import Physics

Floats = NDArray[np.float64]

# A wall that loses more than this is one at the baseline.
_FINITE = 1e12
# Over so little of the logarithm of the spread, or of the share, readings change in proportion.
_ASIDE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """What the readings leave possible of one number.

    Args:
        values: (values,), growing; one alone where it was known.
        upto: (values,), the chance that the truth is not beyond each.
    """

    values: Floats
    upto: Floats

    def quantile(self, chance: float) -> float:
        """Return the value that is not exceeded with this chance."""
        return float(np.interp(chance, self.upto, np.minimum(self.values, _FINITE)))

    def within(self, level: float) -> tuple[float, float]:
        """Return between what it lies with this chance, as much of it below as above."""
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """A map, and the physics that goes with it.

    Args:
        estimate: of the sources, whatever the physics was.
        spread_m2, loss_per_m: what is left possible of each.
        offset, slopes: the drift that is expected, in kelvin; a slope for each axis.
        log_evidence: logarithm of the readings' density over that without any source, averaged
            over all that was possible: it compares one Physics with another.
    """

    estimate: Estimate
    spread_m2: Belief
    loss_per_m: Belief
    offset: float
    slopes: tuple[float, ...]
    log_evidence: float


def estimate_jointly(seen: Seen, physics: Physics) -> Joint:
    """Return the map of least expected distance to the truth, whatever the physics was.

    Args:
        seen: readings, noise, cells and prior. Its operator is not used, but for its shape: it
            is what is sought.
        physics: within what the spread, the loss and the drift are.

    Raises:
        ValueError: readings that fit no computation, or too many cells or sources.

    Source: Bayes' rule. Gilbert and McMillan 2017 take the spread T for known.

    Differs from the paper:
    1. The spread is inferred beside the sources, from a range.
    """
    check(seen)
    sensors = np.asarray(physics.sensors_m, dtype=float)
    if len(sensors) != len(seen.readings):
        raise ValueError(
            f"the physics has {len(sensors)} sensors but there are {len(seen.readings)} readings, "
            "and each needs the place where it was read. Leave silent sensors out of both."
        )
    sensors = sensors.reshape(len(sensors), -1)
    # Heat is felt most where it spread least and least was lost.
    most = physics.operator(seen.places, physics.spreads_m2[0], physics.losses_per_m[0])
    seen = replace(seen, sigma=with_digits(replace(seen, operator=most)).sigma)
    drifts = drift(sensors, physics.offset, physics.slope, seen.sigma)
    white = replace(seen, readings=drifts.whitened(seen.readings) / seen.sigma, sigma=1.0)
    spreads, shares = physics.first_grid()
    best = -math.inf

    def operator(spread: float, share: float) -> Floats:
        made = physics.operator(seen.places, math.exp(spread), physics.loss(share))
        return drifts.whitened(made) / seen.sigma

    def with_spread(spread: float) -> tuple[float, float, Explored[Conditional]]:
        nonlocal best

        def with_loss(share: float) -> tuple[float, float, Conditional]:
            here = operator(spread, share)
            found = conditional(replace(white, operator=here))
            aside = share + (_ASIDE if share < 0.5 else -_ASIDE)
            change = (operator(spread, aside) - here) @ found.heat if len(shares) > 1 else 0.0
            return found.log_evidence, float(np.linalg.norm(change)) / _ASIDE, found

        # Of a spread that is out of the question, the loss is of no interest.
        explored = explore(shares, with_loss, best - HOPELESS)
        best = max(best, explored.log_evidence)
        share, heat = explored.points[explored.likeliest], explored.found[explored.likeliest].heat
        change = (operator(spread + _ASIDE, share) - operator(spread, share)) @ heat
        return explored.log_evidence, float(np.linalg.norm(change)) / _ASIDE, explored

    return _joint(seen, physics, explore(spreads, with_spread), drifts)


def _joint(
    seen: Seen, physics: Physics, explored: Explored[Explored[Conditional]], drifts: Drift
) -> Joint:
    # The shares that walls may lose have other places at each spread: bring them together.
    shares = np.unique(np.concatenate([at.places for at in explored.found]))
    upto, warmed = np.zeros(len(shares)), np.zeros(len(seen.readings))
    parts, chances = [], []
    for spread, chance, at in zip(explored.points, explored.chances, explored.found, strict=True):
        upto += chance * np.interp(shares, at.places, at.upto)
        for share, inner, found in zip(at.points, at.chances, at.found, strict=True):
            operator = physics.operator(seen.places, math.exp(spread), physics.loss(share))
            warmed += chance * inner * (operator @ found.heat)
            parts.append(found)
            chances.append(chance * inner)
    terms = drifts.expected(seen.readings - warmed)
    # The residual is of what drift does not explain, with the likeliest physics.
    at = explored.found[explored.likeliest]
    likeliest = physics.operator(
        seen.places,
        math.exp(explored.points[explored.likeliest]),
        physics.loss(at.points[at.likeliest]),
    )
    undrifted = replace(seen, operator=likeliest, readings=seen.readings - drifts.basis @ terms)
    return Joint(
        together(undrifted, parts, np.array(chances)),
        Belief(np.exp(explored.places), explored.upto),
        Belief(np.array([physics.loss(share) for share in shares]), upto),
        float(terms[0]) * physics.offset,
        tuple((terms[1:] * physics.slope).tolist()),
        explored.log_evidence,
    )
