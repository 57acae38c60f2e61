"""What a level that follows the readings adds to the most that a move can change.

A sensor's readings, D grains apart at the most, become D + c grains apart, with

    c = min(ceil(2 slew (readings - 1)), D)

for the last answer of a window, and less for those before it: proved in `edge.background`. It
holds for whoever is displaced at every moment, and by another way at each, so every sensor may
have parted by as much as it ever can while another sensor feels the move of now. Over m sensors

    sum (D + c)**2 <= S + 2 c sqrt(m S) + m c**2,   S = sum D**2,

by Cauchy and Schwarz, and no D is larger than the root of S.
"""

import math
from dataclasses import replace
from fractions import Fraction

from edge.background import Follower

from .settle import Moved
from .thermal_query import Query


def followed(change: Moved, slew: Fraction) -> Moved:
    """Return what a move changes where a level follows: never less than it really can.

    Args:
        change: what it changes where the level is recorded.
        slew: what the level moves by at the most at one answer, in the temperatures' unit.
    """

    def square(exponent: int) -> int:
        parted = parting(slew, change.readings) * Fraction(2) ** exponent
        return raised(change.square(exponent), change.sensors, parted)

    carried = min(float(parting(slew, change.readings)), change.counted)
    counted = change.counted + math.sqrt(change.sensors) * carried
    return replace(change, counted=counted, square=square)


def sent_square(query: Query, square: int, exponent: int) -> int:
    """Return the squared l2 norm of what is sent, in grains, of what readings change by."""
    if query.slew is None:
        return square
    parted = parting(query.slew, query.readings) * Fraction(2) ** exponent
    return raised(square, math.prod(query.sensors), parted)


def parting(slew: Fraction, readings: int) -> Fraction:
    """Return how far two levels that began alike can part before the last of so many answers."""
    return 2 * slew * (readings - 1)


def raised(square: int, sensors: int, parted: Fraction) -> int:
    """Return the squared l2 norm of what is sent, in grains, where levels part by so many grains.

    Args:
        square: the same where the level is recorded.

    >>> raised(square=4, sensors=1, parted=Fraction(1, 2)), raised(4, 1, Fraction(100))
    (9, 16)
    """
    carried = carry(math.isqrt(square), parted)
    cross = 4 * carried**2 * sensors * square
    return square + sensors * carried**2 + math.isqrt(cross - 1) + 1 if carried else square


def carry(apart: int, parted: Fraction) -> int:
    """Return what a level adds to readings that are never so many grains further apart."""
    return min(math.ceil(parted), apart)


def follower(query: Query) -> Follower | None:
    """Return what a device of this query takes its level from, None where that is recorded."""
    if query.background != "following" or query.slew is None:
        return None
    return Follower(query.slew.as_integer_ratio(), query.readings)
