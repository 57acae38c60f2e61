"""Least squares between bounds, with a price on heat, by an active set whose steps are exact.

    minimise  ||B f - c||**2 / 2 + price sum(f)   with  0 <= f <= upper

With B_P = Q R over the cells P that are neither empty nor full, and d the readings less what
full cells explain, the least over P lies at R^-1 (Q'd - price R^-T 1). Cells that pull more than
the price join, those that reach a bound leave, and the objective falls with each.

Source: Lawson and Hanson 1974, chapter 23; Stark and Parker 1995 for the upper bound.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

Floats = NDArray[np.float64]

_EMPTY, _FREE, _FULL = 0, 1, 2
# A cell that pulls more than the price by less than this, in units of the greatest pull at the
# start, stays where it is; and a column that adds less of its length than this adds nothing.
_PULL, _DEPENDENT = 1e-12, 1e-11


def bounded(operator: Floats, readings: Floats, upper: float, price: float) -> Floats:
    """Return the heat of the least objective, (cells,), but for roundings.

    Whoever calls it computes the gap: after many steps without an end, which roundings could
    cause, the heat of the last one is returned.
    """
    cells = operator.shape[1]
    heat, state = np.zeros(cells), np.zeros(cells, dtype=np.int8)
    refused = np.zeros(cells, dtype=bool)
    least = _PULL * float(np.abs(readings @ operator).max())
    for _ in range(10 * cells + 100):
        held = np.flatnonzero(state)
        left = readings - operator[:, held] @ heat[held]
        pull = left @ operator - price
        gain = np.where(state == _EMPTY, pull, np.where(state == _FULL, -pull, -np.inf))
        gain[refused] = -np.inf
        joins = int(gain.argmax())
        if gain[joins] <= least:
            break
        before = int(state[joins])
        state[joins] = _FREE
        if _settled(operator, readings, upper, price, heat, state, joins):
            refused[:] = False
        else:  # it is where the others already are, or pulls by rounding alone
            state[joins], refused[joins] = before, True
    return heat


def _settled(
    operator: Floats,
    readings: Floats,
    upper: float,
    price: float,
    heat: Floats,
    state: NDArray[np.int8],
    joins: int,
) -> bool:
    """Move the free cells to their least, step by step between the bounds; False if it cannot."""
    start = heat[joins]
    first = True
    while (state == _FREE).any():
        free, full = np.flatnonzero(state == _FREE), np.flatnonzero(state == _FULL)
        basis, factor = np.linalg.qr(operator[:, free])
        lengths = np.linalg.norm(operator[:, free], axis=0)
        if len(free) > len(readings) or (np.abs(np.diag(factor)) < _DEPENDENT * lengths).any():
            return not first
        rest = (readings - upper * operator[:, full].sum(axis=1)) @ basis
        rest -= price * solve_triangular(factor, np.ones(len(free)), trans="T")
        target = solve_triangular(factor, rest)
        step = target - heat[free]
        wrong = step[free == joins] * (1 if start == 0 else -1) <= 0
        if first and wrong.any():
            return False
        first = False
        room = np.where(step > 0, upper - heat[free], heat[free])
        lengths = np.where(step != 0, room / np.maximum(np.abs(step), 1e-300), np.inf)
        if lengths.min() > 1:
            heat[free] = target
            return True
        heat[free] += lengths.min() * step
        stops = free[lengths <= lengths.min() * (1 + 1e-12)]
        up = step[lengths <= lengths.min() * (1 + 1e-12)] > 0
        state[stops] = np.where(up, _FULL, _EMPTY)
        heat[stops] = np.where(up, upper, 0.0)
    return True
