"""Layer: the noise of a round is what its promise asks for, to the last grain squared.

The least variance is found by another path, in eighty digits, from the sensitivity that the
round states a price for. It sees a variance that is rounded down, a factor of the wrong formula
or of a wrong number of readings, and noise for nothing. It cannot see whether the sensitivity
is right; `sensitivity` looks at that.
"""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

from . import curve
from .claim import Claim, Effort, at_most, true

# One in a thousand of sigma makes up for whole numbers, see `recovery.settle`.
DISCRETE = Decimal("1.001")
# The accountant is held to a millionth; here an epsilon may have been rounded up to a ratio.
NEAR = Decimal("1.005")
TIMES = (*range(1, 65), 96, 100, 365, 1000, 1440)  # readings that one promise is shared by


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield, for each room, that there is noise enough, and not more."""
    for name, query in mechanism.subject.rooms():
        round = mechanism.plan(query, ())
        family, (num, den) = mechanism.subject.noise(round)
        if family == "dgauss":
            square = mechanism.subject.promised(round)
            times = mechanism.subject.readings(query)
            yield from enough(name, round.guarantee, square, Fraction(num, den), times)
            yield ends(name, mechanism, query, times, effort)
    yield from shared(mechanism)


def shared(mechanism: Any) -> Iterator[Claim]:
    """Yield the same of every number of readings, and of several promises, in one small room."""
    rooms = [query for _, query in mechanism.subject.rooms() if query.response is None]
    if not rooms:
        return
    room = min(rooms, key=lambda query: query.grid.shape[0] * query.grid.shape[1])
    least, most, looked, where = Decimal(0), Decimal(0), 0, ""
    for epsilon, delta in (((1, 4), (1, 1000)), ((1, 1), (1, 100000)), ((8, 1), (1, 10**9))):
        for times in TIMES:
            query = replace(room, epsilon=epsilon, delta=delta, readings=times, keyholder=False)
            asked = mechanism.plan(query, ())
            given = Fraction(mechanism.subject.noise(asked)[1][0])
            needed = _needed(asked.guarantee, mechanism.subject.promised(asked), times)
            ratio, slack = needed / _decimal(given), (_decimal(given) - 1) / needed
            most, looked = max(most, slack), looked + 1
            if ratio > least:
                least, where = ratio, f"{times} readings at epsilon {epsilon[0]}/{epsilon[1]}"
    yield at_most(
        "whatever number of readings shares a promise, their noise is no less than it asks for",
        1.0,
        float(least),
        unit="variance asked / given",
        samples=looked,
        detail=where,
    )
    yield at_most(
        "and no more than that, but for numbers rounded up",
        float(NEAR),
        float(most),
        unit="variance given / asked",
        samples=looked,
    )


@lru_cache(maxsize=64)
def _factor(epsilon: Fraction, delta: Fraction, many: bool) -> Decimal:
    """Return the variance for a sensitivity of one: of one reading, or of each of many."""
    with localcontext(Context(prec=50)):
        asked = _decimal(epsilon), _decimal(delta)
        if not many:
            return (DISCRETE / curve.mu(*asked)) ** 2
        return 1 / (2 * curve.zcdp_rho(*asked))  # many are counted in zCDP, where they add up


def _needed(promise: Any, square: Fraction, times: int) -> Decimal:
    """Return the least variance, in grains squared, that keeps a promise for so many readings."""
    with localcontext(Context(prec=50)):
        of_one = _factor(Fraction(*promise.epsilon), Fraction(*promise.delta), times > 1)
        return of_one * times * _decimal(square)


def enough(
    name: str, promise: Any, square: Fraction, variance: Fraction, times: int
) -> Iterator[Claim]:
    """Yield that a variance is the least that keeps a promise for so many readings."""
    with localcontext(Context(prec=50)):
        least = _needed(promise, square, times)
        most = least * NEAR + 1
        given = _decimal(variance)
    readings = f"{times} reading{'s' * (times > 1)}"
    yield Claim(
        f"{name}: the noise planned is no less than epsilon and delta ask for, by eighty digits",
        1.0,
        float(least / given),
        least <= given,
        unit="variance asked / given",
        samples=1,
        detail=f"asked {least:.9g}, given {given:.9g} grains squared, {readings}",
    )
    yield at_most(
        f"{name}: the noise planned is no more than that, but for numbers rounded up",
        float(most / least),
        float(given / least),
        unit="variance given / asked",
        samples=1,
    )


def ends(name: str, mechanism: Any, query: Any, times: int, effort: Effort) -> Claim:
    """Return the claim that no more is asked than the promise holds for, at one price."""
    releases: list[Any] = []
    prices, tape = set(), effort.tape("ends", name)
    while len(releases) <= times and (round := mechanism.plan(query, releases)):
        prices.add((round.params, round.guarantee))
        reading = mechanism.subject.inputs(round)[-1]
        releases.append(mechanism.release(round, [mechanism.report(round, reading, tape)], tape))
    return true(
        f"{name}: no more readings can be asked than the promise is made for",
        len(releases) == times and len(prices) == 1,
        samples=len(releases),
        detail=f"{times} promised, {len(releases)} asked at {len(prices)} prices",
    )


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
