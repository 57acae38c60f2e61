"""What sensors feel of a watt anywhere, at any lag before the reading: one run for all of them.

What a sensor feels of a watt that was in some cell during a lag before the reading is what that
cell would feel of a watt at the sensor, for heat passes from here to there as from there to
here. So one run, with a pulse at each sensor's view, gives the response to a source anywhere:
the field after l steps is the response to the interval that ended l steps before the reading.
Through doors that open and close it holds with their states in reverse order. All steps are
damped, as those of a simulated day must be: only so is the answer to a source the same whenever
it starts, and then this is the very answer of that simulation, to round-off.

Source: reciprocity of Green's functions for symmetric operators; Morse and Feshbach 1953,
section 7.4.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..diffusion.medium import Medium, still
from ..diffusion.run import Run
from .records import Floats


class Stretch(NamedTuple):
    """Steps in one medium, counted back from the reading."""

    medium: Medium
    steps: int


def pulses(views: Floats, stretches: Sequence[Stretch], step_s: float) -> Iterator[Floats]:
    """Yield (sensors, rows, columns) for each lag: kelvin of a watt in each cell during it.

    Args:
        views: (sensors, rows, columns), the share of each cell that a sensor sees.
    """
    # What a joule in each cell does to each sensor. When a door moves this goes on, and not the
    # pulse's temperature, for the leaf takes up other heat than the air did.
    pulse = views
    for nth, (medium, steps) in enumerate(stretches):
        stored = medium.capacity * medium.volume_m3
        # Beside the response to an interval that to its end, where the next medium begins.
        both = nth < len(stretches) - 1
        zero = np.zeros_like(views)
        run = Run(
            medium, np.concatenate([zero, pulse / stored]) if both else zero, always_damped=True
        )
        calm = still(medium)
        first = np.concatenate([pulse, zero]) if both else pulse
        for step in range(steps):
            run.step(calm._replace(power_w=first) if step == 0 else calm, step_s)
            yield run.field_k[: len(views)]
        if both:
            pulse = run.field_k[len(views) :] * stored
