"""What the audit asks of thermal devices: honest Rounds and forged ones, limits, and prices.

Reckoned anew in exact fractions of a kelvin, not by the device's own arithmetic.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from edge.core.budget import NANO, Limits
from edge.core.records import Round
from edge.mechanisms import thermal_half
from edge.mechanisms.thermal import unveil as unveil

SENSORS = 2  # that a device of several reads here
MODES = ("sealed", "keyholder")
DRAWS = thermal_half
CONVERTED = True  # what a sensor says has a converter's steps


def grain(exponent: int) -> Fraction:
    """Return the size of a grain in kelvin, exactly."""
    return Fraction(2) ** -exponent


def find_mode(round: Round) -> str:
    """Return in which mode devices answer this Round."""
    return MODES[round.params[6]]


def list_modes(round: Round) -> list[tuple[str, Round]]:
    """Return each mode, with this Round for devices of that mode."""
    return [
        (name, round._replace(params=(*round.params[:6], place, *round.params[7:])))
        for place, name in enumerate(MODES)
    ]


def widen_clamp(round: Round) -> Round:
    """Return the Round with a clamp so wide that scenes far apart are not brought together."""
    params = list(round.params)
    wide = 8 * math.isqrt(params[4])
    params[2:4] = params[2] - wide, params[3] + wide
    return round._replace(params=tuple(params))


def make_limits(round: Round, budget: int) -> Limits:
    """Return limits that let just this Round through, and no less noise, for so much nano-rho."""
    num, den = round.guarantee.rho
    square = num * 2 * round.params[4] // den
    return Limits(1, round.params[1], square, round.params[4], budget, 0)


def compute_cost(round: Round, held: Limits) -> Fraction:
    """Return the nano-rho of an answer, exactly: half of squared sensitivity over variance."""
    square = held.square * grain(held.exponent) ** 2
    return Fraction(NANO) * square / (2 * round.params[4] * grain(round.params[1]) ** 2)


def measure_draw(round: Round, drawn: list[int]) -> float:
    """Return how large the first number of noise is, in sigmas."""
    return abs(drawn[0]) / float(round.params[4]) ** 0.5


def vary_round(round: Round, number: int) -> Round:
    """Return the Round with so much more noise that none is the same."""
    params = (*round.params[:4], round.params[4] + number, *round.params[5:])
    return round._replace(params=params)


def make_readings(round: Round, number: int, sensors: int) -> tuple[int, ...]:
    """Return what so many sensors may hold, something else for every number."""
    return tuple(number + sensor for sensor in range(sensors))


def list_impossible(round: Round, sensor: int) -> list[list[int]]:
    """Return payloads that no device of one sensor gives: of other sensors, or of none."""
    return [[sensor], [sensor, 1, 2], [sensor + 1, 1], [-1, 1], [round.params[0], 1]]


def forge_round(round: Round, rng: Any, newest: int) -> Round:
    """Return a Round with one or two things changed, most of them for the worse."""
    params, promise = list(round.params), round.guarantee
    num, den = promise.rho
    number, mechanism = newest + 1 + rng.below(3), round.mechanism
    for _ in range(1 + rng.below(2)):
        kind = rng.below(9)
        if kind == 0:
            before = params[4]
            params[4] = max(
                1, before + (rng.below(3) - 1) * (1 + rng.below(before) * rng.below(2))
            )
            if rng.below(2):  # and says honestly what that costs
                num, den = num * before + den * params[4], den * params[4]
        elif kind == 1:
            finer = rng.below(5) - 2
            params[1] += finer
            honest = rng.below(3)
            if honest == 1:  # with as much noise in kelvin
                params[4] = params[4] * 4 ** max(finer, 0)
            elif honest == 2:  # or with less, and says what that costs
                num = num * 4 ** max(finer, 0)
        elif kind == 2:
            num = (
                max(0, num - 1 - rng.below(num) * rng.below(2))
                if rng.below(2)
                else num + rng.below(9)
            )
        elif kind == 3:
            number = max(0, newest - rng.below(3))
        elif kind == 4:
            params[6] = 1 - params[6]
        elif kind == 5:
            params = params[: rng.below(8)] if rng.below(2) else [*params, 0]
        elif kind == 6:
            params[0] = rng.below(3)
        elif kind == 7:
            promise = promise._replace(rho=None)
        else:
            mechanism = "thermal" if mechanism != "thermal" else "other"
        if len(params) < 7:
            break
    if promise.rho is not None:
        promise = promise._replace(rho=(num, den))
    return round._replace(
        number=number, mechanism=mechanism, params=tuple(params), guarantee=promise
    )


def list_violations(
    asked: Round, held: Limits, mode: str, sensor: int, newest: int
) -> Iterator[str]:
    """Yield why a device of these limits, this mode and sensor should not have answered."""
    params, promise = asked.params, asked.guarantee
    if asked.mechanism != "thermal" or len(params) != 7:
        yield "a Round that is none was answered"
        return
    if grain(params[1]) > grain(held.exponent):
        yield "a coarser grain"
    if params[4] * grain(params[1]) ** 2 < held.variance * grain(held.exponent) ** 2:
        yield "less noise than the floor"
    if promise.rho is None or Fraction(*promise.rho) * NANO <= compute_cost(asked, held) - 1:
        yield "a promise below its price"
    if params[6] != MODES.index(mode):
        yield "a promise of another mode"
    if not sensor < params[0]:
        yield "a sensor that is not in the Round"
    if asked.number <= newest:
        yield "an old Round"


def list_loosened(old: Limits, new: Limits) -> list[str]:
    """Return in what the new limits protect less, in kelvin and nano-rho."""
    before, after = grain(old.exponent), grain(new.exponent)
    return [
        name
        for name, less in (
            ("version", new.version <= old.version),
            ("grain", after > before),
            ("sensitivity", new.square * after**2 < old.square * before**2),
            ("noise", new.variance * after**2 < old.variance * before**2),
            ("budget", new.budget > old.budget),
            ("pace", new.pace_ms < old.pace_ms),
        )
        if less
    ]


def vary_limits(held: Limits, rng: Any) -> Limits:
    """Return limits near those in force, one or two of them changed, up or down a little."""
    numbers = list(held)
    numbers[0] += rng.below(4) if rng.below(3) else 1
    for _ in range(1 + rng.below(2)):
        which = 1 + rng.below(5)
        if which == 1:  # a finer grain or a coarser one, with the same noise in kelvin, or nearly
            finer = rng.below(3) - 1
            numbers[1] += finer
            for i in (2, 3):
                numbers[i] = numbers[i] * 4 if finer > 0 else -(-numbers[i] // 4**-finer)
        numbers[which] += rng.below(5) - 2
    return Limits(*numbers)
