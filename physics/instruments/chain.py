"""From a temperature to the count of a converter, in the order of a real device.

    optics       a view of the field: `views`, before anything here
    lag          what the sensor itself has come to
    zero         its offset for life, and its drift
    noise        white, fresh in each reading
    converter    whole steps of absolute temperature
    drop-out     the reading that does not come

Then comes the privacy stage, where the device has it: `stage`. Nothing here is credited to it.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from .. import places
from .converter import quantise
from .drift import Drift
from .lag import straight
from .levels import complete, middle
from .records import FINEST, Preset
from .records import Counts as Counts

# Readings that come this much of a conversion too early, by rounding of times, are in time.
_EARLY = 1e-6


class Instruments:
    """Sensors of one kind over time: what they show depends on what they saw before.

    Drift and offset are a device's, alike for all pixels of an array; lag, uniformity and
    noise are each sensor's own. A device that is asked again before a conversion is over gives
    the last reading again, as its register does.

    Args:
        preset: of what kind.
        count: how many sensors, whole devices: a multiple of the preset's pixels.
        world: makes everything that is random here; four numbers are taken from it, so what
            is asked of it later changes nothing here.
        baseline_c: what nought means, in degrees Celsius.

    Raises:
        ValueError: not a whole number of devices.
    """

    def __init__(
        self, preset: Preset, count: int, world: np.random.Generator, baseline_c: float = 20.0
    ) -> None:
        devices, rest = divmod(count, preset.pixels)
        if rest or devices < 1:
            raise ValueError(
                f"there are {count} sensors but {preset.name} has {preset.pixels} to a device, "
                f"and a device is there or not. Give a multiple of {preset.pixels}."
            )
        self.preset, self.count, self.baseline_c = preset, count, baseline_c
        born, *streams = (
            np.random.default_rng(int(seed)) for seed in world.integers(0, 2**63, size=4)
        )
        self._noise, self._gaps = streams[1:]
        self._drift = Drift(preset.drift_k, devices, streams[0])
        self._zero = baseline_c + np.repeat(
            preset.accuracy_k * born.standard_normal(devices), preset.pixels
        )
        self._zero = self._zero + preset.uniformity_k * born.standard_normal(count)
        self._at_s: float | None = None
        self._read_s = -np.inf  # when the last conversion was
        self._before = self._shown = np.zeros(count)
        self._counts: Counts = ()

    @property
    def step(self) -> Fraction:
        """Of the converter, in kelvin: what one count is."""
        return self.preset.step or FINEST

    @property
    def next_s(self) -> float:
        """When a fresh reading can be had: a conversion after the last one."""
        return (
            0.0 if self._at_s is None else max(self._at_s, self._read_s + self.preset.conversion_s)
        )

    def see(self, temperatures_k: ArrayLike, at_s: float) -> Counts:
        """Return each sensor's count, whole steps of absolute Celsius; None where none came.

        Between two looks a temperature runs straight from the one to the other; at the first,
        the sensors have long come to it.

        Args:
            temperatures_k: (count,), above the baseline; below it too.
            at_s: when, not before the last look.

        Raises:
            ValueError: a wrong number of temperatures, one that is not finite, or a time that
                goes back.
        """
        truth = self._truth(temperatures_k)
        gone = 0.0 if self._at_s is None else at_s - self._at_s
        if not 0 <= gone < np.inf:
            raise ValueError(
                f"the sensors were shown {at_s:g} s after {self._at_s:g} s but times must go "
                "forward, for lag and drift depend on what was before. Sort the times."
            )
        if self._at_s is None:
            self._before = self._shown = truth
        self._shown = straight(self._shown, self._before, truth, gone, self.preset.lag_s)
        self._before, self._at_s = truth, at_s
        if at_s - self._read_s >= self.preset.conversion_s * (1 - _EARLY):
            self._read_s = at_s
            self._counts = self._converted(at_s)
        return self._counts

    def record(self, times_s: Iterable[float], temperatures_k: places.Floats) -> list[Counts]:
        """Return what `see` gives at each time, for temperatures (times, count)."""
        return [
            self.see(row, float(at_s)) for at_s, row in zip(times_s, temperatures_k, strict=True)
        ]

    def kelvin(self, seen: Sequence[Counts]) -> places.Floats:
        """Return counts as kelvin above the baseline, (times, count); nan where none came."""
        counts = np.array(seen, dtype=float).reshape(-1, self.count)
        return np.asarray(counts * float(self.step) - self.baseline_c)

    def empty(
        self, frames: int = 31, every_s: float = 60.0, until_s: float = 0.0
    ) -> tuple[int, ...]:
        """Return the middle count of each sensor over looks at the empty room, the last then.

        For `edge.pixels.above`: offsets, and what the empty room is, are taken off by it. It is
        public, as nobody was there. Every temperature is nought above the baseline.

        Raises:
            ValueError: a look lies before the last one, or a sensor never answered.
        """
        times = until_s - every_s * np.arange(frames - 1, -1, -1)
        return complete(middle(self.record(times, np.zeros((frames, self.count)))))

    def _converted(self, at_s: float) -> Counts:
        """Return a fresh reading; the same numbers are drawn whatever is seen."""
        preset = self.preset
        zero = self._zero + np.repeat(self._drift.at(at_s), preset.pixels)
        noise = preset.noise_sd_k * self._noise.standard_normal(self.count)
        counts = quantise(self._shown + zero + noise, self.step)
        lost = self._gaps.random(self.count // preset.pixels) < preset.drop_out
        if not lost.any():
            return counts
        gone = np.repeat(lost, preset.pixels).tolist()
        return tuple(None if no else count for no, count in zip(gone, counts, strict=True))

    def _truth(self, temperatures_k: ArrayLike) -> places.Floats:
        truth = np.asarray(temperatures_k, dtype=float)
        if truth.shape != (self.count,):
            raise ValueError(
                f"there are temperatures of shape {truth.shape} but {self.count} sensors, each "
                "of which sees exactly one. Is the view made for them?"
            )
        if not np.isfinite(truth).all():
            sensor = int(np.flatnonzero(~np.isfinite(truth))[0])
            raise ValueError(
                f"sensor {sensor} is to see {truth[sensor]:g} but a temperature must be finite, "
                "for a sensor would keep it for ever. Is a value missing from the scene?"
            )
        return truth
