"""All that `heatveil calibrate --json` says. The keys stay; new ones may come.

Ratios are lists [numerator, denominator] of whole numbers; epsilons, chances and what is named
`sigma`, `sensitivity` or `clamp` are floats, in kelvin or in the unit of the paper's model,
never rounded to the hopeful side; null is an epsilon that has no bound, of noise from tables.

    schema               1
    unprotected          what is not protected, in words; and its epsilons over the window:
    presence_epsilon     of a source that comes or goes
    count_epsilon        of one source more, beside any number of others
    neighbours, trust, unit
                         the promise in words
    calibration          "exact", or "paper" for the printed formula
    epsilon, delta       what is promised, ratios
    really_given         {epsilon, delta}: at this delta, and at this epsilon; as it adds up
    exact_epsilon        at this delta, by the Gaussian's own curve, which does not add up
    protect              {cells, distance}
    sensitivity          of all temperatures together, before any rounding
    sensitivity_sent     of what is sent, rounding and converter included
    sensitivity_squared_grains, variance_grains, exponent, grain, step_grains
                         the same in whole grains; a grain is 2**-exponent, `grain` as a ratio
    sigma                standard deviation of the noise on each reading
    adc_step, adc_behind
                         ratios, or null: of the converter, and of one behind it
    clamp, clamp_grains  [lowest, highest] reading
    map                  null where it takes too long, or {trials, unresolved, off,
                         standard_error, blind, estimator}: of trials with one source so many
                         had no map; the others were so far off in the mean, a blind guess so far
    sensors, bits_per_reading, readings, every_s, window_s
                         of the window; the seconds are null without a deployment file
    rho, rho_window      price of a reading and of the window, ratios
    nano_rho_per_reading, nano_rho_window
                         the same as devices count it, whole numbers
    windows              [{windows, epsilon}]: so many windows one after the other
    window_h, spans      0 for none, and how many windows cover a day, a week, a year
    trade                [{window_h, every_s, readings, sigma, epsilon_week}]
    same_week            [{window_h, epsilon, unresolved, off, standard_error, blind}]: a week of
                         such windows costs what one costs as planned, and this is of the map of
                         one whole window, as above, told in as many readings as are planned
    converter            {inflation, best_test_right, best_test_right_without_step}
    distances            [{cells, distance, sensitivity, epsilon, best_test_right}], moves up to
    what_if              [{name, said, readings, sensors, walls, spread_m2, intensity_max,
                         epsilon_with_this_noise, sigma_for_the_promise}], some null in a room
    refusal              null, or {reason, adc_step, epsilon}: why, and which of either would do;
                         where there is no plan at all, it stands alone beside the schema
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.core.budget import NANO
from edge.core.entropy import Tape
from edge.core.records import Reading
from edge.mechanisms import thermal as device
from edge.mechanisms.thermal import bits, params_of
from physics.places import cell_places, length_m
from physics.scenes import draw_sources
from physics.sensors import PointSensors, to_grains
from recovery import thermal
from recovery.distance import earth_movers
from recovery.maps.heatmap import Heatmap
from recovery.noise import check_ratio
from recovery.noise.calibrate import exact_epsilon
from recovery.noise.gaussian import zcdp_epsilon
from recovery.thermal import Query
from recovery.thermal.curve import (
    Converter,
    bound_presence_epsilon,
    compare_choices,
    compute_curve,
)
from recovery.thermal.guarantee import adjust_epsilon, compute_true_promise, find_exact_delta
from recovery.thermal.noise import make_follower
from recovery.thermal.query import (
    cell_m,
    count_protected_cells,
    find_standing_room,
    has_unknown_physics,
)
from recovery.thermal.seen import locate_sensors

from ...faults import OperatorFault
from ...output import Stage, format_duration
from ...settings.windows import DAYS, count_windows, list_cadences
from ..flags import convert_recovery_faults
from ..scores import WORTHLESS, is_hardly_better_than_blind
from .deployment import plan_first_round

# How far off a map will be, tried out: sources in a room that exists in the simulator alone.
#
# The whole way is that of a play but for the noise, which is a rounded normal of the same
# variance from the world's generator: it hides nothing, for nobody is there, and at a hundred
# grains and more its law is that of the devices' noise but for far less than trials can tell.

Floats = NDArray[np.float64]

_SEED = 1  # the same room and promise are told the same
# Trials, and how many pairs of cells and sensors, and of sensors and readings, they are for.
_TRIALS = ((40, 8_000, 2_000), (10, 40_000, 8_000))
# They weigh scene by scene, a quarter of a second a map where others take a few milliseconds.
_THOROUGH = frozenset({"auto", "posterior", "robust"})
_FEW = ((20, 8_000, 2_000), (10, 8_000, 10_000))


class TriedMaps(NamedTuple):
    """What some trials of the map came to; distances in metres, or in sides of a unit grid."""

    trials: int
    unresolved: int  # trials of which no map came
    off: float | None  # mean distance from the source to the heat of its map, None without maps
    standard_error: float | None  # of that mean, None where one map is too few
    blind: float  # the same of a map that has seen no data and is warm everywhere
    estimator: str  # that drew them, or was to
    sources: int  # how many there were in each trial


def try_maps(query: Query, stage: Stage) -> TriedMaps | None:
    """Return how maps of one strongest source fare, anywhere in the room; None if that is slow.

    The distance is the earth mover's: where all heat is in one place, the mean way to it.

    Args:
        stage: hears which trial it is.
    """
    sensors = int(np.prod(query.sensors))
    pairs, answers = sensors * int(np.prod(query.grid.shape)), sensors * query.readings
    table = _FEW if query.estimator in _THOROUGH else _TRIALS
    fits = [trials for trials, most, each in table if pairs <= most and answers <= each]
    # Who finds out about the physics too takes seconds.
    if not fits or has_unknown_physics(query):
        return None
    world, found, blind, estimator = np.random.default_rng(_SEED), [], [], query.estimator
    for trial in range(fits[0]):
        stage(f"trying out the map, {trial + 1} of {fits[0]}")
        off, guess, by = _try_one_map(query, world)
        blind.append(guess)
        if off is not None:
            found.append(off)
            estimator = by
    return TriedMaps(
        fits[0],
        fits[0] - len(found),
        float(np.mean(found)) if found else None,
        float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None,
        float(np.mean(blind)),
        estimator,
        query.sources or 1,
    )


def format_map_line(query: Query, tried: dict[str, Any] | None, every_s: float | None) -> str:
    """Return what is to be said of the map, from the value of that key.

    Args:
        every_s: seconds from one reading to the next, or None.
    """
    if tried is None and query.response is not None:
        return (
            "The map: how far off it will be was not tried, for so many cells, sensors and "
            "readings take too long; heatveil simulate, on the room's file, draws the maps of a "
            "day and says how far off they are."
        )
    if tried is None:
        many = f"{math.prod(query.grid.shape)} cells, {math.prod(query.sensors)} sensors"
        slow = f"with {many} and {query.readings} readings"
        if has_unknown_physics(query):
            slow = "where spread or drift are to be found out"
        return (
            f"The map: how far off it will be was not tried, which takes too long {slow}; "
            "heatveil play thermal tries one map."
        )
    unit, trials = " m" if query.grid.cell_mm else " of the side", tried["trials"]
    said = f"{trials} simulated trials" + f", {tried['unresolved']} without a map" * bool(
        tried["unresolved"]
    )
    if tried["off"] is None:
        return f"The map: there will hardly be one, for of {said}."
    error = tried["standard_error"]
    give = "" if error is None else f", give or take {error:.1g}"
    together = "one reading"
    if query.readings > 1:
        lasts = "" if every_s is None else f" over {format_duration(query.readings * every_s)}"
        together = f"{query.readings} readings together{lasts}"
    many = tried["sources"]
    of = "one strongest source" if many == 1 else f"{many} strongest sources"
    none = f". {WORTHLESS}" * is_hardly_better_than_blind(tried["off"], tried["blind"])
    where = "at the stated spread"
    if query.response is not None:
        where = f"having stood there for {query.response.hold_s / 60:.4g} min and not before"
    return (
        f"The map: after {together}, that of {of} is expected to be about "
        f"{tried['off']:.2g}{unit} off{give} (anywhere in the room, {where}, "
        f"{tried['estimator']} estimator, {said}); a guess that has seen no data, "
        f"{tried['blind']:.2g}{unit}{none}."
    )


def describe_tried_map(query: Query, row: dict[str, Any]) -> str:
    """Return how far off the maps of a row of `same_week` are, in a few words.

    Where chance may have helped them by as much as they are nearer than a guess, nothing else is
    said of them.
    """
    off, error, blind = row["off"], row["standard_error"] or 0.0, row["blind"]
    if off is None or is_hardly_better_than_blind(off + 2 * error, blind):
        return "says next to nothing"
    cell, unit = cell_m(query.grid), " m" if query.grid.cell_mm else " of the side"
    near = f"is off by {off:.2g}{unit}, give or take {error:.1g}"
    if off < cell:
        near = f"is off by less than a cell, {cell:g}{unit}"
    none = row["unresolved"]
    return near + f", where there is one: not in {none} trial{'s' * (none > 1)}" * bool(none)


def _try_one_map(query: Query, world: np.random.Generator) -> tuple[float | None, float, str]:
    """Return how far off the map of one source is, if there is one, a blind guess, and by whom."""
    free = None if find_standing_room(query).all() else find_standing_room(query)
    scene = draw_sources(query.sources or 1, query.grid, world, query.intensity_max, free)
    places = locate_sensors(query)
    sensors = PointSensors(places, query.sensor_noise)
    if query.response is not None:
        warmth = query.response.operator @ scene.heat(query.grid)
    else:
        warmth = scene.temperatures(places, query.spread_m2, query.walls, length_m(query.grid))
    round, releases = plan_first_round(query), []
    params = params_of(round)
    level = make_follower(query)
    for number in range(1, query.readings + 1):
        asked, there = round._replace(number=number), number > query.empty_readings
        warm, exponent = sensors.measure(warmth * there, world), params.exponent
        seen = to_grains(warm, exponent, query.step, query.behind)
        if level is not None:
            seen = level.subtract(seen, params.exponent)
            level.follow()
        noise: Any = np.rint(world.normal(0, params.variance**0.5, len(seen))).astype(int).tolist()
        payload = device.veil(asked, Reading(0, seen), noise)
        releases.append(device.release(asked, [payload], Tape(b"calibrate")))
    with convert_recovery_faults():
        map = thermal.recover(query, releases, certify=False)
    cells = np.asarray(cell_places(query.grid)).reshape(math.prod(query.grid.shape), -1)
    truth = scene.heat(query.grid)
    blind = _measure(truth, np.ones(len(cells)), cells)
    if not isinstance(map, Heatmap):
        return None, blind, query.estimator
    return _measure(truth, map.mass.ravel(), cells), blind, map.estimator


def _measure(truth: Floats, heat: Floats, cells: Floats) -> float:
    return earth_movers(truth, heat, "l2", cells, normalise=True)


SCHEMA = 1
_WINDOWS = (2, 7, 30, 365)


def compute_numbers(
    query: Query, every_s: float | None, seen: Converter, refusal: Any, stage: Stage
) -> dict[str, Any]:
    """Return what the docstring of this module lists.

    Args:
        every_s: seconds from one reading to the next, or None.
        seen: what the converter costs.
        refusal: the value of that key.
        stage: hears what is being computed.
    """
    stage("looking for what is not protected")
    there = bound_presence_epsilon(query)
    stage("judging other distances")
    rows = [
        {
            "cells": row.cells,
            "distance": row.cells * cell_m(query.grid),
            "sensitivity": row.sensitivity,
            "epsilon": row.epsilon,
            "best_test_right": row.right,
        }
        for row in compute_curve(query)
    ]
    attempt, others = try_maps(query, stage), []
    names = ("readings", "sensors", "walls", "spread_m2", "intensity_max")
    for other in compare_choices(query):
        stage(f"tried {other.said.strip()}")
        others.append(
            {
                "name": other.name,
                "said": other.said,
                **{name: getattr(other.query, name) for name in names},
                **({} if other.query.response is None else {"spread_m2": None, "walls": None}),
                "epsilon_with_this_noise": other.epsilon,
                "sigma_for_the_promise": other.sigma,
            }
        )
    return {
        "schema": SCHEMA,
        **_promise(query, there),
        **_compute_noise(query),
        **_compute_window(query, every_s),
        "converter": {
            "inflation": seen.inflation,
            "best_test_right": seen.right,
            "best_test_right_without_step": seen.right_without,
        },
        "map": attempt and attempt._asdict(),
        "same_week": _try_windows(query, attempt, stage) if query.window_h else [],
        "distances": rows,
        "what_if": others,
        "refusal": refusal,
    }


def _promise(query: Query, there: float) -> dict[str, Any]:
    promise, made = plan_first_round(query).guarantee, thermal.calibrate_query(query)
    (epsilon, delta), cells = compute_true_promise(query, made), count_protected_cells(query)
    squares, at = (made.sensitivity_squared, made.variance), find_exact_delta(query)
    return {
        "unprotected": promise.unprotected,
        "presence_epsilon": there,
        # Warmth adds up, so one more changes what is read by as much, whoever else is there.
        "count_epsilon": there,
        "neighbours": promise.neighbours,
        "trust": promise.trust,
        "unit": promise.unit,
        "calibration": query.calibration,
        "epsilon": list(promise.epsilon),
        "delta": list(promise.delta),
        "really_given": {"epsilon": epsilon, "delta": delta},
        "exact_epsilon": adjust_epsilon(
            query, exact_epsilon(*squares, made.readings, at[0] / at[1])
        ),
        "protect": {"cells": cells, "distance": cells * cell_m(query.grid)},
    }


def _compute_noise(query: Query) -> dict[str, Any]:
    made, planned = thermal.calibrate_query(query), plan_first_round(query)
    params, grain = params_of(planned), Fraction(2) ** -made.exponent
    return {
        "sensitivity": made.sensitivity,
        "sensitivity_sent": math.sqrt(made.sensitivity_squared) * float(grain),
        "sensitivity_squared_grains": made.sensitivity_squared,
        "variance_grains": made.variance,
        "exponent": made.exponent,
        "grain": [grain.numerator, grain.denominator],
        "step_grains": made.step,
        "sigma": made.sigma,
        "adc_step": None if query.step is None else list(query.step.as_integer_ratio()),
        "adc_behind": list(query.behind.as_integer_ratio()) if query.behind else None,
        "clamp": [params.low * float(grain), params.high * float(grain)],
        "clamp_grains": [params.low, params.high],
        "sensors": params.sensors,
        "bits_per_reading": bits(planned),
    }


def _compute_window(query: Query, every_s: float | None) -> dict[str, Any]:
    rho = Fraction(*thermal.calibrate_query(query).rho)
    nano = math.ceil(NANO * rho)
    total, delta = query.readings * rho, check_ratio(find_exact_delta(query), "delta")
    return {
        "readings": query.readings,
        "every_s": every_s,
        "window_s": every_s and (3600 * query.window_h or query.readings * every_s),
        "rho": [rho.numerator, rho.denominator],
        "rho_window": [total.numerator, total.denominator],
        "nano_rho_per_reading": nano,
        "nano_rho_window": query.readings * nano,
        "windows": [
            {
                "windows": many,
                "epsilon": adjust_epsilon(query, zcdp_epsilon(many * total, delta), many),
            }
            for many in sorted({*_WINDOWS, *_count_spans(query).values()})
        ],
        "window_h": query.window_h,
        "spans": _count_spans(query),
        "trade": _compute_trade(query, total, delta) if query.window_h else [],
    }


def _count_spans(query: Query) -> dict[str, int]:
    """Return how many windows cover a day, a week and a year; nothing without hours."""
    if not query.window_h:
        return {}
    return {name: count_windows(days, query.window_h) for name, days in DAYS}


def _compute_trade(query: Query, rho: Fraction, delta: Any) -> list[dict[str, Any]]:
    """Return what other windows and cadences cost under the same epsilon for each window."""
    made = thermal.calibrate_query(query)
    one = math.sqrt(made.variance / query.readings) * 2.0**-made.exponent
    rows = []
    for row in list_cadences(query.window_h):
        weeks, sigma = count_windows(7, row["window_h"]), one * math.sqrt(row["readings"])
        week = adjust_epsilon(query, zcdp_epsilon(weeks * rho, delta), weeks)
        rows.append(row | {"sigma": sigma, "epsilon_week": week})
    return rows


def _try_windows(query: Query, planned: TriedMaps | None, stage: Stage) -> list[dict[str, Any]]:
    """Return how maps fare in other windows if a week of them costs as much as one does planned.

    None is tried where that takes too long, where nothing is promised of a week (by the formula
    as printed epsilons do not add up, and with noise from tables delta is not kept for so long),
    or where the room's own level depends on how long a window is.
    """
    held = query.calibration, query.sampler, query.background
    if planned is None or held != ("exact", "exact", "recorded"):
        return []
    made, delta = thermal.calibrate_query(query), check_ratio(find_exact_delta(query), "delta")
    week, rows = count_windows(7, query.window_h) * query.readings * Fraction(*made.rho), []
    for hours in sorted({row["window_h"] for row in list_cadences(query.window_h)}):
        epsilon, tried = float(Fraction(*query.epsilon)), planned
        if hours != query.window_h:
            # Down, so that no week costs more; of how many readings it is a map does not matter.
            most = zcdp_epsilon(week / count_windows(7, hours), delta)
            grain = 10 ** max(0, 3 - math.floor(math.log10(most)))
            given = Fraction(math.floor(most * grain), grain)
            try:
                found = try_maps(replace(query, epsilon=given.as_integer_ratio()), stage)
            except OperatorFault:  # more noise than a report carries, say
                continue
            if found is None:
                continue
            epsilon, tried = float(given), found
        told = tried._asdict()
        shown = {name: told[name] for name in ("unresolved", "off", "standard_error", "blind")}
        rows.append({"window_h": hours, "epsilon": epsilon, **shown})
    return rows
