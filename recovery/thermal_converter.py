"""What a sensor's converter costs: noise for steps that may flip, where heat alone needs less.

A converter's step can flip on all sensors at once, however little a source moves, and the noise
must hide that too. Where steps are coarse it hides everything: two places at the ends of the
room are then told apart no better than by tossing a coin, and no map is worth drawing.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from .normal import ndtr
from .ratio import Ratio, lowest
from .responses import displacement
from .spreads import felt
from .thermal_curve import distances
from .thermal_noise import calibration, room
from .thermal_query import Query

# A best test that is right less often than this has nothing to draw a map from.
BLIND = 0.55
# The step is to blame where the noise would be less than half as wide without it.
_TO_BLAME = 2.0
_TRIES = 40  # halvings of a step, doublings of an epsilon


@dataclass(frozen=True, slots=True)
class Converter:
    """What the step does to the noise, and what is left to be seen through it."""

    inflation: float  # how many times as wide as without the step the noise is
    right: float  # how often the best test of all readings tells the two ends of the room apart
    right_without: float  # the same without the step

    @property
    def blinds(self) -> bool:
        """Whether nothing can be seen, and the step is why."""
        seen = self.right < BLIND <= self.right_without
        return seen and self.inflation > _TO_BLAME


def converter(query: Query) -> Converter:
    """Return what the converter's step costs this query.

    The test is between the two places in the room, or the two ends of it, that all sensors
    together tell apart best, for the warmest source and the spread at which that is easiest:
    whoever is blind there is blind everywhere.

    Raises:
        ValueError: the noise cannot be had.
    """
    with_step, without = calibration(query), calibration(replace(query, step=None))
    if query.response is not None:
        apart = displacement(query, query.response.far_cells[-1]).joint
    else:
        apart = query.intensity_max * float(felt(room(query), distances(query)).moves.max())
    seen = apart * math.sqrt(query.readings) / 2
    return Converter(
        with_step.sigma / without.sigma,
        ndtr(seen / with_step.sigma),
        ndtr(seen / without.sigma),
    )


def finer_step(query: Query) -> Fraction | None:
    """Return a step, the present one halved and halved, through which something can be seen."""
    step = query.step
    for _ in range(_TRIES if step is not None else 0):
        step = step / 2 if step is not None else None
        if _sees(replace(query, step=step)):
            return step
    return None


def larger_epsilon(query: Query) -> Ratio | None:
    """Return an epsilon, the present one doubled and doubled, at which something can be seen."""
    num, den = query.epsilon
    for _ in range(_TRIES):
        num *= 2
        asked = lowest((num, den))
        if max(asked) >= 2**63:
            break
        if _sees(replace(query, epsilon=asked)):
            return asked
    return None


def _sees(query: Query) -> bool:
    try:
        return not converter(query).blinds
    except ValueError:  # what cannot be had is no advice
        return False
