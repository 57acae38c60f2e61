"""Whether a step in time can follow a source: what moves too far, and what would ring."""

import math

import numpy as np
from numpy.typing import NDArray

from .assemble import assemble
from .medium import Medium

# In times of the quickest cell, its capacity over all its conductances. Crank-Nicolson turns a
# jump in that cell's power into an overshoot that falls by two fifths and more each step; at
# three times as long a walker's own wake was measured at four fifths of its warmth.
_RINGS = 8.0


def step_fault(
    medium: Medium,
    step_s: float,
    speed_m_per_s: float = 0.0,
    width_m: float = 0.0,
    where: NDArray[np.bool_] | None = None,
    always_damped: bool = False,
) -> str:
    """Return why a step is too long to follow a source, and which would do; "" where it can.

    The energy is right in any step, for powers are means over it. Where and when it shows is
    not: a walker is smeared along the way of a step, and heat that starts or moves in a cell
    overshoots where the step is long beside the time that the cell takes to pass it on.

    Args:
        step_s: the step's length in seconds.
        speed_m_per_s: of the quickest source; nought if all stay where they are.
        width_m: how far a source may be smeared, such as its own width; a cell at least.
        where: the cells that a source may be in, of the medium's shape; all without.
        always_damped: as `Run` is told; then nothing rings.

    Raises:
        ValueError: a step that is not positive, or a speed or width that is negative.
    """
    if not (0 < step_s < math.inf and 0 <= speed_m_per_s < math.inf and 0 <= width_m < math.inf):
        raise ValueError(
            f"step_s is {step_s:g}, speed_m_per_s {speed_m_per_s:g} and width_m {width_m:g} but "
            "a step must be positive and the others nought or more, all finite, for they are a "
            "time, a speed and a length. Give seconds, metres a second and metres."
        )
    reach_m = max(width_m, *map(float, map(np.max, medium.cell_m)))
    crossing_s = reach_m / speed_m_per_s if speed_m_per_s else math.inf
    ringing_s = math.inf if always_damped else _RINGS * _quickest_s(medium, where)
    longest_s = min(crossing_s, ringing_s)
    if step_s <= longest_s * (1 + 1e-9):
        return ""
    if crossing_s <= ringing_s:
        why = (
            f"what moves at {speed_m_per_s:g} m/s goes {speed_m_per_s * step_s:.3g} m in it, and "
            f"only {reach_m:.3g} m of smear are allowed"
        )
    else:
        why = (
            f"the quickest cell passes its heat on in {ringing_s / _RINGS:.3g} s, and beyond "
            f"{_RINGS:g} times that a source that starts or moves there overshoots and rings"
        )
    return f"a step of {step_s:g} s is too long: {why}; {_round_below(longest_s):g} s would do"


def _quickest_s(medium: Medium, where: NDArray[np.bool_] | None) -> float:
    system = assemble(medium)
    rates = (system.conductance.diagonal() / system.capacity).reshape(medium.shape)
    quickest = np.max(rates, where=True if where is None else where, initial=0.0)
    return 1 / quickest if quickest > 0 else math.inf


def _round_below(time_s: float) -> float:
    """Return the largest of 1, 2 and 5, and their tens and tenths, that is no longer."""
    ten = 10.0 ** math.floor(math.log10(time_s) + 1e-12)
    return max(part * ten for part in (1, 2, 5) if part * ten <= time_s * (1 + 1e-9))
