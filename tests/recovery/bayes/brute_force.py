"""The posterior of a few sources by looking at every scene there is: the oracle of samplers."""

from dataclasses import dataclass
from itertools import combinations, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from recovery.estimators.record import Seen

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Everything:
    """What all scenes together say: chances of numbers and of cells, mean shares, evidence."""

    numbers: Floats
    present: Floats
    mean_share: Floats
    log_evidence: float


def brute_force(seen: Seen, low: float, points: int = 1) -> Everything:
    """Weigh every set of open cells, with powers at the middles of so many even intervals."""
    cells = seen.operator.shape[1]
    found = range(cells) if seen.open is None else np.flatnonzero(seen.open)
    prior = seen.prior
    steps = low + (prior.warmest - low) * (np.arange(points) + 0.5) / points
    logs, shares, present, numbers = [], [], [], []
    for number in range(prior.fewest, prior.most + 1):
        heats = np.array(list(product(steps, repeat=number))).reshape(points**number, number)
        weight = -np.log(prior.most - prior.fewest + 1) - np.log(comb(len(found), number))
        for some in combinations(found, number):
            left = seen.readings - heats @ seen.operator[:, list(some)].T
            fit = -0.5 * np.square(left).sum(axis=1) / seen.sigma**2
            top = fit.max()
            chance = np.exp(fit - top)
            logs.append(top + np.log(chance.mean()) + weight)
            heat = np.zeros(cells)
            if number:
                heat[list(some)] = chance @ (heats / heats.sum(axis=1, keepdims=True))
                heat /= chance.sum()
            shares.append(np.cumsum(heat))
            numbers.append(number)
            present.append(np.isin(np.arange(cells), some))
    weights = np.exp(np.array(logs) - max(logs))
    total = weights.sum()
    weights /= total
    return Everything(
        np.bincount(numbers, weights, prior.most + 1),
        weights @ np.array(present, dtype=float),
        weights @ np.array(shares),
        float(max(logs) + np.log(total)),
    )
