"""Named sensors with the numbers of their data sheets, and where each number is from.

Where a data sheet gives a greatest error, a third of it is taken for a standard deviation, and
a half of one that it calls typical. What no data sheet says is marked as assumed, and what the
project measured on recorded frames and rooms as measured.

Not here: noise that grows towards the corners of an array, frames that are read twice, the
range beyond which a sensor saturates, and self-heating, which is constant and goes with the
empty room. Thermopiles follow within a tenth of a second, and have no lag here.
"""

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

# What is known of a kind of sensor, in numbers, each with its source.

Counts = tuple[int | None, ...]  # of sensors, in whole steps; None where none came

# A sensor whose converter is finer than any grain still counts; a nanokelvin is one count.
FINEST = Fraction(1, 2**30)


@dataclass(frozen=True, slots=True)
class Preset:
    """What a kind of sensor adds to the truth.

    Args:
        name: as `presets.find_preset` takes it.
        step: of the converter, in kelvin, exact; None where it is finer than any grain.
        behind: counts of a converter behind that one, of which it sees whole ones; 0 without.
        noise_sd_k: white noise on a reading that took `conversion_s`, standard deviation.
        accuracy_k: standard deviation of the offset that a device has for life.
        uniformity_k: the same between the pixels of one array.
        drift_k: standard deviation of the 1/f drift of a device, see `drift`.
        lag_s: time constant of the first-order lag.
        conversion_s: what one reading takes; asked again sooner, the last one is given again.
        shape: (columns, rows) of pixels, (1, 1) for a thermometer.
        drop_out: the share of readings, of an array of frames, that do not come.
        sources: where each number is from, by its name.
    """

    name: str
    step: Fraction | None = None
    behind: Fraction = Fraction(0)
    noise_sd_k: float = 0.0
    accuracy_k: float = 0.0
    uniformity_k: float = 0.0
    drift_k: float = 0.0
    lag_s: float = 0.0
    conversion_s: float = 0.0
    shape: tuple[int, int] = (1, 1)
    drop_out: float = 0.0
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def pixels(self) -> int:
        """How many temperatures one device gives: 1 for a thermometer."""
        return math.prod(self.shape)


_MOUNT = "assumed for still air; it depends on the mount, so measure it there"
_DRIFT = "assumed"

_ALL = (
    Preset(
        "perfect",
        sources={
            "everything": "the truth: no noise, no lag, and a converter finer than any grain"
        },
    ),
    Preset(
        "tmp117",
        step=Fraction(1, 128),
        noise_sd_k=0.0026,
        accuracy_k=0.033,
        drift_k=0.005,
        lag_s=20.0,
        conversion_s=0.125,
        drop_out=0.001,
        sources={
            "step": "data sheet SNOSD82D, section 7.3.3: 7.8125 mK",
            "noise_sd_k": "the same, 7.3.2: repeatable to 1 step with eight averages; a third",
            "accuracy_k": "the same, section 1: 0.1 K at most from -20 to 50 degC; a third of it",
            "drift_k": _DRIFT,
            "lag_s": _MOUNT,
            "conversion_s": "data sheet, 7.3.2: 15.5 ms each, eight of them averaged",
            "drop_out": _DRIFT,
        },
    ),
    Preset(
        "ds18b20",
        step=Fraction(1, 16),
        noise_sd_k=0.02,
        accuracy_k=0.17,
        drift_k=0.01,
        lag_s=30.0,
        conversion_s=0.75,
        drop_out=0.002,
        sources={
            "step": "data sheet, table 3 and figure 2: 12 bits, 0.0625 K",
            "noise_sd_k": "assumed: a reading at rest flickers between two steps at most",
            "accuracy_k": "data sheet: 0.5 K at most from -10 to 85 degC; a third of it",
            "drift_k": _DRIFT,
            "lag_s": _MOUNT,
            "conversion_s": "data sheet, table 3: 750 ms at most for 12 bits",
            "drop_out": _DRIFT,
        },
    ),
    Preset(
        "sht31",
        step=Fraction(175, 65535),
        noise_sd_k=0.013,
        accuracy_k=0.1,
        drift_k=0.01,
        lag_s=10.0,
        conversion_s=0.015,
        drop_out=0.001,
        sources={
            "step": "data sheet: 175 K in 65535 counts",
            "noise_sd_k": "data sheet, from memory: repeatable to 0.04 K, three deviations",
            "accuracy_k": "data sheet: 0.2 K typical from 0 to 90 degC; a half of it",
            "drift_k": _DRIFT,
            "lag_s": _MOUNT,
            "conversion_s": "data sheet, from memory: 12.5 ms typical, 15 at most",
            "drop_out": _DRIFT,
        },
    ),
    Preset(
        "mcp9808",
        step=Fraction(1, 16),
        noise_sd_k=0.02,
        accuracy_k=0.125,
        drift_k=0.01,
        lag_s=20.0,
        conversion_s=0.25,
        drop_out=0.001,
        sources={
            "step": "data sheet DS25095A, register 5-7: 0.0625 K",
            "noise_sd_k": "assumed: a reading at rest flickers between two steps at most",
            "accuracy_k": "data sheet, from memory: 0.25 K typical from -40 to 125 degC; a half",
            "drift_k": _DRIFT,
            "lag_s": _MOUNT,
            "conversion_s": "data sheet, from memory: 250 ms at the finest resolution",
            "drop_out": _DRIFT,
        },
    ),
    Preset(
        "bme280",
        step=Fraction(1, 100),
        behind=Fraction(1, 250),
        noise_sd_k=0.005,
        accuracy_k=0.33,
        drift_k=0.01,
        lag_s=20.0,
        conversion_s=0.04,
        drop_out=0.001,
        sources={
            "step": "data sheet BST-BME280-DS002, 4.2.3: hundredths of its formula",
            "behind": "3.1 mK at most, by that formula: `edge.board.sensors.bme280`",
            "noise_sd_k": "data sheet, from memory: below a step, averaged 16 times; assumed",
            "accuracy_k": "data sheet, from memory: 1 K at most from 0 to 65 degC; a third of it",
            "drift_k": _DRIFT,
            "lag_s": _MOUNT,
            "conversion_s": "the same, appendix 9.1: 38.05 ms at most, averaged 16 times",
            "drop_out": _DRIFT,
        },
    ),
    Preset(
        "mlx90614",
        step=Fraction(1, 50),
        noise_sd_k=0.1,
        accuracy_k=0.17,
        drift_k=0.05,
        conversion_s=0.1,
        drop_out=0.001,
        sources={
            "step": "data sheet 3901090614, 8.3.4: 0.02 K",
            "noise_sd_k": "assumed: of the usual filter; it goes with the field of view",
            "accuracy_k": "data sheet, from memory: 0.5 K from 0 to 50 degC; a third of it",
            "drift_k": _DRIFT,
            "conversion_s": "data sheet, from memory: settled within 0.1 s as delivered",
            "drop_out": _DRIFT,
        },
    ),
    Preset(
        "grideye",
        step=Fraction(1, 4),
        noise_sd_k=0.26,
        accuracy_k=1.25,
        uniformity_k=0.4,
        drift_k=0.1,
        conversion_s=0.1,
        shape=(8, 8),
        drop_out=0.002,
        sources={
            "step": "data sheet: 0.25 K",
            "noise_sd_k": "measured over a doorway: 0.27 to 0.29 K on a pixel of the empty room, "
            "the share of step and drift off; 0.45 to 0.48 K in another set",
            "accuracy_k": "data sheet: 2.5 K typical; a half of it",
            "uniformity_k": "measured: 0.47 K between the pixels of an empty doorway, some of it "
            "the doorway's own",
            "drift_k": "measured: what all pixels share grows from 0.08 to 0.10 K between 1 and "
            "20 s; beyond that assumed",
            "conversion_s": "data sheet: 10 frames a second, or 1 which is the mean of ten",
            "shape": "data sheet: 8 by 8 pixels",
            "drop_out": "measured: 3 of 1531 logged frames hold bytes of nought",
        },
    ),
    Preset(
        "mlx90640",
        step=Fraction(1, 100),
        behind=Fraction(1, 2),
        noise_sd_k=0.2,
        accuracy_k=0.33,
        uniformity_k=0.33,
        drift_k=0.1,
        conversion_s=0.5,
        shape=(32, 24),
        drop_out=0.001,
        sources={
            "step": "`edge.board.sensors.mlx90640`, which reckons hundredths of a kelvin",
            "behind": "the same: no pixel is told whose count could be more at 15 degC",
            "noise_sd_k": "data sheet 3901090640, section 1: 0.1 K at a page a second; at four "
            "twice as much, as white noise has",
            "accuracy_k": "the same, from memory: 1 K at most in the middle; a third of it",
            "uniformity_k": "assumed: as much again between pixels, more in the corners",
            "drift_k": _DRIFT,
            "conversion_s": "the same, section 9: two pages of 250 ms",
            "shape": "the same: 32 by 24 pixels",
            "drop_out": _DRIFT,
        },
    ),
    Preset(
        "mlx90641",
        step=Fraction(1, 100),
        behind=Fraction(1, 5),
        noise_sd_k=0.1,
        accuracy_k=0.33,
        uniformity_k=0.33,
        drift_k=0.1,
        conversion_s=0.25,
        shape=(16, 12),
        drop_out=0.001,
        sources={
            "step": "`edge.board.sensors.mlx90641`, which reckons hundredths of a kelvin",
            "behind": "the same: no pixel is told whose count could be more at 15 degC",
            "noise_sd_k": "data sheet 3901090641, section 1: 0.1 K at four frames a second",
            "accuracy_k": "the same, from memory: 1 K at most in the middle; a third of it",
            "uniformity_k": "assumed: as much again between pixels, more in the corners",
            "drift_k": _DRIFT,
            "conversion_s": "the same, section 9: 250 ms",
            "shape": "the same: 16 by 12 pixels",
            "drop_out": _DRIFT,
        },
    ),
)

PRESETS: Mapping[str, Preset] = {one.name: one for one in _ALL}


def find_preset(name: str) -> Preset:
    """Return the sensor of that name.

    Raises:
        ValueError: there is none; the nearest name is given.

    >>> find_preset("tmp117").step
    Fraction(1, 128)
    """
    if name not in PRESETS:
        near = difflib.get_close_matches(name.lower(), PRESETS, 1, 0.0)[0]
        raise ValueError(
            f"there is no sensor {name!r} but one of {', '.join(PRESETS)} is needed, for each "
            f"has its own noise and converter. Did you mean {near}?"
        )
    return PRESETS[name]
