"""The privacy that whole-number noise really gives, from its own probabilities.

Neighbours differ by whole numbers d_j on sensor j. What an answer gives away is its loss, the
logarithm of how much likelier the one made it than the other, and

    delta = sum over losses l > epsilon of P(l) (1 - exp(epsilon - l))

is exact. Along one sensor the sum is taken as it stands. Over several, and over many readings,
losses add up, so their laws are convolved on a fine grid, each loss rounded up: then delta can
come out too large by what the grid is wide, and never too small.

Source: Canonne, Kamath and Steinke 2020, Theorem 7; Koskela and others 2020 for the grid.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

Floats = NDArray[np.float64]

FAR = 13.0  # sigmas that are summed; beyond, with 1e-37, all is taken to be given away
BLUR = 4e-4  # what the rounding of all losses of a reading may add to epsilon
MOST = 1 << 22  # points of the grid
FLOATS = 1e-11  # what the transform may lose of a probability


class Losses(NamedTuple):
    """The law of what is given away: losses, growing, with their probabilities."""

    losses: Floats
    probabilities: Floats


def discrete_gaussian(variance: float, times: int = 1) -> tuple[NDArray[np.int64], Floats]:
    """Return the values and probabilities of a sum of so many discrete Gaussians."""
    reach = math.ceil(FAR * math.sqrt(variance)) + 1
    one = np.exp(-np.square(np.arange(-reach, reach + 1.0)) / (2 * variance))
    one /= one.sum()
    if times == 1:
        return np.arange(-reach, reach + 1), one
    reach_all = math.ceil(FAR * math.sqrt(variance * times)) + 1
    values = np.arange(-reach_all, reach_all + 1)
    size = next_fast_len(2 * times * reach + 1, real=True)
    total = np.fft.irfft(np.fft.rfft(one, size) ** times, size)
    middle = times * reach
    return values, np.maximum(total[middle - reach_all : middle + reach_all + 1], 0)


def along_one(shift: int, variance: float) -> Losses:
    """Return the exact losses of one sensor whose reading moves by so many grains."""
    values, probabilities = discrete_gaussian(variance)
    losses = shift * (2.0 * values + shift) / (2 * variance)
    return Losses(np.asarray(losses, dtype=np.float64), probabilities)


def together(
    shifts: Sequence[int], variance: float, readings: int = 1, blur: float = BLUR
) -> Losses:
    """Return the losses of sensors that move by so many grains each, rounded up to a grid.

    Raises:
        ValueError: the grid would be too large to be fine enough.
    """
    groups = Counter(abs(shift) for shift in shifts if shift)
    square = sum(count * shift * shift for shift, count in groups.items()) * readings
    apart = math.sqrt(square / variance)
    width = blur / max(1, len(groups))
    reach = math.ceil((FAR * apart + apart * apart / 2) / width) + len(groups) + 1
    size = 1 << (2 * reach).bit_length()
    if size > MOST:
        raise ValueError(
            f"{len(groups)} shifts {apart:.3g} sigmas apart need {size} points of a grid but "
            f"{MOST} are the most: fewer would blur the bound. Take a smaller room."
        )
    total = np.ones(size // 2 + 1, dtype=np.complex128)
    for shift, count in groups.items():
        times = count * readings
        values, probabilities = discrete_gaussian(variance, times)
        losses = shift * (2.0 * values + times * shift) / (2 * variance)
        places = np.ceil(losses / width - 1e-9).astype(np.int64)
        one = np.bincount(places % size, weights=probabilities, minlength=size)
        total *= np.fft.rfft(one)
    law = np.maximum(np.roll(np.fft.irfft(total, size), size // 2), 0)
    grid = np.arange(-(size // 2), size // 2) * width
    return Losses(np.asarray(grid, dtype=np.float64), law)


def delta(epsilon: float, found: Losses) -> float:
    """Return the delta at this epsilon; what was cut off is taken to be given away."""
    over = found.losses > epsilon
    given = found.probabilities[over] * -np.expm1(epsilon - found.losses[over])
    return float(given.sum()) + FLOATS


def epsilon(at_delta: float, found: Losses) -> float:
    """Return the least epsilon whose delta is at most this one; infinity where there is none."""
    if delta(float(found.losses[-1]), found) > at_delta:
        return math.inf
    return bisected(lambda e: delta(e, found) - at_delta, 0.0, float(found.losses[-1]))


def bisected(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function comes below nought, rounded up; `low` if it is already."""
    if falling(low) <= 0:
        return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high
