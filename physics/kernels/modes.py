"""The modes of a line between two walls: the shapes of warmth that fade without changing.

    X(x) = cos(b x - atan(H0/b)) / norm,   b L = k pi + atan(H0/b) + atan(HL/b),   k = 0, 1, 2...

with H the loss of a wall over the diffusivity, in 1/m: 0 where it is insulated, infinity where
it is kept at the baseline. A mode fades as exp(-s b**2), s the spread.

Source: Carslaw and Jaeger 1959, Section 3.11, in its phase form, in which each k has one root.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..places import Floats

# exp(-46) is 1e-20: a term so small is lost in the sum of the others.
NEGLIGIBLE = 46.0
_HALVINGS = 64


class Modes(NamedTuple):
    """The modes of one line, the slowest first, where sources and sensors stand.

    Args:
        rates: b of each mode, in 1/m.
        at_sources, at_sensors: (modes, places), with integral of the square one.
    """

    rates: Floats
    at_sources: Floats
    at_sensors: Floats

    def kernel(self, spread: float) -> Floats:
        """Return (sensors, sources), what is left of the modes at a spread."""
        fading = np.exp(-spread * np.square(self.rates))
        return np.asarray((self.at_sensors.T * fading) @ self.at_sources)


def modes(
    sources: Floats, sensors: Floats, spread: float, near: float, far: float, length: float
) -> Modes:
    """Return the modes that are left at this spread and later, to 1e-20 of the slowest."""
    last = math.ceil(math.sqrt(NEGLIGIBLE / spread) * length / math.pi)
    rates = mode_rates(last + 1, near, far, length)
    # The integral of the squared mode; each wall adds half of H / (b**2 + H**2).
    norms = length / 2 + (_bulge(rates, near) + _bulge(rates, far)) / 2
    if near == far == 0:
        norms = np.where(rates == 0, length, norms)  # the mean does not swing
    phase = np.arctan2(near, rates)[:, None]
    scale = 1 / np.sqrt(norms)[:, None]
    return Modes(
        rates,
        scale * np.cos(np.outer(rates, sources) - phase),
        scale * np.cos(np.outer(rates, sensors) - phase),
    )


@lru_cache(maxsize=256)  # the same walls at many spreads
def mode_rates(count: int, near: float, far: float, length: float) -> Floats:
    """Return the rates b of the first modes, by halving: each grows with b, so has one root.

    The phases of both walls are between 0 and pi / 2, and fall with b.
    """
    low = math.pi / length * np.arange(count)
    high = low + math.pi / length
    # An angle is below its tangent, so the slowest has b**2 L <= H0 + HL: halved from there it
    # is exact however little the walls lose.
    high[:1] = min(high[0], math.sqrt((near + far) / length))
    if near == far == 0 or near == far == math.inf:
        rates = low if near == 0 else high  # no root to look for
    else:
        whole = low * length
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            over = middle * length - np.arctan2(near, middle) - np.arctan2(far, middle) > whole
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        rates = (low + high) / 2
    rates.setflags(write=False)  # shared by every caller
    return np.asarray(rates)


def _bulge(rates: Floats, loss: float) -> Floats:
    if loss == 0 or math.isinf(loss):
        return np.zeros_like(rates)
    size = np.hypot(rates, loss)  # the square of a very small or great loss would be lost
    return np.asarray(loss / size / size)
