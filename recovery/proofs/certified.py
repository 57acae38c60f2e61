"""A band that the true map cannot leave but by bad luck, whatever the map is.

The noise is the veil's own, so its law is known exactly. A heat that lies further from the
readings than that law allows is refused; between the least and the largest share that the
others put into the first cells lies the truth. No prior, no sparsity, no asymptotics.

    low(x), high(x) = min, max of  sum of f up to x / sum of f  over
    { 0 <= f <= upper, least <= sum f <= most, ||U'(A f - y)|| <= sigma chi_r(level) }

Differs from the paper:
1. Its Theorem 9 bounds the error of one estimate before any reading; here each reading says
   how much it leaves open, for any heat whatever.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike, NDArray

from ..uncertainty import Band
from .certified_input import checked
from .certified_program import Explaining, highest_shares, nearest

Floats = NDArray[np.float64]

# A direction is looked at where moving all heat from one place to another can change it by
# twice this many deviations: a weaker one widens the ball by more than it tells.
_WORTH = 2.0
# Programs solved for each of the two bounds; between them the same proofs hold.
_POINTS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Certified:
    """A band with a proof, or the reason why there is none.

    Args:
        band: its level is the least chance, over the noise, that the whole of the true
            cumulative share lies within, at all points at once; None where no heat explains
            the readings.
        status: "certified", with what is missing if the band is no help, or a sentence that
            begins with "infeasible".
        directions: r, how many combinations of the readings were looked at.
    """

    band: Band | None
    status: str
    directions: int


def certified_band(
    operator: ArrayLike,
    readings: ArrayLike,
    sigma: float,
    total: float | tuple[float, float],
    upper: ArrayLike = math.inf,
    level: float = 0.9,
    points: int = _POINTS,
) -> Certified:
    """Return between what the cumulative share of heat lies, wherever the heat may be.

    Args:
        operator: A, (sensors, cells), the cells in order along a line.
        readings: y, (sensors,), in kelvin.
        sigma: deviation of the independent normal noise on each, in kelvin; positive.
        total: all heat together where it is known, or the least and the most it can be.
        upper: the most heat in one cell, or one number a cell; 0 where no source can be.
        level: chance that the band holds, over the noise.
        points: how many points of each bound are solved for; the others are looser.

    Raises:
        ValueError: a number is not finite, a shape does not fit, or a range is empty.

    >>> found = certified_band([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0], 0.01, total=1.0)
    >>> found.band.low.round(2), found.band.high.round(2)
    (array([0.99, 1.  ]), array([1., 1.]))
    """
    matrix, target, limits, span = checked(operator, readings, sigma, total, upper, level)
    open_cells = np.flatnonzero(limits)
    basis = directions(matrix[:, open_cells], sigma, span)
    radius = sigma * math.sqrt(scipy.stats.chi2.ppf(level, basis.shape[1]))
    heats = Explaining(
        basis.T @ matrix[:, open_cells],
        basis.T @ target,
        radius,
        np.minimum(limits[open_cells], span[1]),
        span,
    )
    solved = np.unique(
        np.linspace(0, len(open_cells) - 1, max(1, points)).round().astype(np.int64)
    )
    highest = highest_shares(heats, solved)
    least = nearest(heats) if highest is None else math.inf
    if least <= radius:  # the solver is at odds with itself, and has proved nothing
        highest = np.ones((2, len(open_cells)))
    if highest is not None:
        high = np.minimum.accumulate(np.minimum(1.0, highest[0])[::-1])[::-1]
        low = np.maximum.accumulate(np.maximum(0.0, 1 - highest[1]))
        if (low <= high + 1e-9).all():
            low = np.minimum(low, high)
            told = bool((low[:-1] > 1e-9).any() or (high[:-1] < 1 - 1e-9).any())
            status = "certified" if told else "certified: nothing; the readings leave all open"
            low[-1] = high[-1] = 1.0
            where = np.cumsum(limits > 0) - 1  # a closed cell has what the one before it has
            low, high = (np.where(where < 0, 0.0, bound[where]) for bound in (low, high))
            return Certified(Band(level, low, high), status, basis.shape[1])
        least = nearest(heats)
    return Certified(
        None,
        f"infeasible: no such heat comes nearer to the readings than {least / sigma:.2f} "
        f"deviations, where {radius / sigma:.2f} hold with a chance of {level:g}; the total, "
        "the spread or the noise may be stated wrongly",
        basis.shape[1],
    )


def least_deviation(
    operator: ArrayLike,
    readings: ArrayLike,
    sigma: float,
    total: tuple[float, float],
    upper: ArrayLike = math.inf,
) -> tuple[float, float]:
    """Return how near to the readings any heat comes, and the chance of noise that is so large.

    In deviations of the noise, over the combinations of readings that tell places apart. No
    heat is nearer than the nearest, so the second number is a p-value, whatever the heat is: of
    a heat within the bounds it is 0.01 or less in at most one of a hundred readings.

    Args:
        total: the least and the most heat together; the least may be 0.
        others: as for `certified_band`, places in a plane too.

    Raises:
        ValueError: a number is not finite, a shape does not fit, or a range is empty.

    >>> off, chance = least_deviation([[1, 0], [0, 1]], [-3, 0], sigma=1, total=(0, 9))
    >>> round(off, 3), round(chance, 3)
    (3.0, 0.011)
    """
    low, high = total
    matrix, target, limits, (_, most) = checked(operator, readings, sigma, high, upper, 0.5)
    open_cells = np.flatnonzero(limits)
    span = (min(low, most), most)
    basis = directions(matrix[:, open_cells], sigma, span)
    least = nearest(
        Explaining(
            basis.T @ matrix[:, open_cells],
            basis.T @ target,
            sigma,
            np.minimum(limits[open_cells], most),
            span,
        )
    )
    deviations = max(0.0, least / sigma)
    return deviations, float(scipy.stats.chi2.sf(deviations**2, basis.shape[1]))


def certified_distance(band: Band, heat: ArrayLike, places: ArrayLike) -> float:
    """Return how far a map is from the truth at most, where the band holds.

    The earth mover's distance along a line is the area between two cumulative shares, and
    within the band that is nowhere more than the way to its further edge.

    Args:
        band: of the same cells as the map.
        heat: (cells,), not negative, some of it.
        places: (cells,), rising, in the unit of the answer.

    >>> band = Band(0.9, np.array([0.25, 1.0]), np.array([0.875, 1.0]))
    >>> certified_distance(band, heat=[1, 1], places=[0, 2])
    0.75
    """
    share = np.cumsum(np.asarray(heat, dtype=float))
    line = np.asarray(places, dtype=float)
    rising = share.shape == line.shape == band.low.shape and (np.diff(line) > 0).all()
    if not (rising and 0 < share[-1] < math.inf and (np.diff(share, prepend=0.0) >= 0).all()):
        raise ValueError(
            f"the map has shape {share.shape} and the places {line.shape} where the band has "
            f"{band.low.shape}, but need one heat of at least 0 and one rising place a cell, or "
            "the area between them has no meaning. Take all three from the same grid."
        )
    share = share / share[-1]
    further = np.maximum(band.high - share, share - band.low)
    return float(further[:-1] @ np.diff(line))


def directions(operator: Floats, sigma: float, total: tuple[float, float]) -> Floats:
    """Return U, (sensors, r): the combinations of readings that tell places apart.

    They are chosen by the operator and the noise alone. A choice by the readings would be
    one more chance to be wrong. What all places have in common is left out where the total is
    known, for then it tells nothing.

    Source: a singular value decomposition of the readings that one place for all the heat
    can give, about their mean.
    """
    scenes = np.concatenate([amount * operator for amount in sorted(set(total))], axis=1)
    scenes = scenes - scenes.mean(axis=1, keepdims=True)
    basis = np.linalg.svd(scenes, full_matrices=False)[0]
    told = basis.T @ scenes
    reach = (told.max(axis=1) - told.min(axis=1)) / 2
    return basis[:, : max(1, int((reach >= _WORTH * sigma).sum()))]
