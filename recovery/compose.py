"""What readings cost together, where sensors differ: in their noise, or in how often they speak.

With d_ij the change of sensor j, in its own grains, when move i is made, and v_j the variance
of its noise, one reading of every sensor costs

    rho = max over i of sum over j of d_ij**2 / (2 v_j)

and where sensor j speaks N_j times in the window, the window costs

    max over i of sum over j of N_j d_ij**2 / (2 v_j)  <=  max over j of N_j  times  rho

so a counter in each device keeps the promise of them all, and nobody has to add up the fleet.
All answers are exact fractions.

Source: Canonne, Kamath and Steinke 2020, Theorem 14, for discrete Gaussians of several widths;
the bound is each N_j at its greatest.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Changes = NDArray[np.float64]

# Floats find the worst moves; those so near to the worst are weighed exactly.
_NEAR = 1e-9


def price(
    changes: Iterable[Changes], variances: Sequence[int], readings: Sequence[int] | None = None
) -> Fraction:
    """Return the rho of the worst move.

    Args:
        changes: blocks (sensors, moves) of whole numbers, as `recovery.whole.sent` returns.
        variances: of each sensor's noise, in the square of its grain.
        readings: how often each sensor speaks; None for once each.

    Raises:
        ValueError: a sensor has no noise, or there are not as many as the changes have rows.

    >>> price([np.array([[3.0, 1.0], [0.0, 4.0]])], [9, 16]), price([np.ones((2, 1))], [1, 4])
    (Fraction(5, 9), Fraction(5, 8))
    """
    times = [1] * len(variances) if readings is None else list(readings)
    worst = Fraction(0)
    for block in changes:
        _check(block, variances, times)
        weights = np.array([n / (2 * v) for n, v in zip(times, variances, strict=True)])
        about = weights @ np.square(block)
        for move in np.unique(block[:, about >= about.max() * (1 - _NEAR)], axis=1).T:
            exact = (
                Fraction(n * int(d) ** 2, 2 * v)
                for n, d, v in zip(times, move, variances, strict=True)
            )
            worst = max(worst, sum(exact, Fraction(0)))
    return worst


def at_most(rho: Fraction, readings: Iterable[int]) -> Fraction:
    """Return a bound on what a window costs in which the devices speak so often each.

    Args:
        rho: of one reading of every sensor.
        readings: how often each device speaks, whenever it does.

    >>> at_most(Fraction(1, 50), [24, 24, 25])
    Fraction(1, 2)
    """
    return rho * max(readings, default=0)


def _check(block: Changes, variances: Sequence[int], times: Sequence[int]) -> None:
    if not len(block) == len(variances) == len(times) or min(variances) < 1 or min(times) < 0:
        raise ValueError(
            f"{len(block)} sensors change, {len(variances)} have a variance of at least "
            f"{min(variances, default=0)} and {len(times)} speak {min(times, default=0)} times or "
            "more, but every sensor needs noise and a number of readings: one without noise has "
            "no price. Give one of each for every sensor."
        )
