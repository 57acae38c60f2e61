"""Least squares between bounds with a price on squared heat too, in the space of the readings.

    minimise  ||B f - c||**2 / 2 + price sum(f) + ridge ||f||**2 / 2   with  0 <= f <= upper

Its dual has one unknown for each direction that is heard, whatever the number of cells:

    maximise  nu'c - ||nu||**2 / 2 - sum_j max over 0 <= x <= upper of (q_j x - ridge x**2 / 2),
    q = B'nu - price

The top is where nu = c - B f with f = q / ridge, cut off at the bounds. It is a parabola
wherever no cell reaches or leaves a bound, so Newton's steps end on it after a few.

Source: Qi and Sun 1993, semismooth Newton; Rockafellar 1970, section 31, for the dual.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STEPS = 100


def ridged(
    operator: Floats,
    readings: Floats,
    upper: float,
    price: float,
    ridge: float,
    start: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return the heat, (cells,), and nu, (r,), but for roundings; whoever calls computes the gap.

    Args:
        operator: B, (r, cells). readings: c, (r,).
        price: at least 0. ridge: positive.
        start: nu of a ridge near by.
    """

    def at(nu: Floats) -> tuple[Floats, float]:
        pull = nu @ operator - price
        heat = np.clip(pull / ridge, 0.0, upper)
        gain = float(heat @ (pull - ridge / 2 * heat))
        return heat, float(nu @ readings - nu @ nu / 2) - gain

    nu = np.zeros(len(readings)) if start is None else start
    heat, value = at(nu)
    if value < 0:  # worse than none: from far off steps are many
        nu = np.zeros(len(readings))
        heat, value = at(nu)
    for _ in range(_STEPS):
        free = operator[:, (heat > 0) & (heat < upper)]
        slope = readings - nu - operator @ heat
        step = np.linalg.solve(np.eye(len(nu)) + free @ free.T / ridge, slope)
        rise, length = float(slope @ step), 1.0
        if rise <= 1e-15 * float(readings @ readings):
            break
        trial = at(nu + step)
        while trial[1] < value + length * rise / 4 and length > 1e-9:
            length /= 2
            trial = at(nu + length * step)
        nu, (heat, value) = nu + length * step, trial
    return heat, nu
