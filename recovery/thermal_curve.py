"""What a thermal query's noise hides and does not hide, each at the spread where it is felt most.

The noise is made for the protected distance. Another distance, or a source that comes or goes,
may be felt most at another spread, so each is looked for by itself.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from .following import sent_square
from .normal import ndtr
from .ratio import check_ratio
from .responses import coming, displacement, most_sent
from .settle import Calibration, delivered, exact_epsilon, moved
from .spreads import felt
from .thermal_noise import as_printed, calibration, operator, room
from .thermal_query import Query, protected_cells
from .thermal_tables import exact_delta, held
from .whole import bounded, whole_square
from .worst import PRESENCE, Grains, worst_squares

_SERIES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True)
class Distance:
    """How well two places up to so far apart are hidden from whoever sees all readings."""

    cells: int
    sensitivity: float  # of the temperatures, in units
    epsilon: float
    right: float  # chance that the best test tells them apart; 1/2 is a blind guess


def distances(query: Query) -> tuple[int, ...]:
    """Return the distances, in cells, that tell most: a series, the protected one, the room."""
    if query.response is not None:
        far = query.response.far_cells
        return tuple(sorted({*far, protected_cells(query)}))
    longest = max(query.grid.shape) - 1
    own = min(protected_cells(query), longest)
    return tuple(sorted({own, longest, *(d for d in _SERIES if d < longest)}))


def curve(query: Query, cells: Iterable[int] | None = None) -> list[Distance]:
    """Return how well the query's noise hides a move of up to each of these distances.

    For all readings of the window together, by the exact curve of the Gaussian; none of the
    numbers is smaller than the truth at any spread from the stated one up. Where noise is from
    tables and delta does not pay for them so far, infinity: nothing is promised.

    Args:
        cells: the distances, growing; `distances(query)` by default.
    """
    made, asked = calibration(query), tuple(cells or distances(query))
    delta = check_ratio(exact_delta(query), "delta")
    continuous, squares = _changes(query, made, asked)
    found = []
    for distance, change, square in zip(asked, continuous, squares, strict=True):
        epsilon = held(query, exact_epsilon(square, made.variance, made.readings, delta))
        apart = math.sqrt(square * made.readings / made.variance)
        found.append(Distance(distance, change, epsilon, ndtr(apart / 2)))
    return found


def presence(query: Query) -> float:
    """Return the epsilon of a source that comes or goes, for all readings of the window.

    Readings add up, so it is that of one more source beside any number of others, too.
    """
    made, delta = calibration(query), check_ratio(exact_delta(query), "delta")
    square = presence_square(query, made)
    return held(query, exact_epsilon(square, made.variance, made.readings, delta))


def presence_square(query: Query, made: Calibration) -> int:
    """Return how much a source that comes or goes changes what is sent, squared in grains."""
    if query.response is not None:
        found = most_sent(coming(query), made.exponent, query.step)
        return sent_square(query, found, made.exponent)
    if as_printed(query):
        warmth = operator(query)
        block = bounded(warmth, query.intensity_max, float(warmth.max()))
        return sent_square(query, whole_square([block], made.exponent, query.step), made.exponent)
    grains = Grains(made.exponent, query.step, query.intensity_max)
    found = worst_squares(room(query), (PRESENCE,), grains)[0]
    return sent_square(query, found, made.exponent)


def given(query: Query, made: Calibration) -> float:
    """Return the epsilon that this noise gives in the world of that query, at its delta.

    Args:
        query: the room, its sensors and sources as they really are, and the readings.
        made: the noise, made for another world or for fewer readings.
    """
    changed = _changes(query, made, (protected_cells(query),))[1][0]
    delta = check_ratio(exact_delta(query), "delta")
    return held(query, delivered(changed, made.variance, query.readings, delta))


def _changes(
    query: Query, made: Calibration, cells: tuple[int, ...]
) -> tuple[list[float], list[int]]:
    """Return the most that moves up to each distance change: in kelvin, and squared in grains."""
    if query.response is not None:
        paths = [displacement(query, far) for far in cells]
        squares = [most_sent(path, made.exponent, query.step) for path in paths]
        return [path.joint for path in paths], _sent(query, squares, made)
    if as_printed(query):
        here = [
            moved(operator(query), query.grid.shape, far, query.intensity_max, query.step, 1)
            for far in cells
        ]
        squares = [one.square(made.exponent) for one in here]
        return [one.continuous for one in here], _sent(query, squares, made)
    continuous = query.intensity_max * felt(room(query), cells).moves.max(axis=0)
    grains = Grains(made.exponent, query.step, query.intensity_max)
    return continuous.tolist(), _sent(query, worst_squares(room(query), cells, grains), made)


def _sent(query: Query, squares: list[int], made: Calibration) -> list[int]:
    return [sent_square(query, square, made.exponent) for square in squares]
