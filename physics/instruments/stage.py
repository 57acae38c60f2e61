"""Where the device has its privacy stage: after the converter, before anything leaves.

    counts of the converter        `chain.Instruments.see`
    less the empty room, in grains `edge.pixels.above`: whole numbers, and a public constant
    clamped                        `edge.thermal.veil`
    and blurred with exact noise   the same, from the device's own key

The two functions below are these lines for somebody who has no radio; a real device, and
`physics.fleet`, run `edge.node` instead, which also verifies, pays and signs.

The sensor's own noise comes before all this and is credited with nothing: the variance of the
blur is planned from what heat and converter can change, and is the same for a sensor without
any noise. Nobody has promised the law of that noise, and whoever cools the sensor lessens it.
Nor does lag count: it averages what was there before, so that no reading moves further than the
temperatures did, and that is all that is used.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from edge import thermal
from edge.pixels import above
from edge.records import Reading


def grains(
    counts: Sequence[int | None], empty: Sequence[int], exponent: int, step: Fraction
) -> tuple[int, ...]:
    """Return counts less the empty room, in grains of 2**-exponent kelvin. Private.

    Args:
        counts: of the sensors of one device, as `Instruments.see` gives them.
        empty: the same of the empty room, public.
        step: of the converter, in kelvin.

    Raises:
        ValueError: a reading did not come, so that there is nothing to answer with; or the
            empty room is of another device.
    """
    heard = [count for count in counts if count is not None]
    if len(heard) < len(counts):
        raise ValueError(
            f"{len(counts) - len(heard)} of {len(counts)} readings did not come but a device "
            "answers with all or not at all: a number in their place would be a guess. Ask again."
        )
    return tuple(above(heard, empty, exponent, step.as_integer_ratio()))


def veiled(
    round: Any,
    sensor: int,
    counts: Sequence[int | None],
    empty: Sequence[int],
    step: Fraction,
    rng: Any,
) -> list[int]:
    """Return what leaves the device for a Round: its first sensor, and blurred readings.

    Args:
        round: an `edge.records.Round` of the thermal mechanism.
        sensor: the index of the device's first sensor in the Round.
        rng: of the veil, an `edge.entropy` stream; never the world's generator.

    Raises:
        ValueError: as for `grains`, or sensors that are not in the Round.
    """
    exponent = thermal.params_of(round).exponent
    reading = Reading(sensor, grains(counts, empty, exponent, step))
    return list(thermal.report(round, reading, rng))
