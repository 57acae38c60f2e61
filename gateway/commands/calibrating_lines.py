"""What `heatveil calibrate` prints for people; the numbers are those of its JSON.

Prices and promises are rounded up to the digits that are printed, never down.
"""

from typing import Any

from recovery.maps.guarantee import ratio_text, upward
from recovery.thermal import Query

from .calibrating_map import map_line
from .calibrating_table import SURE, distances, share

# From here on the converter's step deserves a word of its own.
_WIDER = 1.25


def lines(query: Query, numbers: dict[str, Any]) -> list[str]:
    """Return the lines, what is not protected first."""
    return [
        *_unprotected(query, numbers),
        "",
        map_line(query, numbers["map"]),
        "",
        *_promise(query, numbers),
        *_window(query, numbers),
        "",
        *_noise(query, numbers),
        "",
        *distances(query, numbers),
        "",
        *_what_if(query, numbers),
    ]


def _unprotected(query: Query, numbers: dict[str, Any]) -> list[str]:
    there, more = (upward(numbers[f"{what}_epsilon"], 4) for what in ("presence", "count"))
    return [
        f"NOT PROTECTED: {numbers['unprotected']}. A source that comes or goes: epsilon {there}; "
        f"one more than there were, however many: epsilon {more}; both at delta "
        f"{ratio_text(query.delta)}, over the whole window.",
        "Warmth adds up, so one more changes the readings by its own warmth and nothing else: "
        "both are of the strongest source, where and when all sensors together feel it most.",
    ]


def _promise(query: Query, numbers: dict[str, Any]) -> list[str]:
    asked, delta = (ratio_text(tuple(numbers[name])) for name in ("epsilon", "delta"))
    given = {name: upward(value, 4) for name, value in numbers["really_given"].items()}
    printed = "" if query.calibration == "exact" else "the paper's formula as printed "
    curve = (
        "; a sharper reckoning of this window alone, by the exact curve: "
        f"{upward(numbers['exact_epsilon'], 4)}"
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
    return [
        f"Protected: {numbers['neighbours']}.{rounded}",
        f"Promised: epsilon {asked} at delta {delta}, for {query.readings} "
        f"reading{'s' * (query.readings > 1)} of every sensor together.",
        f"Really given: {printed}{'gives ' * bool(printed)}epsilon {given['epsilon']} at delta "
        f"{delta}, or delta {given['delta']} at epsilon {asked}{curve}.",
    ]


def _window(query: Query, numbers: dict[str, Any]) -> list[str]:
    rho, whole = (numbers[name] for name in ("rho", "rho_window"))
    some = {row["windows"]: upward(row["epsilon"]) for row in numbers["windows"]}
    every = (
        ""
        if numbers["every_s"] is None
        else f", one every {_time(numbers['every_s'])}: it lasts {_time(numbers['window_s'])}"
    )
    return [
        f"Window: {query.readings} reading{'s' * (query.readings > 1)}{every}. Epsilon is for "
        f"this window, not for a life: 2 windows cost epsilon {some[2]}, 30 windows {some[30]}. "
        "Another window means enrolling every device again.",
        f"Price: rho {ratio_text(tuple(rho))} ({upward(rho[0] / rho[1], 4)}) a reading, "
        f"{upward(whole[0] / whole[1], 4)} for the window; a device counts "
        f"{numbers['nano_rho_per_reading']} billionths of {numbers['nano_rho_window']}.",
    ]


def _time(seconds: float) -> str:
    """Return a time as one says it.

    >>> _time(90), _time(3600), _time(86400), _time(0.5)
    ('90 s', '1 h', '24 h', '0.5 s')
    """
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size or (seconds == size and size < 86400):
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds:g} s"


def _noise(query: Query, numbers: dict[str, Any]) -> list[str]:
    unit = " K" if query.grid.cell_mm else ""
    grain, seen = numbers["grain"][0] / numbers["grain"][1], numbers["converter"]
    low, high = numbers["clamp"]
    told = [
        f"Noise: sigma {numbers['sigma']:.6g}{unit} on each reading; variance "
        f"{numbers['variance_grains']} grains squared. A grain is 2**{-numbers['exponent']}"
        f"{unit}, {grain:.4g}{unit}.",
        f"Readings: clamped to {low:.4g} to {high:.4g}{unit} about the baseline, "
        f"{numbers['bits_per_reading']} bits each, {numbers['sensors']} sensors.",
        f"Sensitivity: {upward(numbers['sensitivity'], 6)}{unit} over all sensors together; "
        f"{upward(numbers['sensitivity_sent'], 6)}{unit} in the whole grains that are sent "
        f"({numbers['sensitivity_squared_grains']} squared).",
    ]
    if query.step is None:
        return told
    step = ratio_text(query.step.as_integer_ratio())
    right, without = (share(seen[f"best_test_right{end}"]) for end in ("", "_without_step"))
    told_apart = (
        ""
        if right == without == SURE
        else f" By heat alone the best test tells the two ends of the room apart {right} of the "
        f"time, without the step {without}; the table below is a bound that counts such flips, "
        "at their worst, as well."
    )
    told.append(
        f"{'Beware: the' if seen['inflation'] > _WIDER else 'The'} converter's step of {step}"
        f"{unit} may flip on all sensors at once, and makes the noise {upward(seen['inflation'])} "
        f"times as wide.{told_apart}"
    )
    return told


def _what_if(query: Query, numbers: dict[str, Any]) -> list[str]:
    unit = " K" if query.grid.cell_mm else ""
    asked = ratio_text(tuple(numbers["epsilon"]))
    wide = max(len(row["said"]) for row in numbers["what_if"])
    return [
        f"  {'what if':<{wide}}  epsilon with this noise   sigma for epsilon {asked}",
        *(
            f"  {row['said']:<{wide}}  {upward(row['epsilon_with_this_noise'], 4):>23}   "
            + (
                "cannot be had"
                if row["sigma_for_the_promise"] is None
                else f"{upward(row['sigma_for_the_promise'], 4)}{unit}"
            )
            for row in numbers["what_if"]
        ),
        "  Noise is not made anew by itself: until every device has the new one, the left column "
        "holds. More readings under one promise are each blurred more and tell as much together."
        + " Epsilons here add up as the promised one does; those of the table above are by the "
        "exact curve, and a little less." * (query.readings > 1),
    ]
