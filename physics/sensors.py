"""Virtual point sensors: what a real thermometer would say of a temperature.

The order is that of a real device: the sensor's own noise, the steps of its analogue to
digital converter, then the whole-number grains in which the veil is drawn. A sensor's own
noise is part of the world and never credited to privacy: nobody has promised its law.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from .places import Floats

# A low-rank operator may leave minus this much, relative to the warmest sensor, where the
# truth is nought.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class PointSensors:
    """Sensors that each see the temperature of one place.

    Args:
        places_m: where they stand, (sensors,) along a line, (sensors, 2) in a plane.
        noise_sd: standard deviation of a sensor's own noise, in kelvin; nought or more.
        step: of the converter, in kelvin, exact; None where it is finer than any grain.
        behind: counts of another converter, whose whole counts that one sees; 0 without.

    Raises:
        ValueError: a noise that is negative or not finite, a step that is not positive, or
            `behind` that is negative or without a step.
    """

    places_m: Floats
    noise_sd: float = 0.0
    step: Fraction | None = None
    behind: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not 0 <= self.noise_sd < math.inf:
            raise ValueError(
                f"noise_sd is {self.noise_sd:g} but must be nought or more and finite, for it "
                "is a standard deviation in kelvin. Give 0 for a perfect sensor."
            )
        if self.step is not None and self.step <= 0:
            raise ValueError(
                f"step is {self.step} but must be positive, for it is the smallest change of "
                "temperature that the converter can tell. Give None for an endless fineness."
            )
        if self.behind < 0 or (self.behind and self.step is None):
            raise ValueError(
                f"behind is {self.behind} but must be 0, or positive beside a step: it is of the "
                "converter behind that one. Correct it."
            )

    def check_temperatures(self, temperatures: ArrayLike) -> Floats:
        """Return the temperatures, (sensors,), as an array, if they can be.

        Raises:
            ValueError: a wrong number of them, or one that is negative or not finite.
        """
        truth = np.asarray(temperatures, dtype=float)
        if truth.shape != (len(self.places_m),):
            raise ValueError(
                f"there are temperatures of shape {truth.shape} but {len(self.places_m)} "
                "sensors, each of which sees exactly one. Is the operator made for them?"
            )
        _check_finite(truth)
        if (truth < -_ROUNDING * np.abs(truth).max(initial=0)).any():
            sensor = int(truth.argmin())
            raise ValueError(
                f"sensor {sensor} is to see {truth[sensor]:g} K above the baseline but heat only "
                "warms here, so the truth must be nought or more. Is a source negative?"
            )
        return truth

    def measure(self, temperatures: ArrayLike, world: np.random.Generator) -> Floats:
        """Return the temperatures with the sensors' own noise, in kelvin above the baseline.

        Noise may push a cold sensor a little below nought. That is what real sensors do, and
        no fault.

        Args:
            temperatures: the truth at each sensor, (sensors,), as an operator gives it.
            world: where the noise comes from; physics alone, never the veil.

        Raises:
            ValueError: as `check_temperatures`.
        """
        truth = self.check_temperatures(temperatures)
        return np.asarray(truth + world.normal(0, self.noise_sd, truth.shape))


def to_grains(
    temperatures: ArrayLike,
    exponent: int,
    step: Fraction | None = None,
    behind: Fraction = Fraction(0),
) -> tuple[int, ...]:
    """Return the readings as whole grains of 2**-exponent kelvin.

    The converter counts whole steps first, and the grains are made from its count: a device
    never sees what lies between two counts, and the noise is scaled with that order. Both
    roundings are exact and go to the nearest, a tie upwards: floor(x + 1/2).

    Args:
        temperatures: in kelvin above the baseline, (sensors,), below nought allowed.
        exponent: a grain is 2**-exponent kelvin; may be negative.
        step: of the converter, in kelvin, or None.
        behind: counts of the converter before that one, in kelvin, or 0.

    Raises:
        ValueError: a temperature that is not finite.

    >>> to_grains([0.51, -0.5, 0.1], exponent=2)
    (2, -2, 0)
    >>> to_grains([0.51], exponent=2, step=Fraction(1, 1))
    (4,)
    """
    readings = np.asarray(temperatures, dtype=float).reshape(-1)
    _check_finite(readings)
    if step is None:
        return tuple(
            _round_to_grain(count.as_integer_ratio(), exponent) for count in readings.tolist()
        )
    seen = [Fraction(kelvin) for kelvin in readings.tolist()]
    if behind:
        seen = [_round_half_up(kelvin / behind) * behind for kelvin in seen]
    counts = [_round_half_up(kelvin / step) * step for kelvin in seen]
    return tuple(_round_to_grain(count.as_integer_ratio(), exponent) for count in counts)


def _round_to_grain(ratio: tuple[int, int], exponent: int) -> int:
    """Return the whole grain of 2**-exponent that is nearest to num/den, a tie upwards."""
    num, den = ratio
    if exponent >= 0:
        num <<= exponent
    else:
        den <<= -exponent
    return (2 * num + den) // (2 * den)


def _round_half_up(number: Fraction) -> int:
    return math.floor(number + Fraction(1, 2))


def _check_finite(readings: Floats) -> None:
    broken = np.flatnonzero(~np.isfinite(readings))
    if len(broken):
        raise ValueError(
            f"sensor {broken[0]} reads {readings[broken[0]]:g} but a reading must be a finite "
            "number of kelvin, for noise cannot hide what is no number. Is the sensor broken, "
            "or a value missing from the scene?"
        )
