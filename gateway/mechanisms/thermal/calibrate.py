"""The noise that a deployment needs, and what it does and does not hide: `heatveil calibrate`."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

from recovery.maps.guarantee import format_ratio, round_up
from recovery.noise.worst import find_least_shown
from recovery.thermal import Query, calibrate_query
from recovery.thermal.curve import (
    BLIND,
    Converter,
    drop_step,
    find_finer_step,
    find_larger_epsilon,
    measure_converter,
)
from recovery.thermal.noise import describe_spread_fault, make_room, spreads_beyond_room
from recovery.thermal.query import cell_m

from ...faults import OperatorFault
from ...output import Stage, check_writable, format_duration, write_all
from ..flags import convert_plan_faults
from ..worlds import Calibrated
from .calibrate_numbers import SCHEMA, compute_numbers, describe_tried_map, format_map_line
from .deployment import WIDER, plan_first_round
from .words import format_chance

# The table of distances that `heatveil calibrate` prints, and what its rows count.


def format_distance_rows(query: Query, numbers: dict[str, Any]) -> list[str]:
    """Return how well moves up to each distance are hidden, a row each."""
    unit, own = "m" if query.grid.cell_mm else "part", numbers["protect"]["cells"]
    return [
        f"  {'moved by up to':>14}  {unit:>8}  {'epsilon':>10}   the best test is right",
        *(
            f"  {row['cells']:8d} {'cell ' if row['cells'] == 1 else 'cells'}"
            f"  {row['distance']:8.4g}  {round_up(row['epsilon'], 4):>10}"
            f"   {format_chance(row['best_test_right'])}"
            + ("   the protected distance" if row["cells"] == own else "")
            + ("   anywhere in the room" if _is_anywhere_in_room(query, row["distance"]) else "")
            for row in numbers["distances"]
        ),
        "  By the exact curve. A blind guess is right half of the time. Further away the same "
        "noise hides less.",
        *_explain_infinite_epsilon(numbers),
        *_describe_room_rows(query),
    ]


def _is_anywhere_in_room(query: Query, distance_m: float) -> bool:
    """Return whether no two places of a modelled room are further apart."""
    return query.response is not None and distance_m >= math.hypot(*query.grid.shape) * cell_m(
        query.grid
    )


def _explain_infinite_epsilon(numbers: dict[str, Any]) -> list[str]:
    """Return what an infinite epsilon is, where there is one."""
    told = [numbers["presence_epsilon"], *(row["epsilon"] for row in numbers["distances"])]
    return [
        "  inf: of noise from tables nothing is promised so far, for delta does not pay for what "
        "they are off; exact noise still has an epsilon there."
    ] * any(map(math.isinf, told))


def _describe_room_rows(query: Query) -> list[str]:
    """Return what the rows of a room with walls count, and how its bound was found."""
    if query.response is None:
        return []
    way = "through walls too" if query.response.through_walls else "by ways through air"
    return [
        f"  Paths of a person, displaced {way} up to each distance. What that changes at the most "
        f"was found of {query.response.proof}."
    ]


# What `heatveil calibrate` prints for people; the numbers are those of its JSON.
#
# Prices and promises are rounded up to the digits that are printed, never down.


def format_lines(query: Query, numbers: dict[str, Any]) -> list[str]:
    """Return the lines, what is not protected first."""
    return [
        *_list_unprotected(query, numbers),
        "",
        format_map_line(query, numbers["map"], numbers["every_s"]),
        "",
        *_promise(query, numbers),
        *_format_window(query, numbers),
        "",
        *_format_noise(query, numbers),
        "",
        *format_distance_rows(query, numbers),
        "",
        *_format_what_if(query, numbers),
        *_format_trade(numbers["trade"]),
        *_format_same_week(query, numbers),
    ]


def _format_trade(rows: list[dict[str, Any]]) -> list[str]:
    """Return what other windows and cadences would cost, under epsilon for each window."""
    if not rows:
        return []
    lines = [
        "",
        "  window   one every   readings   sigma of one   epsilon of a week",
    ]
    for row in rows:
        window, every = f"{row['window_h']} h", format_duration(row["every_s"])
        lines.append(
            f"  {window:<8} {every:<11} {row['readings']:<10} {row['sigma']:<14.4g} "
            f"{round_up(row['epsilon_week'], 4)}"
        )
    return [
        *lines,
        "  Epsilon is the same for each window. Asking more often blurs each reading more, and a "
        "window tells as much; a shorter window tells as much in less time, and a week more.",
    ]


def _format_same_week(query: Query, numbers: dict[str, Any]) -> list[str]:
    """Return how far off the map of a window is, if windows are longer or shorter at one cost."""
    if not numbers["same_week"]:
        return []
    own = next(row for row in numbers["trade"] if row["window_h"] == query.window_h)
    lines = [
        "",
        f"  Where a week may cost epsilon {round_up(own['epsilon_week'], 4)}, as planned:",
        "  window   epsilon for one   its map",
    ]
    for row in numbers["same_week"]:
        epsilon, said = round_up(row["epsilon"], 4), describe_tried_map(query, row)
        lines.append(f"  {row['window_h']} h".ljust(11) + f"{epsilon:<18}{said}")
    return lines


def _list_unprotected(query: Query, numbers: dict[str, Any]) -> list[str]:
    there, more = (round_up(numbers[f"{what}_epsilon"], 4) for what in ("presence", "count"))
    return [
        f"NOT PROTECTED: {numbers['unprotected']}. A source that comes or goes: epsilon {there}; "
        f"one more than there were, however many: epsilon {more}; both at delta "
        f"{format_ratio(query.delta)}, over the whole window.",
        "Warmth adds up, so one more changes the readings by its own warmth and nothing else: "
        "both are of the strongest source, where and when all sensors together feel it most.",
    ]


def _promise(query: Query, numbers: dict[str, Any]) -> list[str]:
    asked, delta = (format_ratio(tuple(numbers[name])) for name in ("epsilon", "delta"))
    given = {name: round_up(value, 4) for name, value in numbers["really_given"].items()}
    printed = "" if query.calibration == "exact" else "the paper's formula as printed "
    curve = (
        ", counted so that windows add up; by the exact curve one window by itself gives away "
        f"epsilon {round_up(numbers['exact_epsilon'], 4)}"
        if query.readings > 1
        else ""
    )
    asked_m, protected_m = query.protect_distance_m, numbers["protect"]["distance"]
    rounded = (
        f" The {asked_m:g}{' m' * bool(query.grid.cell_mm)} asked for are rounded up to whole "
        "cells."
        if asked_m is not None and protected_m > asked_m * (1 + 1e-9)
        else ""
    )
    # Noise is made for a promise by epsilon and by delta: mostly both are just what was asked.
    other = f", or delta {given['delta']} at epsilon {asked}"
    if given["delta"] == round_up(numbers["delta"][0] / numbers["delta"][1], 4):
        other = ""
    return [
        f"Protected: {numbers['neighbours']}.{rounded}",
        f"Promised: epsilon {asked} at delta {delta}, for {query.readings} "
        f"reading{'s' * (query.readings > 1)} of every sensor together.",
        f"Given: {printed}{'gives ' * bool(printed)}epsilon {given['epsilon']} at delta "
        f"{delta}{other}{curve}.",
    ]


def _format_window(query: Query, numbers: dict[str, Any]) -> list[str]:
    rho, whole = (numbers[name] for name in ("rho", "rho_window"))
    some = {row["windows"]: round_up(row["epsilon"], 4) for row in numbers["windows"]}
    every = (
        ""
        if numbers["every_s"] is None
        else f", one every {format_duration(numbers['every_s'])}: it lasts "
        f"{format_duration(numbers['window_s'])}"
    )
    window = (
        f"Window: {query.readings} reading{'s' * (query.readings > 1)}{every}. Epsilon is for "
        f"this window, not for a life: 2 windows cost epsilon {some[2]}, 30 windows {some[30]}. "
        "Another window means enrolling every device again."
    )
    if query.window_h:
        stays = (f"{name} {some[many]}" for name, many in numbers["spans"].items())
        window = (
            f"Window: any {query.window_h} h, in which a device pays for {query.readings} "
            "readings at most; what was spent comes back by hours that it counts itself, for as "
            "long as it lives. Epsilon is for one window, and longer stays cost more: "
            f"{', '.join(stays)}."
        )
    return [
        window,
        f"Price: rho {format_ratio(tuple(rho))} ({round_up(rho[0] / rho[1], 4)}) a reading, "
        f"{round_up(whole[0] / whole[1], 4)} for the window. A device counts in billionths of "
        f"rho: {numbers['nano_rho_per_reading']} a reading, of {numbers['nano_rho_window']}.",
    ]


def _format_noise(query: Query, numbers: dict[str, Any]) -> list[str]:
    unit = " K" if query.grid.cell_mm else ""
    grain, seen = numbers["grain"][0] / numbers["grain"][1], numbers["converter"]
    low, high = numbers["clamp"]
    told = [
        f"Noise: sigma {numbers['sigma']:.6g}{unit} on each reading; variance "
        f"{numbers['variance_grains']} grains squared. A grain is 2**{-numbers['exponent']}"
        f"{unit}, {grain:.4g}{unit}.",
        f"Readings: clamped to {low:.4g} to {high:.4g}{unit} about the baseline, "
        f"{numbers['bits_per_reading']} bits each, {numbers['sensors']} sensors.",
        f"Sensitivity: {round_up(numbers['sensitivity'], 6)}{unit} over all sensors together; "
        f"{round_up(numbers['sensitivity_sent'], 6)}{unit} in the whole grains that are sent "
        f"({numbers['sensitivity_squared_grains']} squared).",
    ]
    if query.step is None:
        return told
    step = _format_least_shown(query)
    right, without = (
        format_chance(seen[f"best_test_right{end}"]) for end in ("", "_without_step")
    )
    told_apart = (
        ""
        if right == without
        else f" By heat alone the best test tells the two ends of the room apart {right} of the "
        f"time, without the step {without}; the table below is a bound that counts such flips, "
        "at their worst, as well."
    )
    told.append(
        f"{'Beware: the' if seen['inflation'] > WIDER else 'The'} converter's step of {step}"
        f"{unit} may flip on all sensors at once, and makes the noise "
        f"{round_up(seen['inflation'])} times as wide.{told_apart}"
    )
    return told


def _format_what_if(query: Query, numbers: dict[str, Any]) -> list[str]:
    unit = " K" if query.grid.cell_mm else ""
    asked = format_ratio(tuple(numbers["epsilon"]))
    wide = max(len(row["said"]) for row in numbers["what_if"])
    return [
        f"  {'what if':<{wide}}  epsilon with this noise   sigma for epsilon {asked}",
        *(
            f"  {row['said']:<{wide}}  {round_up(row['epsilon_with_this_noise'], 4):>23}   "
            + (
                "cannot be had"
                if row["sigma_for_the_promise"] is None
                else f"{round_up(row['sigma_for_the_promise'], 4)}{unit}"
            )
            for row in numbers["what_if"]
        ),
        "  Noise is not made anew by itself: until every device has the new one, the left column "
        "holds. More readings under one promise are each blurred more and tell as much together."
        + " Epsilons here add up as the promised one does; those of the table above are by the "
        "exact curve, and a little less." * (query.readings > 1),
    ]


def explain_calibration(
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
    check_writable([plot] if plot else [], inputs)
    stage("scaling the noise")
    seen = _describe_converter(query)
    if isinstance(seen, str):
        alone = {"schema": SCHEMA, "refusal": _make_refusal(seen, None, None)}
        return Calibrated([json.dumps(alone, indent=2)] if as_json else [], seen)
    reason, refusal = "", None
    if seen.blinds:
        stage("looking for a converter that would do")
        # Where heat has evened out, neither is worth having.
        even = query.response is None and spreads_beyond_room(make_room(query))
        step, epsilon = (
            (None, None) if even else (find_finer_step(query), find_larger_epsilon(query))
        )
        reason = _explain_blinding(query, seen, step, epsilon)
        refusal = _make_refusal(reason, step and step[0].as_integer_ratio(), epsilon)
        if not as_json:
            return Calibrated([], reason)
    with convert_plan_faults():
        found = compute_numbers(query, every_s, seen, refusal, stage)
    if plot is not None and not reason:
        stage("drawing")
        # Imported here alone: it takes half a second, and few calibrations are drawn.
        from .picture import draw_calibration

        write_all({plot: lambda path: draw_calibration(query, found, path)})
    if as_json:
        return Calibrated([json.dumps(_replace_unknown(found), indent=2, allow_nan=False)], reason)
    return Calibrated(format_lines(query, found), reason)


def _replace_unknown(found: Any) -> Any:
    """Return the numbers with null for those that are without a bound: JSON has no infinity."""
    if isinstance(found, dict):
        return {name: _replace_unknown(value) for name, value in found.items()}
    if isinstance(found, list):
        return [_replace_unknown(value) for value in found]
    return None if isinstance(found, float) and math.isinf(found) else found


def _describe_converter(query: Query) -> Converter | str:
    """Return what the converter costs, or why no report carries what it makes necessary.

    Raises:
        OperatorFault: the noise cannot be had, and a finer converter would not help.
    """
    try:
        plan_first_round(query)
        with convert_plan_faults():
            return measure_converter(query)
    except OperatorFault as fault:
        if query.step is None:
            raise
        try:
            plan_first_round(drop_step(query))
        except OperatorFault:
            raise fault from None
        return (
            f"the converter's step is {_format_least_shown(query)}, and without it "
            f"this promise could be kept: use a finer converter. With this one, {fault}"
        )


def _format_least_shown(query: Query) -> str:
    """Return what the least move may show, as a ratio: a step, with what is behind it."""
    return format_ratio(
        find_least_shown(query.step or Fraction(1), query.behind).as_integer_ratio()
    )


def _explain_blinding(query: Query, seen: Converter, step: Any, epsilon: Any) -> str:
    """Return why a converter that blinds is refused, and what would help."""
    # No converter is fine enough then to be worth buying.
    if query.response is None and spreads_beyond_room(make_room(query)):
        return describe_spread_fault(make_room(query)).rstrip(".")
    unit, own = " K" if query.grid.cell_mm else "", _format_least_shown(query)
    sigma = calibrate_query(query).sigma

    def _name_step(seen: Fraction, behind: Fraction) -> str:
        first = f"{format_ratio(seen.as_integer_ratio())}{unit}"
        with_it = f" with {format_ratio(behind.as_integer_ratio())}{unit} behind it"
        return first + with_it * bool(behind)

    would = " and ".join(
        [f"a step of {_name_step(*step)} would do"] * bool(step)
        + [f"epsilon {format_ratio(epsilon)} would do"] * bool(epsilon)
    )
    return (
        f"the converter's step is {own}{unit}: as it may flip on all sensors at once, "
        f"sigma must be {sigma:.4g}{unit}, {seen.inflation:.3g} times what heat alone needs. The "
        f"best test of all {query.readings} reading(s) then tells the two ends of the room apart "
        f"{seen.right:.1%} of the time, where half is a blind guess; {BLIND:.0%} is needed, or no "
        "map is worth drawing, and without the step it were "
        f"{format_chance(seen.right_without)}. Use a finer converter or a larger "
        f"epsilon{f' ({would})' * bool(would)}; more readings would not help, "
        "for they share the promise"
    )


def _make_refusal(reason: str, step: Any, epsilon: Any) -> dict[str, Any]:
    return {
        "reason": reason,
        "adc_step": None if step is None else list(step),
        "epsilon": None if epsilon is None else list(epsilon),
    }
