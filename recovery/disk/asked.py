"""What the audit asks of devices that tell their place: modes, limits, and what answers cost.

Reckoned anew: exponentials in sixty digits, epsilons and prices in exact fractions, and nothing
by the device's own arithmetic.
"""

from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import isqrt
from typing import Any

from edge.core.budget import NANO, Limits
from edge.core.records import Round
from edge.mechanisms import disk_half, disk_limits
from edge.mechanisms.footprint import exp_floor

from .round import domain_of

# Rounds of places that somebody forges who has the site's key: an honest one, and most worse.
#
# The device's own exponential makes a forged Round look honest, and judges none.

_HEAD = 5  # params before the octant


def forge_round(round: Round, rng: Any, newest: int) -> Round:
    """Return a Round with one or two things changed, most of them for the worse."""
    params, promise, grid = list(round.params), round.guarantee, round.grid
    number, mechanism = newest + 1 + rng.below(3), round.mechanism
    for _ in range(1 + rng.below(2)):
        kind = rng.below(10)
        if kind == 0:
            params, promise = _change_epsilon(params, promise, rng)
        elif kind == 1:
            params[2] += (rng.below(3) - 1) * _draw_excess(1 + params[2] // 8, rng)
        elif kind == 2:
            params[1] = (0, -params[1], params[1] - 1, params[1] // 2, params[1] + 1)[rng.below(5)]
        elif kind == 3 and len(params) > _HEAD:  # a count of the octant, or a weight
            place = _HEAD + rng.below(len(params) - _HEAD)
            weight = (params[1] - 1, params[2] + 1, 0, -1, params[place] + rng.below(3) - 1)
            params[place] = weight[rng.below(5)]
        elif kind == 4:
            params = params[: 2 + rng.below(len(params))] + [[], [0, 0], [1, 0]][rng.below(3)]
        elif kind == 5:
            params[0] += rng.below(4) - 1
        elif kind == 6:
            num, den = promise.epsilon or (1, 1)
            less = ((num, 2 * den), (2 * num, den), (0, 1), (num, -den), None)
            promise = promise._replace(epsilon=less[rng.below(5)])
        elif kind == 7:
            num, den = promise.rho or (1, 1)
            rhos = (None, (num, den + 1), (num + 1, den), (0, 1), (num, -den))
            promise = promise._replace(rho=rhos[rng.below(5)])
        elif kind == 8:
            number = max(0, newest - rng.below(3))
        elif rng.below(2):
            mechanism = "another"
        else:
            shape = (max(0, grid.shape[0] + rng.below(4) - 2), grid.shape[1] + rng.below(2))
            grid = grid._replace(shape=shape)
        if len(params) < _HEAD:
            break
    return round._replace(
        number=number, mechanism=mechanism, grid=grid, params=tuple(params), guarantee=promise
    )


def _draw_excess(most: int, rng: Any) -> int:
    """Return 1, which is next to what is allowed, as often as any number up to the most."""
    return 1 + rng.below(most) * rng.below(2)


def _change_epsilon(params: list[int], promise: Any, rng: Any) -> tuple[list[int], Any]:
    """Return params of an epsilon from nought to twice as much, and a promise, honest or not."""
    reach, far, near, num, den, *octant = params
    num, den, honest = num * rng.below(33), den * 16, rng.below(4)
    if honest and far > 0 and 0 < num < 8 * den:
        near = exp_floor(num, den, far) + max(0, rng.below(5) - 2)
        octant = [min(one, near) if one >= far else one for one in octant]
    if honest > 1:
        promise = promise._replace(epsilon=(num, den), rho=None)
    return [reach, far, near, num, den, *octant], promise


NAME = "disk"
SENSORS = 1  # a place is one sensor's
DRAWS = disk_half
CONVERTED = False
_FINE = 1 << 40  # parts of one that a root is reckoned to


def find_mode(round: Round) -> str:
    """Return in which mode devices answer: who holds a key could tell near from far."""
    return "sealed"


def list_modes(round: Round) -> list[tuple[str, Round]]:
    """Return each mode, with this Round for devices of that mode: there is one."""
    return [("sealed", round)]


def widen_clamp(round: Round) -> Round:
    """Return the Round as it is: cells know no clamp that could be wider."""
    return round


def make_limits(round: Round, budget: int) -> Limits:
    """Return limits that let just this Round through, and no larger epsilon, for nano-rho."""
    num, den = round.params[3:_HEAD]
    return disk_limits.make_limits(num, den, 1)._replace(budget=budget)


def compute_cost(round: Round, held: Limits) -> Fraction:
    """Return the nano-rho of an answer: epsilon times the largest epsilon over two, or less.

    In proportion to epsilon, so that what is charged bounds the sum of epsilons; the root is
    taken from below, and exact where square and variance are squares.
    """
    top, bottom = Fraction(held.square, held.variance).as_integer_ratio()
    # The root is rounded down by at most one part of _FINE, and by none where it is a ratio.
    largest = Fraction(isqrt(top * bottom * _FINE**2), bottom * _FINE)
    return NANO * Fraction(*round.params[3:_HEAD]) * largest / 2


def measure_draw(round: Round, drawn: tuple[int, int, int]) -> float:
    """Return how far the offset leads, or the place is from the corner, in cells."""
    return (drawn[1] ** 2 + drawn[2] ** 2) ** 0.5


def vary_round(round: Round, number: int) -> Round:
    """Return the Round with a greatest weight that is less by so much: of another table."""
    reach, far, near, num, den, *rest = round.params
    most, octant = near - number, []
    while rest:
        full, parts = rest[:2]
        octant += [full, parts, *(min(one, most) for one in rest[2 : 2 + parts])]
        rest = rest[2 + parts :]
    return round._replace(params=(reach, far, most, num, den, *octant))


def make_readings(round: Round, number: int, sensors: int) -> tuple[int, ...]:
    """Return a cell, another one for every number, now and then outside the grid."""
    columns, rows = round.grid.shape
    return number % (columns + 2) - 1, number // 2 % rows


def list_impossible(round: Round, sensor: int) -> list[list[int]]:
    """Return payloads that no device of this sensor gives: of others, of none, of no cell."""
    domain = domain_of(round).ravel()
    corners = [[sensor, int(place)] for place in (~domain).nonzero()[0]]
    others = [[sensor], [sensor, 0, 1], [sensor + 1, int(domain.argmax())]]
    return [*others, [sensor, -1], [sensor, len(domain)], [sensor, (1 << 31) - 1], *corners]


def list_violations(
    asked: Round, held: Limits, mode: str, sensor: int, newest: int
) -> Iterator[str]:
    """Yield why a device of these limits, this mode and sensor should not have answered."""
    if asked.mechanism != NAME or len(asked.params) <= _HEAD:
        yield "a Round that is none was answered"
        return
    num, den = asked.params[3:_HEAD]
    weights = _list_weights(asked)
    if not weights:
        yield "a footprint that is cut short, or goes beyond its reach"
        return
    if min(num, den, *weights) < 1:
        yield "an epsilon or a weight that is none"
        return
    one, promise = Fraction(num, den), asked.guarantee
    with localcontext(Context(prec=60)):
        if Decimal(max(weights)) > Decimal(min(weights)) * (Decimal(num) / Decimal(den)).exp():
            yield "weights that tell more than their epsilon"
    if one**2 * held.variance > held.square:
        yield "a larger epsilon than the limits"
    if promise.epsilon is not None and Fraction(*promise.epsilon) < one:
        yield "a promise below its epsilon"
    if promise.epsilon is None:
        yield "a promise of no epsilon"
    if promise.rho is not None and Fraction(*promise.rho) < one**2 / 2:
        yield "a promise below its rho"
    if mode != "sealed":
        yield "a place told to who holds a key"
    if asked.number <= newest:
        yield "an old Round"


def _list_weights(round: Round) -> list[int]:
    """Return every weight that a Round states, or none where they make no footprint."""
    reach, far, near = round.params[:3]
    rest, found = round.params[_HEAD:], [far, near]
    while rest:
        full, parts = rest[:2] if len(rest) > 1 else (0, -1)
        rest = rest[2:]
        if min(full, parts) < 0 or parts > len(rest) or not 0 < full + parts <= reach + 1:
            return []
        found, rest = [*found, *rest[:parts]], rest[parts:]
    return found


def list_loosened(old: Limits, new: Limits) -> list[str]:
    """Return in what the new limits protect less: in the epsilon of one answer, and of all."""
    # What a device charges for an epsilon, by roots that are rounded to the dear side.
    before, after = (
        Fraction(isqrt(one.square - 1) + 1, isqrt(one.variance)) for one in (old, new)
    )
    return [
        name
        for name, less in (
            ("version", new.version <= old.version),
            ("epsilon", new.square * old.variance > old.square * new.variance),
            ("epsilons in all", new.budget / after > old.budget / before),
            ("budget", new.budget > old.budget),
            ("pace", new.pace_ms < old.pace_ms),
        )
        if less
    ]


def vary_limits(held: Limits, rng: Any) -> Limits:
    """Return limits near those in force, one or two of them changed, up or down a little."""
    version, exponent, square, variance, budget, pace_ms = held
    version += rng.below(4) if rng.below(3) else 1
    for _ in range(1 + rng.below(2)):
        kind = rng.below(5)
        if kind == 0:  # a smaller epsilon, and a budget that falls with it, or nearly
            more = 1 + rng.below(3)
            variance, budget = variance * (8 + more) ** 2, budget * 8 // (8 + more)
            square, budget = square * 64, budget + rng.below(3) - 1
        elif kind == 1:
            square += rng.below(5) - 2
        elif kind == 2:
            variance += rng.below(5) - 2
        elif kind == 3:
            budget += rng.below(5) - 2
        else:
            pace_ms += rng.below(5) - 2
    return Limits(version, exponent, square, variance, budget, pace_ms)
