"""The median with noise as large as the data near it make needful: smooth sensitivity.

How far the median of values in [0, 1] moves where k more of them are replaced, discounted by
e^(-k beta), bounds what one user can do to it and to the bound itself:

    S = max over k of e^(-k beta) max over t of (x[m + t] - x[m + t - k - 1])

with 0 and 1 beyond the ends. The paper says not which noise it takes; both are here:

    pure   beta = epsilon / 10, noise 10 S / epsilon times Z of density 1 / (1 + |z|^4)
    delta  beta = epsilon / (2 ln(2 / delta)), noise 2 S / epsilon times Laplace's

Notion of privacy: central, epsilon or (epsilon, delta); one value replaced. In floats and for
experiments: nothing is released by it.

Source: Nissim, Raskhodnikova and Smith 2007, as paper 004 uses it in Section 6.3.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_TAIL = 5  # gamma + 1, of the density 1 / (1 + |z|^gamma), gamma 4


def smooth_sensitivity(values: ArrayLike, beta: float) -> float:
    """Return S of the median; values beyond [0, 1] count as the nearest.

    >>> smooth_sensitivity([0.0, 0.5, 1.0], 50.0)
    0.5
    """
    given = np.sort(np.clip(np.asarray(values, np.float64), 0, 1))
    n = len(given)
    middle, found = (n - 1) // 2, 0.0
    padded = np.concatenate([np.zeros(n + 2), given, np.ones(n + 2)])
    for k in range(n + 1):
        if math.exp(-k * beta) <= found:  # nothing is farther than 1
            break
        high = padded[n + 2 + middle : n + 2 + middle + k + 2]
        low = padded[n + 2 + middle - k - 1 : n + 2 + middle + 1]
        found = max(found, math.exp(-k * beta) * float(np.max(high - low)))
    return found


def find_noise_scale(values: ArrayLike, epsilon: float, delta: float | None = None) -> float:
    """Return what the noise is multiplied by: pure without a delta."""
    if delta is None:
        return 2 * _TAIL / epsilon * smooth_sensitivity(values, epsilon / (2 * _TAIL))
    beta = epsilon / (2 * math.log(2 / delta))
    return 2 / epsilon * smooth_sensitivity(values, beta)


def compute_heavy_quantiles(chances: ArrayLike) -> Floats:
    """Return the quantiles of the density proportional to 1 / (1 + |z|^4).

    >>> compute_heavy_quantiles([0.5, 0.75]).round(3)
    array([0.   , 0.566])
    """
    places = np.sinh(np.linspace(-15, 15, 60_001))
    return np.interp(np.asarray(chances, float), _compute_cdf(places), places)


def _compute_cdf(z: Floats) -> Floats:
    root = math.sqrt(2)
    square = np.square(z) + 1
    logs = np.log((square + root * z) / (square - root * z)) / (4 * root)
    turns = (np.arctan(root * z + 1) + np.arctan(root * z - 1)) / (2 * root)
    return np.asarray(0.5 + (logs + turns) * root / math.pi)
