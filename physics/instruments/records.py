"""What is known of a kind of sensor, in numbers, each with its source."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

Counts = tuple[int | None, ...]  # of sensors, in whole steps; None where none came

# A sensor whose converter is finer than any grain still counts; a nanokelvin is one count.
FINEST = Fraction(1, 2**30)


@dataclass(frozen=True, slots=True)
class Preset:
    """What a kind of sensor adds to the truth.

    Args:
        name: as `presets.named` takes it.
        step: of the converter, in kelvin, exact; None where it is finer than any grain.
        noise_sd_k: white noise on a reading that took `conversion_s`, standard deviation.
        accuracy_k: standard deviation of the offset that a device has for life.
        uniformity_k: the same between the pixels of one array.
        drift_k: standard deviation of the 1/f drift of a device, see `drift`.
        lag_s: time constant of the first-order lag.
        conversion_s: what one reading takes; asked again sooner, the last one is given again.
        shape: (columns, rows) of pixels, (1, 1) for a thermometer.
        view_deg: the field of view (across, down) of the whole array; nought for a thermometer.
        drop_out: the share of readings, of an array of frames, that do not come.
        sources: where each number is from, by its name.

    Raises:
        ValueError: a number that is negative or not finite, a step or shape that is not
            positive, or a share above one.
    """

    name: str
    step: Fraction | None = None
    noise_sd_k: float = 0.0
    accuracy_k: float = 0.0
    uniformity_k: float = 0.0
    drift_k: float = 0.0
    lag_s: float = 0.0
    conversion_s: float = 0.0
    shape: tuple[int, int] = (1, 1)
    view_deg: tuple[float, float] = (0.0, 0.0)
    drop_out: float = 0.0
    sources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        spans = ("noise_sd_k", "accuracy_k", "uniformity_k", "drift_k", "lag_s", "conversion_s")
        for name in spans:
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(
                    f"{name} of {self.name} is {getattr(self, name):g} but must be nought or "
                    "more and finite, for it is a spread or a time. Give 0 for a perfect one."
                )
        if (self.step is not None and self.step <= 0) or min(self.shape) < 1:
            raise ValueError(
                f"{self.name} has the step {self.step} and {self.shape} pixels but both must be "
                "positive, or there is nothing to count. Give None for an endless fineness."
            )
        if not 0 <= self.drop_out <= 1 or not all(0 <= view < 180 for view in self.view_deg):
            raise ValueError(
                f"{self.name} drops {self.drop_out:g} of its readings and sees {self.view_deg} "
                "degrees but a share is within 0 and 1, and a view from a ceiling below 180. "
                "Give the share, not per cent."
            )

    @property
    def pixels(self) -> int:
        """How many temperatures one device gives: 1 for a thermometer."""
        return math.prod(self.shape)

    def at_rate(self, rate_hz: float) -> "Preset":
        """Return the preset read so often: white noise goes with the root of the rate.

        Raises:
            ValueError: a rate that is not positive, or of a sensor that takes no time.

        >>> Preset("array", noise_sd_k=0.1, conversion_s=1.0).at_rate(4).noise_sd_k
        0.2
        """
        if not 0 < rate_hz < math.inf or not self.conversion_s:
            raise ValueError(
                f"{self.name} was to be read {rate_hz:g} times a second but a rate must be "
                "positive, and known for the noise that is given; its noise would have no "
                "meaning. Give hertz, for a sensor with a conversion time."
            )
        more = math.sqrt(rate_hz * self.conversion_s)
        return replace(self, noise_sd_k=self.noise_sd_k * more, conversion_s=1 / rate_hz)
