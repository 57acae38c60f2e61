"""From a temperature to the count of a converter, in the order of a real device.

    lag          what the sensor itself has come to
    zero         its offset for life, and its drift
    noise        white, fresh in each reading
    converter    whole steps of absolute temperature, of another's counts where one is behind
    drop-out     the reading that does not come

Then comes the privacy stage, where the device has it: `physics.fleet`. Nothing here is credited
to it.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from edge.core.pixels import find_baseline

from .. import places
from .presets import FINEST, Preset
from .presets import Counts as Counts

# The analogue to digital converter: temperatures to whole steps, exactly.

# Floats decide further from a tie than this, relative to the count; fractions decide within.
_SURE = 1e-9


def quantise(temperatures: ArrayLike, step: Fraction) -> tuple[int, ...]:
    """Return the nearest whole number of steps to each temperature; a tie goes up.

        floor(temperature / step + 1/2), of the exact numbers

    The same rounding as `physics.sensors.to_grains`. Fractions are slow, so they are asked only
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


# 1/f drift: the slow wander of a sensor's zero, as a sum of random walks that are held back.
#
#     drift(t) = sum over octaves j of x_j(t),   each an Ornstein-Uhlenbeck process
#     cov(x_j(t), x_j(t + lag)) = deviation**2 / octaves * exp(-|lag| / time_j),  time_j = 2**j s
#
# Equal shares in each octave of time give a density of 1/f well inside the corners, within 4 %
# from 1e-4 to 1e-2 Hz, and the law of the sum is known exactly at every lag: nothing that is
# sampled from it, at whatever times, is approximate.
#
# Source: the superposition of relaxations is van der Ziel 1950; exact sampling, Gillespie 1996.

OCTAVES = 17  # of time constants from 1 s to 65536 s, most of a day
TIMES_S = 2.0 ** np.arange(OCTAVES)


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

    def advance(self, at_s: float) -> places.Floats:
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


# First-order lag: a sensor follows what it touches, and never at once.
#
#     lag_s du/dt = T(t) - u
#
# Between two samples the solution is exact, for a temperature that is held or that runs straight
# from the one sample to the next. So a day in one-minute steps lags as truly as in seconds, as
# far as the temperature between two samples is what was said.


def respond_to_ramp(
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
    _check_times(over_s, lag_s)
    if lag_s == 0 or over_s == 0:
        return np.asarray(after if lag_s == 0 else sensor, dtype=float)
    gone = over_s / lag_s
    left = math.exp(-gone)
    # What it is behind a ramp, (1 - left) / gone, without cancellation where little has gone.
    behind = -math.expm1(-gone) / gone
    return np.asarray(left * sensor + (behind - left) * before + (1 - behind) * after)


def _check_times(over_s: float, lag_s: float) -> None:
    if not (0 <= over_s < math.inf and 0 <= lag_s < math.inf):
        raise ValueError(
            f"{over_s:g} s passed for a sensor with a lag of {lag_s:g} s but both must be nought "
            "or more and finite, for a sensor follows only what was before. Is the day in order?"
        )


# What each sensor counts in the empty room: public, and taken off before the veil.


def median_counts(looks: Sequence[Counts]) -> Counts:
    """Return the middle count of each sensor over looks; None where it never answered.

    Source: `edge.core.pixels.find_baseline`, for a device that answers every time.
    """
    heard = [[count for count in of if count is not None] for of in zip(*looks, strict=True)]
    return tuple(find_baseline([[count] for count in of])[0] if of else None for of in heard)


def complete_levels(level: Counts) -> tuple[int, ...]:
    """Return a level of every sensor.

    Raises:
        ValueError: one never answered.
    """
    heard = tuple(count for count in level if count is not None)
    if len(heard) < len(level):
        raise ValueError(
            f"{len(level) - len(heard)} of {len(level)} sensors gave no reading of the empty room "
            "but each needs a level of its own, or a person could not be told from a warm wall. "
            "Look for longer."
        )
    return heard


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

    def measure(self, temperatures_k: ArrayLike, at_s: float) -> Counts:
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
        truth = self._check_temperatures(temperatures_k)
        gone = 0.0 if self._at_s is None else at_s - self._at_s
        if not 0 <= gone < np.inf:
            raise ValueError(
                f"the sensors were shown {at_s:g} s after {self._at_s:g} s but times must go "
                "forward, for lag and drift depend on what was before. Sort the times."
            )
        if self._at_s is None:
            self._before = self._shown = truth
        self._shown = respond_to_ramp(self._shown, self._before, truth, gone, self.preset.lag_s)
        self._before, self._at_s = truth, at_s
        if at_s - self._read_s >= self.preset.conversion_s * (1 - _EARLY):
            self._read_s = at_s
            self._counts = self._draw_counts(at_s)
        return self._counts

    def record(self, times_s: Iterable[float], temperatures_k: places.Floats) -> list[Counts]:
        """Return what `measure` gives at each time, for temperatures (times, count)."""
        return [
            self.measure(row, float(at_s))
            for at_s, row in zip(times_s, temperatures_k, strict=True)
        ]

    def record_empty_room(
        self, frames: int = 31, every_s: float = 60.0, until_s: float = 0.0
    ) -> tuple[int, ...]:
        """Return the middle count of each sensor over looks at the empty room, the last then.

        For `pixels.subtract_baseline`: offsets, and what the empty room is, are taken off by it.
        It is public, as nobody was there. Every temperature is nought above the baseline.

        Raises:
            ValueError: a look lies before the last one, or a sensor never answered.
        """
        times = until_s - every_s * np.arange(frames - 1, -1, -1)
        return complete_levels(median_counts(self.record(times, np.zeros((frames, self.count)))))

    def _draw_counts(self, at_s: float) -> Counts:
        """Return a fresh reading; the same numbers are drawn whatever is seen."""
        preset = self.preset
        zero = self._zero + np.repeat(self._drift.advance(at_s), preset.pixels)
        noise = preset.noise_sd_k * self._noise.standard_normal(self.count)
        felt = self._shown + zero + noise
        if preset.behind:
            felt = float(preset.behind) * np.array(quantise(felt, preset.behind))
        counts = quantise(felt, self.step)
        lost = self._gaps.random(self.count // preset.pixels) < preset.drop_out
        if not lost.any():
            return counts
        gone = np.repeat(lost, preset.pixels).tolist()
        return tuple(None if no else count for no, count in zip(gone, counts, strict=True))

    def _check_temperatures(self, temperatures_k: ArrayLike) -> places.Floats:
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
