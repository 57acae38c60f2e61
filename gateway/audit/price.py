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
from .claim import Claim, Effort, at_most

# One in a thousand of sigma makes up for whole numbers, see `recovery.settle`.
DISCRETE = Decimal("1.001")
NEAR = 1 + 1e-6


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield, for each room, that there is noise enough, and not more."""
    for name, query in mechanism.subject.rooms():
        round = mechanism.plan(query, ())
        family, (num, den) = mechanism.subject.noise(round)
        if family == "dgauss":
            square = mechanism.subject.promised(round)
            times = mechanism.subject.readings(query)
            yield from enough(name, round.guarantee, square, Fraction(num, den), times)


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
        # Both roundings up: of the factor, by a millionth at most, and to a whole number.
        most = least * Decimal(NEAR) + 1
        given = _decimal(variance)
    words = f"{name}: the noise of {times} reading{'s' * (times > 1)}"
    yield Claim(
        f"{words} is no less than epsilon and delta ask for, by eighty digits",
        1.0,
        float(least / given),
        least <= given,
        unit="variance asked / given",
        samples=1,
        detail=f"asked {least:.9g}, given {given:.9g} grains squared",
    )
    yield at_most(
        f"{words} is no more than that, but for the next whole number",
        float(most / least),
        float(given / least),
        unit="variance given / asked",
        samples=1,
    )


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
