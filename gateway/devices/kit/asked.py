"""What is asked about a board: its sensor, how often, how much noise, on which battery."""

import math
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from edge import bulk, sampler

from ...faults import OperatorFault, suggestion
from .figures import FIGURES, SAMPLERS, SENSORS, SLOWER, TELL, Sensor

DAY_S = 86_400.0


class Plan(NamedTuple):
    """What is asked about. variance in grains squared; readings of the array in one frame."""

    sensor: str
    readings: int
    every_s: float
    variance: int
    battery_mah: float
    sampler: str = "exact"
    tls: bool = True
    sleeps: bool = True
    site: str = "lab"
    name: str = "n001"
    own: Mapping[str, float] = MappingProxyType({})

    @property
    def tells(self) -> bool:
        """Say whether it answers with a place."""
        return self.sensor in TELL

    def figure(self, name: str) -> float:
        """Return a figure of the table, or what was measured on one's own board instead."""
        return self.own.get(name, FIGURES[name].value)


def own_figures(pairs: Iterable[str]) -> dict[str, float]:
    """Return what NAME=VALUE says.

    Raises:
        OperatorFault: it is no such pair, or no number from nought up.
    """
    found = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            found[name] = float(text)
        except ValueError:
            found[name] = math.nan
        if not 0 <= found[name] < 1e12:
            raise OperatorFault(
                f"--set {pair} came; NAME=VALUE with a number from nought up is needed, or "
                "nothing can be reckoned with it. For instance --set sleep_ma=0.02"
            )
    return found


def checked(plan: Plan) -> Sensor:
    """Return the sensor of a plan that a board can carry out.

    Raises:
        OperatorFault: none can.
    """
    if plan.sensor not in SENSORS:
        raise OperatorFault(
            f"the sensor {plan.sensor!r} is not known; its currents are needed, or the days of a "
            f"battery mean nothing. Take the nearest of {', '.join(SENSORS)}"
        )
    if plan.sampler not in SAMPLERS:
        raise OperatorFault(
            f"the sampler {plan.sampler!r} is not known; a board draws by one of "
            f"{', '.join(SAMPLERS)}, and each takes its own time. Name one of them"
        )
    if plan.sampler != "exact" and (plan.readings < bulk.ARRAY or plan.variance > sampler.WIDEST):
        raise OperatorFault(
            f"{plan.readings} readings of variance {plan.variance} by the {plan.sampler} came; "
            f"tables are for {bulk.ARRAY} readings and more, and for {sampler.WIDEST} grains "
            "squared at most: a device draws exactly else, whatever is asked. Leave --sampler out"
        )
    if not 1 <= plan.variance < 1 << 62 or plan.readings < 1:
        raise OperatorFault(
            f"{plan.readings} readings with a variance of {plan.variance} came; at least one, and "
            "noise from 1 to 2**62 grains squared, are needed, for less hides nothing. Take both "
            "from `heatveil calibrate`"
        )
    if not 0.1 <= plan.every_s <= 366 * DAY_S or not 0 < plan.battery_mah < 1e9:
        raise OperatorFault(
            f"an answer each {plan.every_s:g} s from {plan.battery_mah:g} mAh came; from 0.1 s to "
            "a year, and a battery that holds something, are needed, or no day can be reckoned. "
            "Is the cadence in seconds?"
        )
    if unknown := [name for name in plan.own if name not in FIGURES]:
        raise OperatorFault(
            f"the figure {unknown[0]!r} is not in the table; only what is reckoned with can be "
            f"set, or it would do nothing unnoticed; {suggestion(unknown[0], FIGURES)}"
        )
    if plan.tells and plan.readings != 1:
        raise OperatorFault(
            f"{plan.readings} readings of {plan.sensor} came; a device that tells its place tells "
            "one, for another would be another's. Leave --readings out"
        )
    sensor = SENSORS[plan.sensor]
    busy_s = sensor.converts_s + plan.readings * draw_ms(plan) / 1000
    if busy_s > plan.every_s:
        raise OperatorFault(
            f"an answer takes {busy_s:.3g} s to read and to blur, and one each {plan.every_s:g} s "
            "is asked for: the board would never come to its end. Ask less often, read fewer "
            "pixels, or draw by the table"
        )
    return sensor


def draw_ms(plan: Plan) -> float:
    """Return the time of one draw: a wide one takes several tables, or more digits."""
    if plan.tells:
        return plan.figure("place_ms")
    if plan.sampler == "exact":
        sd = math.isqrt(plan.variance)
        times = next(times for upto, times in SLOWER if sd <= upto)
    else:
        times = len(tables(plan.variance))
    return plan.figure(SAMPLERS[plan.sampler]) * times


@cache
def tables(variance: int) -> tuple[int, ...]:
    """Return how many thresholds each of the tables has that noise of this variance takes."""
    return tuple(len(part) for _, part in sampler.Sampler(variance, 1, bulk.BITS).parts)
