"""What a prior says of the heat of each cell before any reading: mean, square and product."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .record import Prior

Floats = NDArray[np.float64]

# Where it is not known whether all are equally warm, they go from this share of the warmest up.
COOLEST = 0.3


@dataclass(frozen=True, slots=True)
class Moments:
    """Expectations over the prior; the same for every cell and every two cells.

    Args:
        mean: of the heat of a cell.
        square: of its square.
        product: of the heats of two different cells.
    """

    mean: float
    square: float
    product: float


def moments(prior: Prior, cells: int) -> Moments:
    """Return the moments of the heat of so many open cells.

    >>> moments(Prior(2, 2), 100)
    Moments(mean=0.02, square=0.02, product=0.00020202020202020202)
    """
    numbers = np.arange(prior.fewest, min(prior.most, cells) + 1)
    singles, pairs = float(numbers.mean()), float((numbers * (numbers - 1)).mean())
    models = [_power(prior.warmest, low) for low in lows(prior)]
    power = float(np.mean([mean for mean, _ in models]))
    # Powers are independent if it is known whether they are equal: else one tells of another.
    both = float(np.mean([mean**2 for mean, _ in models]))
    square = float(np.mean([square for _, square in models]))
    ways = cells * (cells - 1)
    return Moments(
        singles * power / cells, singles * square / cells, pairs * both / ways if ways else 0.0
    )


def lows(prior: Prior) -> tuple[float, ...]:
    """Return the coolest source of each model that the prior holds to be as likely as another."""
    if prior.coolest is None:
        return prior.warmest, COOLEST * prior.warmest
    return (prior.coolest,)


def power(prior: Prior) -> float:
    """Return the mean heat of a source."""
    return float(np.mean([_power(prior.warmest, low)[0] for low in lows(prior)]))


def _power(high: float, low: float) -> tuple[float, float]:
    """Return mean and mean square of what is even between two bounds."""
    return (low + high) / 2, (low**2 + low * high + high**2) / 3
