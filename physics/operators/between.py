"""What a move may change at spreads between two at which it is known: bounds that are proved.

Write u for the logarithm of the spread s, and D(u) for the joint sensitivity.

**Without walls** the square of what one pair of places changes on all sensors is, with b = 1/4s,

    F = (b / pi)**axes * sum over sensors of (exp(-r**2 b) - exp(-q**2 b))**2

where r and q are the distances of a sensor. Take one term, h its logarithm, and write y = 2 min(r,
q)**2 b, x = |r**2 - q**2| b, z = 2 x / (exp(x) - 1). A prime is a derivative by log b; that is
-u and a constant, so second derivatives by u are the same. Then h' = axes + z - y, and

    h'' + h'**2 = (axes + z - y)**2 - y + z' >= -(axes + z) - 1/4 + z' >= -(axes + 9/4)

the first by the least over y, the second as z - z' = 2 ((x / 2) / sinh(x / 2))**2 is at most 2.
A term bends by h'' + h'**2 times itself, so F'' >= -(axes + 9/4) F for every term, for their sum,
and whatever sensors there are. Over a step shorter than pi divided by the root of that, F is
below the sine through its ends (Sturm). The greatest over pairs is too.

**Between walls** readings are sums over mirror images of kernels with signs. With p = r**2 / 4s,

    d2/du2 g(r, s) = ((p - axes / 2)**2 - p) g(r, s),    |...| <= C g(r, 2 s)

where C is the greatest of 2**(axes / 2) |(p - axes / 2)**2 - p| exp(-p / 2). All images together
at 2 s are what insulated walls leave, so the second derivative of a difference of two columns is
at most B = 2 C P(2 s), P the longest column between insulated walls. A vector-valued function is
as near to its chord as x (w - x) B / 2, w the step and x how far into it.
"""

import math

# The greatest of 2**(axes / 2) |(p - axes / 2)**2 - p| exp(-p / 2) over p, rounded up: at
# p = 3 + sqrt(19 / 4) along a line, at nought in a plane and in a room.
_BEND = {1: 1.7745, 2: 2.0, 3: 6.3640}


def free_between(low: float, high: float, step: float, axes: int) -> float:
    """Return the most that the sensitivity can be between two spreads, without walls.

    Args:
        low, high: what it is at either, in temperature per unit of heat.
        step: logarithm of the ratio of the two spreads.
        axes: 1 along a line, 2 in a plane, 3 in a room.

    Raises:
        ValueError: the step is so long that nothing is known.
    """
    rate = math.sqrt(axes + 2.25)
    if not 0 < step * rate < 3.0:
        raise ValueError(
            f"the step is {step:g} but must be positive and below {3 / rate:g}, for a longer one "
            "bounds nothing. Look at more spreads between."
        )
    size = max(low, high) or 1.0  # squares of what is small would be lost
    first, last = (low / size) ** 2, (high / size) ** 2
    slope = (last - first * math.cos(rate * step)) / math.sin(rate * step)
    # The sine first * cos + slope * sin has its top inside where it rises first and falls last.
    falls = slope * math.cos(rate * step) < first * math.sin(rate * step)
    top = math.hypot(first, slope) if slope > 0 and falls else max(first, last)
    return size * math.sqrt(top)


def walled_bend(presence: float, step: float, axes: int) -> float:
    """Return B, how much a difference of columns can bend over a step, between walls.

    Args:
        presence: length of the longest column between *insulated* walls, at twice the upper
            spread of the step; at a lower one it is at most exp(axes * step / 2) as much.
        step, axes: as for `free_between`.
    """
    return 2 * _BEND[axes] * math.exp(axes * step / 2) * presence


def walled_between(low: float, high: float, step: float, bend: float) -> float:
    """Return the most that the sensitivity can be between two spreads, between walls.

    Args:
        low, high, step: as for `free_between`.
        bend: B from `walled_bend`, of this step or of one that holds it.
    """
    sag = bend * step**2
    if abs(high - low) >= sag / 2:
        return max(low, high)
    return (low + high) / 2 + sag / 8 + (high - low) ** 2 / (2 * sag)
