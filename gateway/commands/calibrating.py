"""The noise that a deployment needs, and what it does and does not hide: `heatveil calibrate`."""

import json
from typing import Any

from recovery import thermal
from recovery.guarantee import ratio_text
from recovery.thermal import Query
from recovery.thermal_curve import curve, presence
from recovery.thermal_query import cell_m

from ..faults import OperatorFault
from .choices import first_round


def calibrated(query: Query, as_json: bool) -> list[str]:
    """Return the lines to print.

    Args:
        as_json: one JSON object and nothing else.

    Raises:
        OperatorFault: the noise cannot be had.
    """
    try:
        numbers = _numbers(query)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    return [json.dumps(numbers, indent=2)] if as_json else _lines(query, numbers)


def _numbers(query: Query) -> dict[str, Any]:
    made = thermal.calibration(query)
    promise = first_round(query).guarantee
    return {
        "unprotected": promise.unprotected,
        "presence_epsilon": presence(query),
        "epsilon": list(promise.epsilon),
        "delta": list(promise.delta),
        "neighbours": promise.neighbours,
        "delivered_epsilon": made.epsilon,
        "sensitivity": made.sensitivity,
        "sigma": made.sigma,
        "exponent": made.exponent,
        "variance_grains": made.variance,
        "step_grains": made.step,
        "sensitivity_squared_grains": made.sensitivity_squared,
        "rho": list(made.rho),
        "readings": made.readings,
        "distances": [
            {
                "cells": row.cells,
                "distance": row.cells * cell_m(query.grid),
                "sensitivity": row.sensitivity,
                "epsilon": row.epsilon,
                "best_test_right": row.right,
            }
            for row in curve(query)
        ],
    }


def _lines(query: Query, numbers: dict[str, Any]) -> list[str]:
    unit, kelvin = ("m", "K") if query.grid.cell_mm else ("part", "")
    delta = ratio_text(query.delta)
    grain = f"2**{-numbers['exponent']} {kelvin}".strip()
    return [
        f"NOT PROTECTED: {numbers['unprotected']}.",
        "A source that comes or goes is seen by everybody: epsilon "
        f"{numbers['presence_epsilon']:.4g} at delta {delta}.",
        "",
        f"Protected: {numbers['neighbours']}.",
        f"Promised: epsilon {ratio_text(tuple(numbers['epsilon']))} at delta {delta}, for "
        f"{numbers['readings']} reading(s) of every sensor; really given: epsilon "
        f"{numbers['delivered_epsilon']:.4g}.",
        f"Noise: sigma {numbers['sigma']:.6g} {kelvin}".rstrip()
        + f"; variance {numbers['variance_grains']} grains squared, a grain is {grain}.",
        f"Sensitivity {numbers['sensitivity']:.6g} {kelvin}".rstrip()
        + f"; in whole grains, squared, {numbers['sensitivity_squared_grains']}.",
        "",
        f"  {'moved by':>10}  {unit:>8}  {'epsilon':>10}   the best test is right",
        *(
            f"  {row['cells']:4d} cells  {row['distance']:8.4g}  {row['epsilon']:10.4g}"
            f"   {row['best_test_right']:.4f}"
            for row in numbers["distances"]
        ),
        "",
        "A blind guess is right half of the time. Further away the same noise hides less.",
    ]
