"""What a fleet's devices look at: the truth anew each time, or what instruments have counted.

Both are shown temperatures, and give a device's readings in grains; `physics.fleet` has one.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from ..sensors import PointSensors, grains
from . import stage
from .chain import Instruments


class Fresh:
    """Point sensors, which look anew at each reading; time does not pass for them."""

    def __init__(self, sensors: PointSensors, world: np.random.Generator) -> None:
        self._sensors, self._world = sensors, world
        self.count = len(sensors.places_m)
        self._truth = np.zeros(self.count)

    def step(self, own: slice) -> Fraction | None:
        """Return the step of these sensors' converters, in kelvin."""
        return self._sensors.step

    def show(self, temperatures: ArrayLike, at_s: float | None) -> None:
        """Set what there is to see.

        Raises:
            ValueError: as `PointSensors.truth`.
        """
        self._truth = self._sensors.truth(temperatures)

    def read(self, own: slice, exponent: int) -> tuple[int, ...]:
        """Return the readings of these sensors now, in grains. Private."""
        truth = self._truth[own]  # was checked when it was shown
        seen = truth + self._world.normal(0, self._sensors.noise_sd, truth.shape)
        return grains(seen, exponent, self._sensors.step)


class Lasting:
    """Instruments of one kind or several, which count once what they are shown.

    Args:
        kinds: one after the other, in the order of the sensors.
        empty: count of each sensor in the empty room; None lets them look at it first.

    Raises:
        ValueError: an empty room of other sensors.
    """

    def __init__(self, kinds: Sequence[Instruments], empty: Sequence[int] | None) -> None:
        self._kinds = tuple(kinds)
        self._ends = np.cumsum([kind.count for kind in self._kinds]).tolist()
        self.count = self._ends[-1] if self._ends else 0
        if empty is None:
            empty = [count for kind in self._kinds for count in kind.empty()]
        if len(empty) != self.count:
            raise ValueError(
                f"the empty room has {len(empty)} counts but there are {self.count} "
                "sensors, and each is held against its own. Record the empty room again."
            )
        self._empty = tuple(empty)
        self._counts: Sequence[int | None] = self._empty

    def step(self, own: slice) -> Fraction:
        """Return the step of these sensors' converters, in kelvin.

        Raises:
            ValueError: they are of two kinds, so no one Round is made for all of them.
        """
        first, last = (
            int(np.searchsorted(self._ends, sensor, "right"))
            for sensor in (own.start, own.stop - 1)
        )
        if first != last:
            raise ValueError(
                f"a device with sensors {own.start} to {own.stop - 1} would have "
                f"{self._kinds[first].preset.name} and {self._kinds[last].preset.name}, but a "
                "device has one converter, for which its noise is made. Enrol them apart."
            )
        return self._kinds[first].step

    def show(self, temperatures: ArrayLike, at_s: float | None) -> None:
        """Let every instrument see its part; None for as soon as all can read again.

        Raises:
            ValueError: a wrong number of temperatures, or as `Instruments.see`.
        """
        when = max((kind.next_s for kind in self._kinds), default=0.0) if at_s is None else at_s
        shown = np.asarray(temperatures, dtype=float)
        if shown.shape != (self.count,):
            raise ValueError(
                f"there are temperatures of shape {shown.shape} but {self.count} sensors, each "
                "of which sees exactly one. Is the view made for them?"
            )
        parts = np.split(shown, self._ends[:-1])
        counts: list[int | None] = []
        for kind, part in zip(self._kinds, parts, strict=True):
            counts += kind.see(part, when)
        self._counts = tuple(counts)

    def read(self, own: slice, exponent: int) -> tuple[int, ...]:
        """Return the readings of these sensors less the empty room, in grains. Private.

        Raises:
            ValueError: a reading did not come.
        """
        return stage.grains(self._counts[own], self._empty[own], exponent, self.step(own))
