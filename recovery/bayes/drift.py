"""Sensors that drift together: an offset that all share, and a slope across the room.

What is not known of the drift is noise that all sensors have in common. With basis D, whose
columns are the drift of one deviation, in units of each sensor's own noise,

    covariance = I + D D',   D = U S W',   covariance**(-1/2) = I - U (1 - (1 + S**2)**(-1/2)) U'

so drift is taken out by a handful of products, and what is left has unit noise again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Drift:
    """What is taken out of readings and operator before anything is inferred.

    Args:
        basis: D, (sensors, 1 + axes), in kelvin: the offset, then a slope for each axis.
        sigma: deviation of each sensor's own noise, in kelvin.
    """

    basis: Floats
    sigma: float

    def whitened(self, seen: Floats) -> Floats:
        """Return readings or operator, sensors first, with noise as if no sensor drifted."""
        if not self.basis.any():
            return seen
        left, sizes, _ = np.linalg.svd(self.basis / self.sigma, full_matrices=False)
        # 1 - 1 / sqrt(1 + S**2), without losing its digits where S is small.
        root = np.sqrt(1 + sizes**2)
        less = sizes**2 / (root * (1 + root))
        return np.asarray(
            seen
            - left
            @ (less[:, None] * (left.T @ seen.reshape(len(seen), -1))).reshape(-1, *seen.shape[1:])
        )

    def expected(self, residual: Floats) -> Floats:
        """Return the drift's terms that a residual, (sensors,), speaks for, (1 + axes,).

        In deviations, so that basis @ terms is the drift.

        The mean of a Gaussian given what it was seen to add up to: (D'D + sigma**2)**-1 D'r.
        """
        inner = self.basis.T @ self.basis + self.sigma**2 * np.eye(self.basis.shape[1])
        return np.asarray(np.linalg.solve(inner, self.basis.T @ residual))


def drift(sensors: Floats, offset: float, slope: float, sigma: float) -> Drift:
    """Return the drift of sensors at these places.

    Args:
        sensors: where they stand, (sensors, axes).
        offset: deviation of what all of them are off by, in kelvin; 0 for none.
        slope: deviation of how much more the sensor at one end is off than the one at the
            other, in kelvin, along each axis; 0 for none.
        sigma: deviation of each sensor's own noise, in kelvin.
    """
    lowest, highest = sensors.min(axis=0), sensors.max(axis=0)
    wide = np.where(highest > lowest, highest - lowest, 1.0)
    across = (sensors - (lowest + highest) / 2) / wide
    return Drift(np.column_stack([np.full(len(sensors), offset), slope * across]), sigma)
