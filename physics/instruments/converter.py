"""The analogue to digital converter: temperatures to whole steps, exactly."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

# Floats decide further from a tie than this, relative to the count; fractions decide within.
_SURE = 1e-9


def quantise(temperatures: ArrayLike, step: Fraction) -> tuple[int, ...]:
    """Return the nearest whole number of steps to each temperature; a tie goes up.

        floor(temperature / step + 1/2), of the exact numbers

    The same rounding as `physics.sensors.grains`. Fractions are slow, so they are asked only
    where a float could be wrong: close to a tie.

    Args:
        temperatures: in kelvin or degrees Celsius, (sensors,), flattened.
        step: in the same unit, positive.

    Raises:
        ValueError: a step that is not positive, or a temperature that is not finite.

    >>> quantise([20.1, 20.125, -0.125], Fraction(1, 4))
    (80, 81, 0)
    """
    readings = np.asarray(temperatures, dtype=float).reshape(-1)
    if step <= 0:
        raise ValueError(
            f"step is {step} but must be positive, for it is the smallest change of temperature "
            "that the converter can tell. Give a fraction of a kelvin."
        )
    broken = np.flatnonzero(~np.isfinite(readings))
    if len(broken):
        raise ValueError(
            f"sensor {broken[0]} is at {readings[broken[0]]:g} but a temperature must be finite, "
            "for a converter counts nothing else. Is a value missing from the scene?"
        )
    steps = readings * step.denominator / step.numerator + 0.5
    down = np.floor(steps)
    above = steps - down
    close = _SURE * (1 + np.abs(steps))
    unsure = (above < close) | (above > 1 - close)
    counts = [int(count) for count in down.tolist()]
    for sensor in np.flatnonzero(unsure).tolist():
        counts[sensor] = math.floor(Fraction(float(readings[sensor])) / step + Fraction(1, 2))
    return tuple(counts)
