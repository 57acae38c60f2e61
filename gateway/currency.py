"""In which unit a promise speaks of what is spent: rho, or of a pure promise its epsilon.

The ledger counts rho, whatever was promised, because that adds up over all mechanisms. Of a pure
promise every round has the same price and the epsilons themselves add up (`terms` sees to both),
so there an amount of rho is a number of rounds, and that many times the epsilon of one round is
what each device has given away. Nothing is reckoned with this: it is how prices are told.

Source: Dwork and Roth 2014, Theorem 3.16 (epsilons add up); Bun and Steinke 2016, Proposition 1.4
(a pure epsilon costs epsilon**2 / 2).
"""

from fractions import Fraction
from math import isqrt
from typing import NamedTuple


class Unit(NamedTuple):
    """What prices are told in: its name, and how much of it one rho is."""

    name: str
    of_one: Fraction

    def of(self, rho: Fraction) -> Fraction:
        """Return an amount of rho in this unit, exactly."""
        return rho * self.of_one

    def said(self, rho: Fraction, digits: int = 4) -> str:
        """Return an amount of rho as one says it.

        >>> RHO.said(Fraction(1, 3)), pure(Fraction(1, 8)).said(Fraction(3, 8))
        ('rho 0.3333', 'epsilon 1.5')
        """
        return f"{self.name} {float(self.of(rho)):.{digits}g}"

    def exactly(self, rho: Fraction) -> str:
        """Return an amount of rho as one writes it without loss.

        >>> RHO.exactly(Fraction(3, 8)), pure(Fraction(1, 8)).exactly(Fraction(3, 8))
        ('rho 3/8', 'epsilon 3/2')
        """
        return f"{self.name} {self.of(rho)}"

    @property
    def is_epsilon(self) -> bool:
        """Whether this is the unit of a pure promise."""
        return self.name == EPSILON


EPSILON = "epsilon"
RHO = Unit("rho", Fraction(1))


def pure(each: Fraction) -> Unit:
    """Return the unit of a pure promise whose rounds cost so much rho each.

    Rounds whose price is not half of a square have no epsilon of their own: those stay in rho.

    >>> pure(Fraction(49, 8)), pure(Fraction(1, 3)).name
    (Unit(name='epsilon', of_one=Fraction(4, 7)), 'rho')
    """
    epsilon = _root(2 * each)
    return RHO if epsilon is None else Unit(EPSILON, epsilon / each)


def _root(square: Fraction) -> Fraction | None:
    found = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return found if found > 0 and found * found == square else None
