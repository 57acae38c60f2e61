"""The forward operator that suits a task, and in one sentence why it was chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..kernel import AnyWalls
from ..places import Floats
from .cost import Way, ways
from .direct import Direct, count
from .layout import Axes, laid_out
from .made import made, measured
from .protocol import Operator
from .vectors import room_lengths

Method: TypeAlias = Literal[
    "dense", "direct", "transform", "separable", "low rank", "near", "panels"
]

# A way that errs by more is only taken when it is wanted: where all readings are next to nought,
# what near pairs leave out may be all there is.
_GOOD = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A forward operator that says what it is.

    Args:
        operator: the operator itself.
        method: "dense", "direct", "fft", "dct", "dst", "separable", "low rank", "near" or
            "panels".
        why: one sentence with the sizes.
        error: the greatest difference from direct sums found on an even sample of the sensors,
            relative to the greatest reading, for heat in every source; 0 where they are it.
        cells: how many sources along each axis of their grid, x first; None where they are
            scattered in a plane or a room.
    """

    operator: Operator
    method: str
    why: str
    error: float
    cells: tuple[int, ...] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, sources)."""
        return self.operator.shape

    def matvec(self, heat: ArrayLike) -> Floats:
        """Return the readings, (sensors,) or (sensors, k), of heat, (sources,) or (sources, k)."""
        return self.operator.matvec(heat)

    def rmatvec(self, readings: ArrayLike) -> Floats:
        """Return the transposed operator's answer, (sources,) or (sources, k)."""
        return self.operator.rmatvec(readings)

    def columns(self, sources: ArrayLike) -> Floats:
        """Return what a unit of heat in each of these sources, (k,), leaves: (sensors, k)."""
        return self.operator.columns(sources)

    def dense(self) -> Floats:
        """Return the operator formed whole, (sensors, sources); for checks on small ones."""
        return self.operator.dense()


def forward_operator(
    sources_m: ArrayLike | Axes,
    sensors_m: ArrayLike | Axes,
    spread_m2: float,
    walls: AnyWalls = "none",
    length_m: float | Sequence[float] = 1.0,
    want: Method | None = None,
) -> Chosen:
    """Return the operator of `physics.kernel.forward` in the form that costs least.

    Args:
        sources_m, sensors_m: (k,) along a line, (k, 2) in a plane, (k, 3) in a room, or `Axes`
            of a grid; a grid that is told place by place, x fastest, is recognised.
        spread_m2: diffusivity times elapsed time, in square metres; positive.
        walls: "none", or "insulated" or "cold" for walls at 0 and `length_m` on every axis.
        length_m: between the walls; one for each axis of a room that is no cube.
        want: this method and no other; None for the cheapest by `physics.operators.cost`.

    Raises:
        ValueError: as `physics.kernel.forward`, or the method that is wanted cannot be.

    >>> places = np.arange(20000) / 20000
    >>> operator = forward_operator(places, places, spread_m2=0.05)
    >>> operator.method, operator.why, operator.error < 1e-12
    ('fft', '20000 sources, 20000 sensors: the places are even', True)
    """
    sources, sensors = laid_out("sources_m", sources_m), laid_out("sensors_m", sensors_m)
    lengths = _checked(sources, sensors, spread_m2, walls, length_m)
    if want is not None and want not in get_args(Method):
        raise ValueError(
            f"want is {want!r} but must be one of {', '.join(get_args(Method))}, for these are "
            "the operators there are. Leave it out to have the cheapest."
        )
    if not isinstance(sources, Axes) or not isinstance(sensors, Axes):
        # Beside scattered places the axes of a grid help with its rows alone.
        sensors = sensors.flat() if isinstance(sensors, Axes) else sensors
    direct = Direct(sources, sensors, spread_m2, walls, lengths)
    found = ways(sources, sensors, spread_m2, walls, lengths)
    fault = "its cost was not even reckoned"
    for way in [way for way in found if want in (None, way.method)]:
        try:
            chosen = _stated(way, direct)
        except ValueError as refused:  # what it takes was only estimated
            fault = str(refused)
            continue
        if want or chosen.error <= _GOOD:
            return chosen
    raise ValueError(
        f"want is {want!r} for {count(sources)} sources and {count(sensors)} sensors at a spread "
        f"of {spread_m2:g} but these can only have {_listed(found, want)}, for transforms need "
        "even places, panels a line, factors a grid of two axes or more, low rank heat that has "
        f"spread, near pairs heat that has not, and each must fit ({fault}). Leave `want` out."
    )


def _stated(way: Way, direct: Direct) -> Chosen:
    operator, method = made(way.method, direct)
    why = f"{direct.shape[1]} sources, {direct.shape[0]} sensors: {way.fact}"
    cells = direct.sources_m.counts if isinstance(direct.sources_m, Axes) else None
    return Chosen(operator, method, why, measured(operator, direct), cells)


def _listed(found: list[Way], want: str | None) -> str:
    return ", ".join(way.method for way in found if way.method != want)


def _checked(
    sources: Axes | Floats,
    sensors: Axes | Floats,
    spread_m2: float,
    walls: AnyWalls,
    length_m: float | Sequence[float],
) -> tuple[float, ...]:
    """Return the length of each axis, once the outermost places are known to be in order."""
    ends = []
    for places in (sources, sensors):
        lines = places.arrays() if isinstance(places, Axes) else tuple(places.T)
        ends.append(np.array([[line.min(), line.max()] for line in lines]).T)
    return room_lengths(
        ends[0], ends[1], spread_m2, walls, tuple(np.atleast_1d(length_m).tolist())
    )
