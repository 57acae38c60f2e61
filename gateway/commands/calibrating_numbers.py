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
    adc_step             a ratio, or null
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
    converter            {inflation, best_test_right, best_test_right_without_step}
    distances            [{cells, distance, sensitivity, epsilon, best_test_right}], moves up to
    what_if              [{name, said, readings, sensors, walls, spread_m2, intensity_max,
                         epsilon_with_this_noise, sigma_for_the_promise}], some null in a room
    refusal              null, or {reason, adc_step, epsilon}: why, and which of either would do;
                         where there is no plan at all, it stands alone beside the schema
"""

import math
from fractions import Fraction
from typing import Any

from edge.limits import NANO
from edge.thermal import bits, params_of
from recovery import thermal
from recovery.noise import check_ratio
from recovery.noise.calibrate import exact_epsilon
from recovery.noise.gaussian import zcdp_epsilon
from recovery.thermal import Query
from recovery.thermal.curve import Converter, curve, presence
from recovery.thermal.guarantee import exact_delta, held, really_given
from recovery.thermal.query import cell_m, protected_cells
from recovery.thermal.what_if import what_if

from .calibrating_map import tried
from .choices_thermal import first_round
from .stages import Stage

SCHEMA = 1
_WINDOWS = (2, 7, 30, 365)


def numbers(
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
    there = presence(query)
    stage("judging other distances")
    rows = [
        {
            "cells": row.cells,
            "distance": row.cells * cell_m(query.grid),
            "sensitivity": row.sensitivity,
            "epsilon": row.epsilon,
            "best_test_right": row.right,
        }
        for row in curve(query)
    ]
    attempt, others = tried(query, stage), []
    names = ("readings", "sensors", "walls", "spread_m2", "intensity_max")
    for other in what_if(query):
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
        **_promised(query, there),
        **_noise(query),
        **_window(query, every_s),
        "converter": {
            "inflation": seen.inflation,
            "best_test_right": seen.right,
            "best_test_right_without_step": seen.right_without,
        },
        "map": attempt and attempt._asdict(),
        "distances": rows,
        "what_if": others,
        "refusal": refusal,
    }


def _promised(query: Query, there: float) -> dict[str, Any]:
    promise, made = first_round(query).guarantee, thermal.calibration(query)
    (epsilon, delta), cells = really_given(query, made), protected_cells(query)
    squares, at = (made.sensitivity_squared, made.variance), exact_delta(query)
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
        "exact_epsilon": held(query, exact_epsilon(*squares, made.readings, at[0] / at[1])),
        "protect": {"cells": cells, "distance": cells * cell_m(query.grid)},
    }


def _noise(query: Query) -> dict[str, Any]:
    made, planned = thermal.calibration(query), first_round(query)
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
        "clamp": [params.low * float(grain), params.high * float(grain)],
        "clamp_grains": [params.low, params.high],
        "sensors": params.sensors,
        "bits_per_reading": bits(planned),
    }


def _window(query: Query, every_s: float | None) -> dict[str, Any]:
    rho = Fraction(*thermal.calibration(query).rho)
    nano = math.ceil(NANO * rho)
    total, delta = query.readings * rho, check_ratio(exact_delta(query), "delta")
    return {
        "readings": query.readings,
        "every_s": every_s,
        "window_s": None if every_s is None else query.readings * every_s,
        "rho": [rho.numerator, rho.denominator],
        "rho_window": [total.numerator, total.denominator],
        "nano_rho_per_reading": nano,
        "nano_rho_window": query.readings * nano,
        "windows": [
            {"windows": many, "epsilon": held(query, zcdp_epsilon(many * total, delta), many)}
            for many in _WINDOWS
        ],
    }
