"""The noise that a deployment needs, and what it does and does not hide: `heatveil calibrate`."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from recovery.maps.guarantee import ratio_text
from recovery.thermal import Query, calibration
from recovery.thermal.curve import BLIND, Converter, converter, finer_step, larger_epsilon
from recovery.thermal.noise import room, spread_fault, too_long

from ..faults import OperatorFault
from .act import Calibrated
from .calibrating_lines import lines
from .calibrating_numbers import SCHEMA, numbers
from .choices import refused
from .choices_thermal import first_round
from .outputs import check_places, write_all
from .stages import Stage


def calibrated(
    query: Query,
    *,
    every_s: float | None,
    as_json: bool,
    plot: Path | None,
    inputs: list[Path],
    stage: Stage,
) -> Calibrated:
    """Return what to print, and draw the picture.

    Args:
        every_s: seconds from one reading to the next, or None where nobody said.
        as_json: one JSON object and nothing else.
        plot: where the picture goes, or None.
        inputs: files that it must not replace.
        stage: hears what is being computed.

    Raises:
        OperatorFault: the noise cannot be had, for a reason that is not the converter's.
    """
    check_places([plot] if plot else [], inputs)
    stage("scaling the noise")
    seen = _seen(query)
    if isinstance(seen, str):
        alone = {"schema": SCHEMA, "refusal": _refusal(seen, None, None)}
        return Calibrated([json.dumps(alone, indent=2)] if as_json else [], seen)
    reason, refusal = "", None
    if seen.blinds:
        stage("looking for a converter that would do")
        # Where heat has evened out, neither is worth having.
        even = query.response is None and too_long(room(query))
        step, epsilon = (None, None) if even else (finer_step(query), larger_epsilon(query))
        reason = _blind(query, seen, step, epsilon)
        refusal = _refusal(reason, step and step.as_integer_ratio(), epsilon)
        if not as_json:
            return Calibrated([], reason)
    with refused():
        found = numbers(query, every_s, seen, refusal, stage)
    if plot is not None and not reason:
        stage("drawing")
        # Imported here alone: it takes half a second, and few calibrations are drawn.
        from .calibrating_picture import draw

        write_all({plot: lambda path: draw(query, found, path)})
    if as_json:
        return Calibrated([json.dumps(_known(found), indent=2, allow_nan=False)], reason)
    return Calibrated(lines(query, found), reason)


def _known(found: Any) -> Any:
    """Return the numbers with null for those that are without a bound: JSON has no infinity."""
    if isinstance(found, dict):
        return {name: _known(value) for name, value in found.items()}
    if isinstance(found, list):
        return [_known(value) for value in found]
    return None if isinstance(found, float) and math.isinf(found) else found


def _seen(query: Query) -> Converter | str:
    """Return what the converter costs, or why no report carries what it makes necessary.

    Raises:
        OperatorFault: the noise cannot be had, and a finer converter would not help.
    """
    try:
        first_round(query)
        with refused():
            return converter(query)
    except OperatorFault as fault:
        if query.step is None:
            raise
        try:
            first_round(replace(query, step=None))
        except OperatorFault:
            raise fault from None
        return (
            f"the converter's step is {ratio_text(query.step.as_integer_ratio())}, and without it "
            f"this promise could be kept: use a finer converter. With this one, {fault}"
        )


def _blind(query: Query, seen: Converter, step: Any, epsilon: Any) -> str:
    """Return why a converter that blinds is refused, and what would help."""
    if query.response is None and too_long(
        room(query)
    ):  # then no converter is fine enough to be worth buying
        return spread_fault(room(query)).rstrip(".")
    unit, own = " K" if query.grid.cell_mm else "", (query.step or 1).as_integer_ratio()
    sigma = calibration(query).sigma
    would = " and ".join(
        [f"a step of {ratio_text(step.as_integer_ratio())}{unit} would do"] * bool(step)
        + [f"epsilon {ratio_text(epsilon)} would do"] * bool(epsilon)
    )
    return (
        f"the converter's step is {ratio_text(own)}{unit}: as it may flip on all sensors at once, "
        f"sigma must be {sigma:.4g}{unit}, {seen.inflation:.3g} times what heat alone needs. The "
        f"best test of all {query.readings} reading(s) then tells the two ends of the room apart "
        f"{seen.right:.1%} of the time, where half is a blind guess; {BLIND:.0%} is needed, or no "
        f"map is worth drawing, and without the step it were {_chance(seen.right_without)}. Use a "
        f"finer converter or a larger epsilon{f' ({would})' * bool(would)}; more readings would "
        "not help, for they share the promise"
    )


def _chance(chance: float) -> str:
    return f"{chance:.1%}" if chance < 0.999 else "over 99.9%"


def _refusal(reason: str, step: Any, epsilon: Any) -> dict[str, Any]:
    return {
        "reason": reason,
        "adc_step": None if step is None else list(step),
        "epsilon": None if epsilon is None else list(epsilon),
    }
