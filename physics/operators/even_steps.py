"""Whether places along an axis are even, and the step that sources and sensors share."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..places import Floats

# Steps of sources and sensors are whole multiples, up to this, of one step they share.
_MOST_PARTS = 8
# A place that is off its even place by this much of the width of the kernel changes no entry by
# more than 1e-13 of the largest.
_OFF = 1e-13


@dataclass(frozen=True, slots=True)
class Steps:
    """Even places: source j at first + j * step * every, sensor i at first + i * step * every.

    Args:
        step_m: the step that both share.
        sources_m, sensors_m: the first place of each.
        sources, sensors: how many.
        source_every, sensor_every: how many steps from one to the next.
    """

    step_m: float
    sources_m: float
    sensors_m: float
    sources: int
    sensors: int
    source_every: int
    sensor_every: int


def even_steps(sources: Floats, sensors: Floats, spread_m2: float) -> Steps | None:
    """Return the step that sources and sensors, (k,) each and growing, share; None if they do not.

    They may stand anywhere against each other; only their steps must be as whole numbers up to 8.
    """
    own = [_step(places, spread_m2) for places in (sources, sensors)]
    if own[0] is None or own[1] is None:
        return None
    source, sensor = own[0] or own[1] or 1.0, own[1] or own[0] or 1.0
    ratio = Fraction(sensor / source).limit_denominator(_MOST_PARTS)
    if not 0 < ratio.numerator <= _MOST_PARTS:
        return None
    step = source / ratio.denominator
    reach = step * ratio.numerator * max(1, len(sensors) - 1)
    far = float(np.abs(sensors).max())
    if abs(reach - sensor * max(1, len(sensors) - 1)) > off_allowed(far, spread_m2):
        return None
    firsts = float(sources[0]), float(sensors[0])
    counts = len(sources), len(sensors)
    return Steps(step, *firsts, *counts, ratio.denominator, ratio.numerator)


def _step(places: Floats, spread_m2: float) -> float | None:
    """Return the step of even, growing places, nought for a single one, None for uneven ones."""
    if len(places) == 1:
        return 0.0
    step = float(places[-1] - places[0]) / (len(places) - 1)
    even = places[0] + step * np.arange(len(places))
    far = float(np.abs(places).max())
    good = step > 0 and float(np.abs(places - even).max()) <= off_allowed(far, spread_m2)
    return step if good else None


def off_allowed(far_m: float, spread_m2: float) -> float:
    """Return how far from its even place a place may stand, in metres: rounding, or no matter.

    Args:
        far_m: the largest number among the places.
    """
    return max(4 * float(np.finfo(float).eps) * far_m, _OFF * math.sqrt(spread_m2))
