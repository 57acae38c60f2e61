"""Noise that is stated instead of wished for: what does it promise?

The paper's first two figures fix sigma and name no epsilon, and readings that others have
published come with the noise that they came with.
"""

import math
from fractions import Fraction

from .calibrate import Calibration, Floats, delivered
from .ratio import Ratio, check_ratio, lowest
from .whole import coarsest_exponent, counted_norm, reach, shifts, whole_square, widest

# An epsilon is rounded up to whole thousandths, so that it is a ratio and never too small.
_PARTS = 1000


def stated(
    operator: Floats,
    shape: tuple[int, int],
    cells: int,
    sigma: Ratio,
    delta: Ratio,
    *,
    intensity_max: float = 1.0,
    step: Fraction | None = None,
    readings: int = 1,
) -> Calibration:
    """Return noise of this standard deviation, and what it really promises at delta.

    Args:
        sigma: standard deviation of the noise on each reading, in the temperatures' unit.
        operator, shape, cells, delta, intensity_max, step, readings: as for
            `recovery.calibrate.calibrate`.

    Raises:
        ValueError: no sensor feels any heat, or sigma is not a ratio.
    """
    wide, delta_asked = check_ratio(sigma, "sigma"), check_ratio(delta, "delta")
    moved = reach(shape, cells)
    spread = counted_norm(shifts(operator, shape, moved, intensity_max), step)
    if not spread > 0:
        raise ValueError(
            f"the operator changes by {spread:g} when a source moves but must change by more: "
            "no sensor feels any heat. Place sensors nearer, or wait for a longer spread."
        )
    exponent = coarsest_exponent(spread, wide, operator.shape[-2], step)
    grain = Fraction(2) ** -exponent
    square = whole_square(shifts(operator, shape, moved, intensity_max), exponent, step)
    variance = math.ceil((Fraction(*sigma) / grain) ** 2)
    return Calibration(
        exponent=exponent,
        step=1 if step is None else math.ceil(step / grain),
        sensitivity=intensity_max * max(widest(operator, d, shape) for d in moved),
        sensitivity_squared=square,
        variance=variance,
        rho=(square, 2 * variance),
        sigma=math.sqrt(variance) * float(grain),
        epsilon=delivered(square, variance, readings, delta_asked),
        readings=readings,
        intensity_max=intensity_max,
        adc_step=step,
    )


def epsilon_of(made: Calibration) -> Ratio:
    """Return what a calibration really costs, as a ratio that is never too small."""
    return lowest((max(1, math.ceil(made.epsilon * _PARTS)), _PARTS))
