"""How far one source that moves can change the whole numbers that sensors really report.

A device rounds twice: to the steps of its converter, then to grains. Rounding is monotone,
so a temperature that moves by dy moves its count by at most ceil(dy / step), and its grains
by at most ceil(count * step / grain). The noise is scaled to these whole numbers, because a
promise about temperatures is no promise about what is sent.

Source: the bound on rounded differences is elementary; that a coarse step flips on all
sensors at once, and so counts sqrt(sensors) times, is the reason for it.
"""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from physics.kernel import moves, sensitivity

Floats = NDArray[np.float64]

# Temperatures are floats, and a difference may sit a hair above a whole number of grains
# that it is computed to be a hair below. Errors of the operator and of its products stay
# under 1e-13 of its largest entry; this much is added to every difference.
_SLACK = 1e-11


def reach(shape: tuple[int, int], cells: int) -> range:
    """Return the distances up to so many cells; along a line none is longer than the line."""
    longest = max(1, min(cells, max(shape) - 1)) if min(shape) == 1 else cells
    return range(1, longest + 1)


def widest(operator: Floats, cells: int, shape: tuple[int, int]) -> float:
    """Return the sensitivity of the worst of these operators, (sensors, cells) each."""
    layers = operator.reshape(-1, *operator.shape[-2:])
    return max(sensitivity(layer, cells, shape) for layer in layers)


def shifts(
    operator: Floats, shape: tuple[int, int], cells: Iterable[int], intensity_max: float
) -> Iterator[Floats]:
    """Yield blocks (sensors, moves) of temperature changes, bounded from above.

    Args:
        operator: A, (sensors, cells), in temperature per unit of heat; or one for each of
            several spreads, (spreads, sensors, cells).
        shape: (columns, rows) of the cells.
        cells: the distances, in cells, that a source moves; see `physics.kernel.moves`.
        intensity_max: the most heat of one source.
    """
    warmest = float(np.abs(operator).max())
    for distance in cells:
        for layer in operator.reshape(-1, *operator.shape[-2:]):
            for block in moves(layer, distance, shape):
                yield bounded(block, intensity_max, warmest)


def bounded(block: Floats, intensity_max: float, warmest: float) -> Floats:
    """Return what a unit source's changes come to at the most, none of them negative.

    Args:
        warmest: the largest entry of the operator that they are differences of.
    """
    hair = _SLACK * intensity_max * warmest
    return np.asarray(np.abs(block) * (intensity_max * (1 + _SLACK)) + hair)


def counted_norm(blocks: Iterable[Floats], step: Fraction | None) -> float:
    """Return the greatest l2 norm of what the converters show, in the temperatures' unit.

    Args:
        blocks: of (sensors, moves), temperature changes from `shifts`.
        step: of the converter, in their unit, or None.
    """
    greatest = 0.0
    for block in blocks:
        seen = block if step is None else np.ceil(block / float(step)) * float(step)
        greatest = max(greatest, float(np.linalg.norm(seen, axis=0).max()))
    return greatest


def whole_square(blocks: Iterable[Floats], exponent: int, step: Fraction | None) -> int:
    """Return the greatest squared l2 norm of what is sent, in grains squared.

    Args:
        blocks, step: as for `counted_norm`.
        exponent: a grain is 2**-exponent of the temperatures' unit.

    >>> whole_square([np.array([[0.3], [1.1]])], exponent=0, step=None)
    5
    >>> whole_square([np.array([[0.3], [1.1]])], exponent=2, step=Fraction(1, 2))
    40
    """
    greatest = 0.0
    for block in blocks:
        grains = sent(block, exponent, step)
        greatest = max(greatest, float(np.einsum("ij,ij->j", grains, grains).max()))
    # Sums of whole numbers are exact in floats up to here.
    if greatest >= 2**53:
        raise ValueError(
            f"a move changes the readings by {greatest**0.5:g} grains but at most 94906265 can "
            "be squared exactly, and a promise must not rest on a rounded number. Lower "
            "intensity_max, or state a longer spread."
        )
    return int(greatest)


def sent(block: Floats, exponent: int, step: Fraction | None) -> Floats:
    """Return by how many grains each change of a temperature can change what is sent.

    Args:
        block: (sensors, moves), temperature changes from `shifts`, at least 0.
        exponent, step: as for `whole_square`.
    """
    if step is None:
        return np.ceil(np.ldexp(block, exponent))
    # Step by step in whole numbers, for a step need not be a whole number of grains.
    num, den = (step * Fraction(2) ** exponent).as_integer_ratio()
    counts = np.ceil(block / float(step))
    if den == 1 and int(counts.max()) * num < 2**53:
        return counts * num
    if max(int(counts.max()) * num, den) < 2**62:
        return (-(-counts.astype(np.int64) * num // den)).astype(np.float64)
    # 64 bits would wrap; what cannot be squared anyway is cut, and refused by `whole_square`.
    cut = [[min(-(-int(count) * num // den), 2**53) for count in row] for row in counts]
    return np.array(cut, dtype=np.float64)


def coarsest_exponent(
    spread: float, sigma: float, sensors: int, step: Fraction | None = None
) -> int:
    """Return the exponent of the largest grain, a power of two, that costs little noise.

    At most 1/50 of one sensor's share of what a move changes, so rounding adds two per cent
    to it; at most 1/100 of sigma, so the discrete noise is as good as continuous; and a
    divisor of the converter's step, where a power of two can be one.

    Args:
        spread: l2 norm of what a move changes, in the unit of the temperatures.
        sigma: standard deviation of the noise that it will need, in that unit.
        sensors: how many there are.
        step: of the converter, or None.

    >>> coarsest_exponent(spread=1.0, sigma=3.7, sensors=4)
    7
    """
    exponent = -math.floor(math.log2(min(spread / (50 * math.sqrt(sensors)), sigma / 100)))
    if step is not None and step.denominator & (step.denominator - 1) == 0:
        exponent = max(exponent, step.denominator.bit_length() - 1)
    return exponent


# The most that whole numbers can change by where two bounds are known of what they round.
#
# It is known by how many kelvin each sensor may change, and all together in l2 norm. Both hold
# at once, and so does the rounding: on one sensor a change of x steps of the
# converter shows as at most ceil(x) of them. The greatest that the squares can then add up to is
# found by giving every sensor one step, which costs nothing, then a second one, which costs one
# step of the norm, then a third, and so on: c steps more than one cost (c - 1)**2 of its square
# and bring c**2, so that each further one brings less for what it costs.
#
# Source: for concave gains the greedy filling is the best there is, and an upper bound for whole
# numbers; Ibaraki and Katoh 1988, "Resource Allocation Problems", chapter 4.

_FILLED_SLACK = 1e-9  # of what floats lose, many times over


class Change(NamedTuple):
    """By how much readings may change, in kelvin."""

    joint: float  # l2 norm over all sensors
    each: Floats  # (sensors,)


def most_sent(change: Change, exponent: int, step: Fraction | None) -> int:
    """Return the greatest squared l2 norm of what is sent, in grains squared.

    Args:
        exponent: a grain is 2**-exponent kelvin.
        step: of the converter, in kelvin, or None.

    Raises:
        ValueError: it is beyond what can be squared exactly.

    >>> most_sent(Change(1.1, np.array([0.3, 1.1])), exponent=0, step=None)
    5
    >>> most_sent(Change(0.5, np.array([0.5, 0.5])), exponent=1, step=Fraction(1))
    8
    """
    unit = math.ldexp(1.0, -exponent) if step is None else float(step)
    tops = np.ceil(change.each / unit)
    square = _filled((change.joint / unit) ** 2, tops)
    if step is not None:
        ratio = step * Fraction(2) ** exponent
        square = Fraction(square) * ratio**2
        if ratio.denominator != 1:  # then a grain more may show on each sensor
            root = math.sqrt(square) * (1 + _FILLED_SLACK) + math.sqrt(len(tops))
            square = Fraction(root * root)
    alone = sent(change.each[:, None], exponent, step)
    found = min(math.ceil(square), int(np.square(alone).sum()))
    if found >= 2**53:
        raise ValueError(
            f"a displacement changes the readings by {found**0.5:g} grains but at most 94906265 "
            "can be squared exactly, and a promise must not rest on a rounded number. Lower "
            "intensity_max."
        )
    return found


def _filled(budget: float, tops: Floats) -> Fraction:
    """Return what squares of whole numbers c, each to its top, come to at the most.

    Args:
        budget: that the sum of (c - 1)**2 does not exceed.
    """

    def cost(level: int) -> float:
        return float(np.square(np.maximum(np.minimum(tops, level), 1) - 1).sum())

    low, high = 1, max(1, int(tops.max()))
    if cost(high) > budget:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if cost(middle) <= budget else (low, middle)
    else:
        low = high
    filled = Fraction(float(np.square(np.minimum(tops, low)).sum()))
    if low == int(tops.max(initial=1)):
        return filled
    # What is left buys part of one step more, on those that may have it.
    left = Fraction(budget - cost(low)) * Fraction(2 * low + 1, 2 * low - 1)
    return filled + left * (1 + Fraction(_FILLED_SLACK))
