"""Layer: the noise of a round is what its promise asks for, to the last grain squared.

The least variance is found by another path, in eighty digits, from the sensitivity that the
round states a price for. It sees a variance that is rounded down, a factor of the wrong formula
or of a wrong number of readings, and noise for nothing. It cannot see whether the sensitivity
is right; `sensitivity` looks at that.
"""

from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

from . import curve
from .claim import Claim, Effort, at_most, true

# One in a thousand of sigma makes up for whole numbers, see `recovery.settle`.
DISCRETE = Decimal("1.001")
# The accountant is held to a millionth; here an epsilon may have been rounded up to a ratio.
NEAR = Decimal("1.005")


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


def enough(
    name: str, promise: Any, square: Fraction, variance: Fraction, times: int
) -> Iterator[Claim]:
    """Yield that a variance is the least that keeps a promise for so many readings."""
    with localcontext(Context(prec=50)):
        epsilon, delta = (_decimal(Fraction(*part)) for part in (promise.epsilon, promise.delta))
        if times == 1:
            asked = (DISCRETE / curve.mu(epsilon, delta)) ** 2
        else:  # many readings are counted in zCDP, in which they add up
            asked = times / (2 * curve.zcdp_rho(epsilon, delta))
        least = asked * _decimal(square)
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
