"""The steps of Theorem 9's proof: what each sensor weighs, and how far heat can then lie.

Weigh the readings so that heat at a source weighs most. Least heat that weighs nearly as much
as the truth then lies nearly where the truth does.
"""

import math

import numpy as np
from numpy.typing import NDArray

from physics.kernel import heat_kernel

Floats = NDArray[np.float64]


def weights_at(sensors: Floats, source: float, spread: float) -> Floats | None:
    """Return what each sensor within sqrt(T / 2) of the source counts, or None if none can.

    They are paired, the farthest on the left with the nearest on the right, and each counts
    as much as the reading of the other changes with the source's place: so the weighted
    reading is greatest for heat at the source itself. Source: Lemma 14, W_ij.
    """
    reach = math.sqrt(spread / 2)
    order = np.argsort(sensors)
    away = sensors[order] - source
    left, right = order[(away < 0) & (away >= -reach)], order[(away > 0) & (away <= reach)]
    pairs = min(len(left), len(right))
    if not pairs:
        return None
    left, right = left[-pairs:], right[:pairs]
    weights = np.zeros(len(sensors))
    slope = np.abs(sensors - source) * heat_kernel(sensors - source, spread) / (2 * spread)
    weights[left], weights[right] = slope[right], slope[left]
    return weights


def farthest(budget: float, missing: Floats, away: Floats) -> float:
    """Return the largest mean of `away` over shares of cells whose mean of `missing` fits.

    Its dual has one price: the least over price of price budget + max (away - price missing).
    """
    low, high = 0.0, float((away[away > 0] / missing[away > 0]).max(initial=0.0))

    def dual(price: float) -> float:
        return price * budget + float((away - price * missing).max())

    for _ in range(200):  # a convex function of one number, by thirds
        third = (high - low) / 3
        if dual(low + third) <= dual(high - third):
            high -= third
        else:
            low += third
    return dual((low + high) / 2)


def inequality_2(
    excess: float,
    missing: Floats,
    away: Floats,
    near: NDArray[np.bool_],
    count: int,
    length: float,
) -> float:
    """Return the paper's inequality (2), its constants in the unit where C_4 is one."""
    if excess >= 1:
        return length
    inner = near & (away > 0)
    curve = float((missing[inner] / away[inner] ** 2).min(initial=math.inf))
    beyond = float(missing[~near].min(initial=math.inf))
    kept = 1 - excess
    within = math.sqrt(excess / curve) / (count * kept)
    return within + length * (count * excess / kept + min(1.0, excess / beyond) / (count * kept))
