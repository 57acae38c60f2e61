"""First-order lag: a sensor follows what it touches, and never at once.

    lag_s du/dt = T(t) - u

Between two samples the solution is exact, for a temperature that is held or that runs straight
from the one sample to the next. So a day in one-minute steps lags as truly as in seconds, as
far as the temperature between two samples is what was said.
"""

import math

import numpy as np

from .. import places


def straight(
    sensor: places.Floats, before: places.Floats, after: places.Floats, over_s: float, lag_s: float
) -> places.Floats:
    """Return what a sensor shows after a temperature that ran straight from before to after.

    Args:
        sensor: what it showed at the start, in kelvin.
        before, after: the temperature at the start and now, of the same shape.
        over_s: the time between the two, nought or more.
        lag_s: its time constant; nought follows at once.

    Raises:
        ValueError: a time that is negative or not a number.
    """
    _timed(over_s, lag_s)
    if lag_s == 0 or over_s == 0:
        return np.asarray(after if lag_s == 0 else sensor, dtype=float)
    gone = over_s / lag_s
    left = math.exp(-gone)
    # What it is behind a ramp, (1 - left) / gone, without cancellation where little has gone.
    behind = -math.expm1(-gone) / gone
    return np.asarray(left * sensor + (behind - left) * before + (1 - behind) * after)


def held(
    sensor: places.Floats, temperature: places.Floats, over_s: float, lag_s: float
) -> places.Floats:
    """Return what a sensor shows after a temperature that was the same all the time.

    Args, Raises: as for `straight`.
    """
    return straight(sensor, temperature, temperature, over_s, lag_s)


def _timed(over_s: float, lag_s: float) -> None:
    if not (0 <= over_s < math.inf and 0 <= lag_s < math.inf):
        raise ValueError(
            f"{over_s:g} s passed for a sensor with a lag of {lag_s:g} s but both must be nought "
            "or more and finite, for a sensor follows only what was before. Is the day in order?"
        )
