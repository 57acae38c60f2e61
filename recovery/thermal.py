"""Thermal readings, analyst half: plan the noise, and draw the map from what was blurred.

Source: Gilbert and McMillan 2017, Section 3 and Algorithm 1.

Differs from the paper:
1. The radius is the exact quantile of the noise, rounding included, at a stated chance of
   failure. The printed sigma sqrt(m) leaves out the truth half of the time and everything in
   a third of the runs; it is the estimator "l1-printed", which then takes the nearest heat.
2. Where no heat at all is the answer the paper divides nought by nought. Here the map is
   uniform, its total 0, and its status says that it is no estimate.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from edge.records import Release, Round
from edge.refusals import EXPONENTS
from edge.thermal import Params, bits

from .heatmap import Heatmap, Unresolved
from .sparse import Solution, minimise_l1
from .spreads import warmest
from .thermal_noise import as_printed, room
from .thermal_noise import calibration as calibration
from .thermal_noise import operator as operator
from .thermal_promise import promise
from .thermal_query import Query as Query

NAME = "thermal"

Floats = NDArray[np.float64]


def plan(query: Query, releases: Sequence[Release]) -> Round | None:
    """Return the next Round of whole numbers, None when there are readings enough.

    Raises:
        ValueError: the noise that is asked for does not fit a device, or cannot be had.
    """
    if len(releases) >= query.readings:
        return None
    made = calibration(query)
    if abs(made.exponent) > EXPONENTS:
        raise ValueError(
            f"the noise would be counted in grains of 2**{-made.exponent} K but a device takes "
            f"2**-{EXPONENTS} to 2**{EXPONENTS}: others are none that a sensor has. Correct "
            "intensity_max, or what else is huge or tiny."
        )
    # What every source at its warmest, and eight sigmas of a sensor's own noise, can reach.
    # Below the baseline too: clamping there would bend the readings of a cold sensor.
    one = float(operator(query).max()) if as_printed(query) else warmest(room(query))
    most = query.sources_max * query.intensity_max * one
    reach = math.ceil(math.ldexp(most + 8 * query.sensor_noise, made.exponent)) + made.step
    params = Params(
        sensors=math.prod(query.sensors),
        exponent=made.exponent,
        low=-reach,
        high=reach,
        variance=made.variance,
        step=made.step,
        keyholder=int(query.keyholder),
    )
    planned = Round(len(releases) + 1, NAME, query.grid, tuple(params), promise(query, made))
    try:
        bits(planned)
    except ValueError as fault:
        raise ValueError(
            f"the readings reach {reach} grains and the noise's sigma {made.variance**0.5:.3g} "
            "but a report holds numbers below 2**31: it would be cut. Ask for a "
            f"{'larger' if made.variance > reach**2 else 'smaller'} epsilon, or lower "
            "intensity_max or sources_max."
        ) from fault
    return planned


def recover(query: Query, releases: Sequence[Release]) -> Heatmap | Unresolved:
    """Return the map of the least heat that explains the readings, or why there is none.

    Args:
        query: what was planned with.
        releases: of the same query, one a reading; silent sensors are None and left out.

    Raises:
        ValueError: no release, or one that does not belong to the query.
    """
    params = shared_params(query, releases)
    blurred = np.array([release.values for release in releases], dtype=np.float64)
    times = np.count_nonzero(~np.isnan(blurred), axis=0)
    heard = times > 0
    guarantee = releases[0].round.guarantee
    if not heard.any():
        why = "no sensor was heard; wait for reports, or look at the sensors' link"
        return Unresolved(query.grid, guarantee, math.inf, math.inf, why)
    warmth = np.nansum(blurred, axis=0)[heard] / times[heard] * 2.0**-params.exponent
    # A sensor heard less often is blurred more; each is weighed so that all count alike.
    deviations = _deviations(query, params, times[heard])
    typical = float(np.sqrt(np.mean(deviations**2)))
    weights = typical / deviations
    radius = typical * _quantile(query, int(heard.sum()))
    found = minimise_l1(
        operator(query)[heard] * weights[:, None], warmth * weights, radius, query.intensity_max
    )
    status = _status(query, found, radius)
    if not status:
        return Unresolved(query.grid, guarantee, found.residual, radius, _why(found, radius))
    columns, rows = query.grid.shape
    mass = np.full((rows, columns), 1 / (rows * columns))
    if found.objective > 0:
        mass = found.heat.reshape(rows, columns) / found.objective
    return Heatmap(query.grid, mass, guarantee, found.objective, status)


def _status(query: Query, found: Solution, radius: float) -> str:
    """Return what is to be said of the map, nothing where there is to be none."""
    printed = query.estimator == "l1-printed"
    if found.residual > radius * (1 + 1e-6) and not printed:
        return ""
    if found.objective == 0:
        return "no estimate: no heat at all explains the readings best, so the map is uniform"
    if found.status == "infeasible":
        return "least residual: no heat lies within the printed radius, this comes nearest"
    return found.status


def _why(found: Solution, radius: float) -> str:
    return (
        f"no heat within the bounds comes nearer to the readings than {found.residual:.4g}, and "
        f"the noise explains {radius:.4g}: by bad luck, or because the spread, the walls, the "
        "greatest intensity or the sensors' own noise are set wrongly. Take another reading, "
        "allow a smaller chance of failure, or check those settings"
    )


def _deviations(query: Query, params: Params, times: NDArray[np.int64]) -> Floats:
    """Return the standard deviation of each sensor's mean, as the estimator believes it."""
    grain = 2.0**-params.exponent
    noise = params.variance * grain**2 / times
    if query.estimator == "l1-printed":
        return np.sqrt(noise)
    # Rounding is the same in every reading of a still scene, so it does not average away.
    steps = 0.0 if query.step is None else float(query.step)
    return np.sqrt(noise + query.sensor_noise**2 / times + (grain**2 + steps**2) / 12)


def _quantile(query: Query, sensors: int) -> float:
    """Return how far unit noise on so many sensors goes, but for the chance of failure."""
    if query.estimator == "l1-printed":
        return math.sqrt(sensors)
    return math.sqrt(2 * float(gammaincinv(sensors / 2, 1 - query.failure)))


def shared_params(query: Query, releases: Sequence[Release]) -> Params:
    """Return the whole numbers that all releases were made with, or refuse them."""
    sensors = math.prod(query.sensors)
    given = {(r.round.mechanism, r.round.grid, tuple(r.round.params)) for r in releases}
    lengths = {len(release.values) for release in releases}
    if len(given) != 1 or lengths != {sensors}:
        raise ValueError(
            f"the releases come of {len(given)} different plans with {sorted(lengths)} sensors "
            f"but must share one plan with {sensors}: other noise or other sensors make another "
            "map. Recover each plan's releases by themselves."
        )
    ((mechanism, grid, params),) = given
    if (mechanism, grid, len(params)) != (NAME, query.grid, len(Params._fields)):
        raise ValueError(
            f"the releases are of {mechanism} on {grid} but the query is of {NAME} on "
            f"{query.grid}: the map would be of another room. Recover with their own query."
        )
    for release in releases:
        for sensor, value in enumerate(release.values):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise ValueError(
                    f"sensor {sensor} released {value!r} but must release a whole number of "
                    "grains, or None: nothing else passes the veil. Take the file as published."
                )
    return Params(*params)
