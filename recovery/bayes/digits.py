"""What double precision can weigh.

Scenes are told apart by differences of squares in deviations of the noise. Where noise is below
a ten-millionth of what is read, those squares are above 1e14 and their last digit is as large
as the differences: every weight would be rounding.
"""

import math
from dataclasses import replace

import numpy as np

from ..estimators.record import Estimate, Seen

# Noise below this share of what is read leaves the weights no digits.
_QUIET = 1e-7
# Readings so many times above all that the prior allows are a fault, or in another unit.
_ABSURD = 1e6


def with_digits(seen: Seen) -> Seen:
    """Return the same readings, with as much noise as leaves the weights of scenes their digits.

    More noise than there is says less than could be said, and nothing that is not so.

    Raises:
        ValueError: readings a million times above what the prior's sources and noise can come to.
    """
    loudest = seen.prior.warmest * float(np.abs(seen.operator).max())
    read = float(np.abs(seen.readings).max())
    most = seen.prior.most * loudest + seen.sigma
    if not read <= _ABSURD * most or not math.isfinite(most):
        raise ValueError(
            f"a reading is {read:.3g} but {seen.prior.most} sources of "
            f"{seen.prior.warmest:g} and the noise come to {most:.3g} at most: no scene that the "
            "prior allows is near, and none could be told from another. Check the unit of the "
            "readings and of the operator, or leave that sensor out."
        )
    least = _QUIET * math.sqrt(len(seen.readings)) * max(loudest, read)
    return replace(seen, sigma=least) if seen.sigma < least else seen


def labelled(estimate: Estimate, seen: Seen, weighed: Seen) -> Estimate:
    """Return the estimate with a status that says if more noise was reckoned with.

    Args:
        estimate: what came of it.
        seen: the readings as they are.
        weighed: the same with the noise that was reckoned with.
    """
    if estimate.status != "optimal" or weighed.sigma <= seen.sigma:
        return estimate
    status = f"inaccurate: weighed as if noise were {weighed.sigma:.2g}, for want of digits"
    return replace(estimate, status=status)
