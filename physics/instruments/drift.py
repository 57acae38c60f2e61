"""1/f drift: the slow wander of a sensor's zero, as a sum of random walks that are held back.

    drift(t) = sum over octaves j of x_j(t),   each an Ornstein-Uhlenbeck process
    cov(x_j(t), x_j(t + lag)) = deviation**2 / octaves * exp(-|lag| / time_j),  time_j = 2**j s

Equal shares in each octave of time give a density of 1/f well inside the corners, within 4 % from
1e-4 to 1e-2 Hz, and the law of the sum is known exactly at every lag: nothing that is sampled from
it, at whatever times, is approximate.

Source: the superposition of relaxations is van der Ziel 1950; exact sampling, Gillespie 1996.
"""

import math

import numpy as np

from .. import places

OCTAVES = 17  # of time constants from 1 s to 65536 s, most of a day
TIMES_S = 2.0 ** np.arange(OCTAVES)


def autocovariance(deviation_k: float, lag_s: float) -> float:
    """Return the covariance of the drift with itself so much later, in K2."""
    return float(deviation_k**2 * np.exp(-abs(lag_s) / TIMES_S).mean())


def density(deviation_k: float, frequency_hz: places.Floats) -> places.Floats:
    """Return the power of the drift at each frequency, positive and negative ones, in K2/Hz."""
    turns = (2 * math.pi * np.multiply.outer(frequency_hz, TIMES_S)) ** 2
    return np.asarray(deviation_k**2 * (2 * TIMES_S / (1 + turns)).mean(axis=-1))


class Drift:
    """The drift of some sensors, each its own, from a start that is already stationary.

    Args:
        deviation_k: standard deviation at any one time.
        count: how many sensors.
        world: makes it.
    """

    def __init__(self, deviation_k: float, count: int, world: np.random.Generator) -> None:
        self._each = deviation_k / math.sqrt(OCTAVES)
        self._world = world
        self._at_s: float | None = None
        self._parts = np.zeros((OCTAVES, count))

    def at(self, at_s: float) -> places.Floats:
        """Return the drift of each sensor, (count,), in kelvin; times only go forward.

        Raises:
            ValueError: a time before that of the last call.
        """
        gone = math.inf if self._at_s is None else at_s - self._at_s
        if not gone >= 0:
            raise ValueError(
                f"the drift at {at_s:g} s was asked after that at {self._at_s:g} s but times "
                "must go forward, for what is drawn later depends on it. Sort the times."
            )
        left = np.exp(-gone / TIMES_S)[:, None]
        fresh = self._world.standard_normal(self._parts.shape)
        self._parts = left * self._parts + self._each * np.sqrt(1 - left**2) * fresh
        self._at_s = at_s
        return np.asarray(self._parts.sum(axis=0))
