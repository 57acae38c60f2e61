"""Pairs of columns along one axis, from its transform: what the sensitivity of a grid needs.

Without walls all columns are windows of one kernel, so the sums over sensors are running sums.
With a sensor in every cell between walls the columns are waves, and

    ||A_i - A_j||**2 = sum over modes m of w_m**2 (c_m(i) - c_m(j))**2

where the difference of two cosines is a product of two sines: nothing cancels, and the sum over
modes is one more transform. Else the columns themselves are formed.
"""

import numpy as np

from ..places import Floats
from .even import Even
from .modes import Modes
from .separable_moves import Pair, pair
from .uniform import Line

# Columns of one axis are formed up to this many numbers, a quarter of a gigabyte.
_MOST = 1 << 25


def line_pair(line: Line, move: int) -> Pair:
    """Return the pairs of columns of this axis that a move along it joins.

    Raises:
        ValueError: the columns would have to be formed and are too many.
    """
    if isinstance(line, Modes) and line.whole:
        return _waves(line, move)
    if isinstance(line, Even) and line.mirrored is None:
        return _windows(line, move)
    if line.shape[0] * line.shape[1] > _MOST:
        raise ValueError(
            f"an axis has {line.shape[1]} cells and {line.shape[0]} sensors between walls, which "
            f"takes more than {_MOST} numbers, for only with a sensor in every cell, or no walls, "
            "is the transform enough. Take the sensitivity from thin factors (want='low rank')."
        )
    return pair(line.along(np.eye(line.shape[1]), 0), move)


def _windows(line: Even, move: int) -> Pair:
    """Column i is the kernel from place last - i * every on, one in so many numbers of it."""
    steps, kernel = line.steps, line.kernel
    shift = abs(move) * steps.source_every
    early, late = kernel[: len(kernel) - shift], kernel[shift:]
    here, there = (late, early) if move > 0 else (early, late)
    difference, mean = here - there, (here + there) / 2
    # A move up the line makes the windows begin so much earlier in what is left of the kernel.
    start = np.arange(max(0, -move), steps.sources - max(0, move))
    first = (steps.sources - 1 - max(0, move) - start) * steps.source_every
    products = difference**2, mean**2, difference * mean
    return Pair(*(_sums(part, first, steps.sensor_every, steps.sensors) for part in products))


def _sums(values: Floats, first: np.ndarray, every: int, count: int) -> Floats:
    """Return the sum of `count` values, one in so many, from each of these places on."""
    padded = np.append(values, np.zeros(-len(values) % every)).reshape(-1, every)
    # One row of noughts before: a window may begin at the very first value.
    running = np.cumsum(np.vstack([np.zeros(every), padded]), axis=0).ravel()
    return np.asarray(running[first + count * every] - running[first])


def _waves(line: Modes, move: int) -> Pair:
    cells = len(line.values)
    mode = np.arange(cells) + (1 if line.cold else 0)
    power = line.values**2 * np.where(mode % cells == 0, 1.0, 2.0) / cells
    half = np.pi * mode * move / (2 * cells)
    far, near = np.sin(half) ** 2, np.cos(half) ** 2
    # At the point between the two cells: c(i) - c(j) = 2 sin sin, c(i) + c(j) = 2 cos cos.
    phase = np.exp(1j * np.pi * mode * (1 + move) / cells)
    sign = -1.0 if line.cold else 1.0

    def over(weights: Floats) -> np.ndarray:
        spectrum = np.zeros(cells, dtype=complex)
        spectrum[mode % cells] = weights * phase
        return np.asarray(np.fft.ifft(spectrum) * cells)

    apart = 2 * ((power * far).sum() - sign * over(power * far).real)
    middle = ((power * near).sum() + sign * over(power * near).real) / 2
    cross = sign * over(power * np.sin(2 * half)).imag / 2
    held = slice(max(0, -move), cells - max(0, move))
    return Pair(np.maximum(apart, 0)[held], np.maximum(middle, 0)[held], cross[held])
