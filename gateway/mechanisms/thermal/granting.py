"""What the devices of a deployment are enrolled with: limits in whole numbers.

The planned Round is all that they will ever do, as often as was promised: its noise is the least
they answer with, its grain the coarsest, and their budget is its price times the readings. Over
the air this can only be made tighter (`edge.core.budget`).

Devices count in nano-rho, each price rounded up. What all of a budget can buy, by rounds of any
noise above the least, is at most its rho, so that is what is held against the promise.

Source: Canonne, Kamath and Steinke 2020, Theorem 14: Gaussians add up to one whose squared
shift is the sum of theirs, so a budget is worth what one Gaussian of its rho is worth.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from edge.core.budget import MOST, NANO, Limits, align_grains, objection, price
from edge.core.table import ARRAY
from recovery.noise import check_ratio
from recovery.noise.calibrate import DISCRETE
from recovery.noise.gaussian import gaussian_epsilon
from recovery.thermal import Query, calibrate_query
from recovery.thermal.curve import find_epsilon
from recovery.thermal.guarantee import find_exact_delta

from ...devices.enrol.capped import PACE
from ...faults import VARIABLES, OperatorFault


def make_first_limits(query: Query, every_s: float) -> Any:
    """Return the first `Limits` of every device that will answer this query.

    Args:
        every_s: seconds from the opening of one round to that of the next.

    Raises:
        OperatorFault: the query cannot be served, or its promise is too fine for a budget.
    """
    try:
        made = calibrate_query(query)
        pace_ms = min(round(1000 * PACE * every_s), MOST[5])
        first = Limits(1, made.exponent, made.sensitivity_squared, made.variance, 0, pace_ms)
        cost = price(first, made.exponent, made.variance)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    whole = first._replace(budget=query.readings * cost)
    if why := objection(whole):
        raise OperatorFault(f"the devices cannot be given their limits: {why}")
    given = convert_budget_to_epsilon(whole.budget, find_exact_delta(query))
    promised = check_ratio(query.epsilon, "epsilon")
    if given > promised:
        raise OperatorFault(
            f"{query.readings} readings at {cost} nano-rho each, rounded up as a device counts "
            f"them, would cost epsilon {given:.9g}, but {promised:.9g} is promised. Ask for a "
            "slightly larger epsilon, or for fewer readings"
        )
    return whole


def reduce_limits(whole: Any, before: int) -> Any:
    """Return the limits of a device that comes later: its budget is what is left of the room's.

    Args:
        whole: the limits of the fleet, as `make_first_limits`.
        before: nano-rho that the room has paid already.

    Raises:
        OperatorFault: not one answer is left.
    """
    left = whole.budget - before
    if left < price(whole, whole.exponent, whole.variance):
        raise OperatorFault(
            f"{before} of the {whole.budget} nano-rho that the people in the room were promised "
            "are spent; a new device gets only what is left, which is less than one answer. To "
            "go on, make a new promise: enrol again, in a new folder"
        )
    return whole._replace(budget=left)


def check_rounds_answered(query: Query, held: Mapping[str, Any]) -> None:
    """Check that devices answer the planned Round, and count for it what it costs.

    A Round of less noise, or of coarser grains, than they were enrolled for they refuse, paid as
    it is, and so one that states less than they count. And they know no room, no source and no
    level that follows: only by how much what they send was thought to change when they were
    enrolled. A Round for more has more noise, so they answer it, but whoever forges one with
    their own noise would get more out of them than was promised.

    Args:
        held: the `Limits` of each device, by name.

    Raises:
        OperatorFault: some refuse, or count less.
    """
    made = calibrate_query(query)
    planned = Limits(1, made.exponent, made.sensitivity_squared, made.variance, 0, 0)
    cost = price(planned, made.exponent, made.variance)
    for name, own in held.items():
        since = "last tightened to" if own.version > 1 else "enrolled with"
        back = f"the [privacy], [room], [heat] and [sensors] that it was {since}{VARIABLES}"
        counted = price(own, made.exponent, made.variance)
        if counted < cost:
            raise OperatorFault(
                f"{name} would count {counted} nano-rho for an answer that costs {cost}, and give "
                "away more than its budget says: it was enrolled for readings that one person "
                f"changes by less than in this deployment. Go back to {back}, or enrol again"
            )
        least, asked = align_grains(own.variance, own.exponent, made.variance, made.exponent)
        if asked < least or made.exponent < own.exponent:
            sigmas = [
                f"{math.ldexp(math.sqrt(one.variance), -one.exponent):.9g} K in grains of "
                f"2**{-one.exponent} K"
                for one in (own, made)
            ]
            raise OperatorFault(
                f"{name} was enrolled, or tightened, for noise of at least {sigmas[0]}, and this "
                f"deployment asks for {sigmas[1]}: it would refuse each round, which is charged "
                f"all the same. {_advise_epsilon(query, own) * (asked < least)}Go back to {back}, "
                "or enrol again in a new folder"
            )
        if counted > cost:
            raise OperatorFault(
                f"{name} would count {counted} nano-rho for an answer, and this deployment states "
                f"that it costs {cost}: it would refuse each round, which is charged all the "
                "same. It was enrolled for readings that one person changes by more. Go back to "
                f"{back}, or enrol again in a new folder"
            )


def _advise_epsilon(query: Query, own: Any) -> str:
    """Return which epsilon a device's own noise is enough for, with these readings; else nothing.

    The greatest in hundredths whose noise is not less than that, which has been rounded itself.
    """
    held = replace(calibrate_query(query), exponent=own.exponent, variance=own.variance)
    with suppress(ValueError):
        most = math.floor(100 * find_epsilon(query, held))
        for hundredths in (most + 1, most):
            made = calibrate_query(replace(query, epsilon=(hundredths, 100)))
            least, asked = align_grains(own.variance, own.exponent, made.variance, made.exponent)
            if asked >= least:
                ratio = f'"{hundredths}/100" at most with {query.readings} readings'
                return f"Ask for epsilon = {ratio}. "
    return ""


def check_tables_allowed(
    query: Query, sensors: Mapping[str, int], held: Mapping[str, Any]
) -> None:
    """Check that arrays were enrolled for noise from tables, where that is asked for.

    One that was enrolled for exact noise answers with a little less, for all of delta pays for it.

    Args:
        sensors: how many each device has, by name.
        held: the `Limits` of each device, by name.

    Raises:
        OperatorFault: some were not.
    """
    made = calibrate_query(query)
    for name, own in held.items() if query.sampler == "table" else ():
        least, planned = align_grains(own.variance, own.exponent, made.variance, made.exponent)
        if sensors.get(name, 0) >= ARRAY and least < planned:
            raise OperatorFault(
                f"[rounds] sampler is 'table' but {name}, which has {sensors[name]} readings, was "
                "enrolled for exact noise: it would refuse each round, which is charged all the "
                'same. Set sampler = "exact", or enrol again in a new folder'
            )


def convert_budget_to_epsilon(nano_rho: int, delta: Any) -> float:
    """Return the epsilon that a budget of a device is worth at this delta, a ratio.

    >>> round(convert_budget_to_epsilon(35_860_000, (1, 100_000)), 3)
    1.0
    """
    sigma = math.sqrt(NANO / (2 * nano_rho)) / DISCRETE
    return gaussian_epsilon(sigma, check_ratio(delta, "delta"))
