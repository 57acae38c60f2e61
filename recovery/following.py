"""What a level that follows the readings adds to the most that a move can change.

A sensor's readings, D grains apart at the most, become D + c grains apart, with

    c = min(round(a) - round(-a), D),   a = slew (readings - 1),

which is about 2 a, for the last answer of a window, and less for those before it: proved in
`edge.background`. It holds for whoever is displaced at every moment, and another way at each, so
the level of every sensor may have parted by as much as it ever can while another sensor feels the
move of now. A device prices what it is asked in a finer grain by the square of the planned one,
and a rounds otherwise there: so c is the most of the planned grain and of all finer ones.
Over m sensors

    sum (D + c)**2 <= S + 2 c sqrt(m S) + m c**2,   S = sum D**2,

by Cauchy and Schwarz, and no D is larger than the root of S.
"""

import math
from dataclasses import replace
from fractions import Fraction

from edge.background import Follower
from edge.refusals import EXPONENTS

from .settle import Moved
from .thermal_query import Query


def followed(change: Moved, slew: Fraction) -> Moved:
    """Return what a move changes where a level follows: never less than it really can.

    Args:
        change: what it changes where the level is recorded.
        slew: what the level moves by at the most at one answer, in the temperatures' unit.
    """

    def square(exponent: int) -> int:
        way = furthest(slew, change.readings) * Fraction(2) ** exponent
        return raised(change.square(exponent), change.sensors, way)

    carried = min(2 * float(furthest(slew, change.readings)), change.counted)
    counted = change.counted + math.sqrt(change.sensors) * carried
    return replace(change, counted=counted, square=square)


def sent_square(query: Query, square: int, exponent: int) -> int:
    """Return the squared l2 norm of what is sent, in grains, of what readings change by."""
    if query.slew is None:
        return square
    way = furthest(query.slew, query.readings) * Fraction(2) ** exponent
    return raised(square, math.prod(query.sensors), way)


def furthest(slew: Fraction, readings: int) -> Fraction:
    """Return how far a level can get before the last of so many answers."""
    return slew * (readings - 1)


def raised(square: int, sensors: int, way: Fraction) -> int:
    """Return the squared l2 norm of what is sent, in grains, where levels go so many grains.

    Args:
        square: the same where the level is recorded.

    >>> raised(square=4, sensors=1, way=Fraction(1, 2)), raised(4, 1, Fraction(100))
    (9, 16)
    """
    carried = carried_at_finer(math.isqrt(square), way)
    if not carried:
        return square
    cross = math.ceil(4 * carried**2 * sensors * square)
    return square + math.ceil(sensors * carried**2) + math.isqrt(cross - 1) + 1


def carried_at_finer(apart: int, way: Fraction) -> Fraction:
    """Return the most that `carry` comes to in this grain and any finer one, in this one.

    >>> carry(9, Fraction(1, 4)), str(carried_at_finer(9, Fraction(1, 4)))
    (0, '1/2')
    """
    most = 2 * way  # that it tends to as grains become fine
    for finer in range(2 * EXPONENTS + 1):
        if 2 * way + Fraction(1, 2**finer) <= most:
            break
        most = max(most, Fraction(carry(apart << finer, way * 2**finer), 2**finer))
    return min(most, Fraction(apart))


def carry(apart: int, way: Fraction) -> int:
    """Return by how many grains levels can part.

    Args:
        apart: how many grains two readings of a sensor differ by, at the most.
        way: how many grains a level can get from where it began, at the most.
    """
    half = Fraction(1, 2)  # rounded as on the device: a half goes up
    return min(math.floor(way + half) - math.floor(half - way), apart)


def follower(query: Query) -> Follower | None:
    """Return what a device of this query takes its level from, None where that is recorded."""
    if query.background != "following" or query.slew is None:
        return None
    return Follower(query.slew.as_integer_ratio(), query.readings)
