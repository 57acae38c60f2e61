"""Each kind of forward operator made, and how far it is from direct sums."""

import numpy as np

from .direct import Dense, Direct
from .layout import Axes
from .near import forward_near
from .panels import forward_panels
from .protocol import Operator
from .separable import forward_separable
from .thin import forward_thin
from .uniform import forward_uniform

# The stated error is measured on so many kernel values, and on at least four sensors.
_PROBED = 1 << 21


def made(method: str, direct: Direct) -> tuple[Operator, str]:
    """Return the operator by this method, and which transform where it is one.

    Raises:
        ValueError: it cannot be.
    """
    places = direct.sources_m, direct.sensors_m
    given = direct.spread_m2, direct.walls, direct.lengths_m
    if method == "dense":
        return Dense(direct.dense()), method
    if method == "direct":
        return direct, method
    if method in ("transform", "separable"):
        along = [part.arrays() for part in places if isinstance(part, Axes)]
        if method == "separable":
            return forward_separable(along[0], along[1], *given), method
        uniform = forward_uniform(along[0], along[1], *given)
        if uniform is None:
            raise ValueError("the places are not even")
        return uniform, uniform.method
    flat = [part.flat() if isinstance(part, Axes) else part for part in places]
    there, here = (part.reshape(len(part), -1) for part in flat)
    if method == "panels":
        return forward_panels(there[:, 0], here[:, 0], *given[:2], given[2][0]), method
    return (forward_thin if method == "low rank" else forward_near)(there, here, *given), method


def measured(operator: Operator, direct: Direct) -> float:
    """Return the operator's error as `Chosen` states it."""
    if isinstance(operator, Dense | Direct):
        return 0.0
    sensors, sources = direct.shape
    rows = min(sensors, max(4, min(64, _PROBED // sources)))
    some = np.unique(np.linspace(0, sensors - 1, rows).astype(np.intp))
    # Multiples of the golden section: heat that is nowhere alike, and the same at every run.
    heat = np.arange(1, sources + 1) * ((5**0.5 - 1) / 2) % 1.0
    readings, truth = operator.matvec(heat), direct.rows(some) @ heat
    largest = max(float(np.abs(readings).max()), float(np.abs(truth).max()))
    return float(np.abs(readings[some] - truth).max()) / largest if largest else 0.0
