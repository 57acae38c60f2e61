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
from dataclasses import dataclass, replace
from typing import Any

import clarabel
import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike, NDArray

from ..l1 import prepare
from ..maps.heatmap import Band

# What the certified band can be asked: the same numbers, seen to fit each other.

Floats = NDArray[np.float64]


def check_problem(
    operator: ArrayLike,
    readings: ArrayLike,
    sigma: float,
    total: float | tuple[float, float],
    upper: ArrayLike,
    level: float,
) -> tuple[Floats, Floats, Floats, tuple[float, float]]:
    """Return the operator, the readings, the limit of each cell and the range of the total.

    Raises:
        ValueError: a number is not finite, a shape does not fit, or a range is empty.
    """
    matrix, target = np.asarray(operator, dtype=float), np.asarray(readings, dtype=float)
    if matrix.ndim != 2 or not matrix.size or target.shape != matrix.shape[:1]:
        raise ValueError(
            f"the operator has shape {matrix.shape} and the readings {target.shape} but "
            "(sensors, cells) and (sensors,) are needed: each sensor has one row and one "
            "reading. Leave silent sensors out of both."
        )
    if not (np.isfinite(matrix).all() and np.isfinite(target).all()):
        raise ValueError(
            "the operator or a reading is NaN or infinite but all must be finite: one bad "
            "number would spoil the whole band. Leave that sensor out of both."
        )
    limits = np.asarray(upper, dtype=float)
    if limits.shape not in ((), matrix.shape[1:]) or not (limits >= 0).all():
        raise ValueError(
            f"upper has shape {limits.shape} or a value below 0 but needs one number, or one a "
            "cell, of at least 0: it is the most heat there. Write 0 where no source can be."
        )
    limits = np.broadcast_to(limits, matrix.shape[1:])
    ends = np.atleast_1d(np.asarray(total, dtype=float))
    if ends.shape not in ((1,), (2,)):
        raise ValueError(
            f"the total heat has shape {ends.shape} but must be one number, or the least and the "
            "most: the band ranges over such heats. Write (1.0, 4.0) for one to four."
        )
    low, high = float(ends[0]), float(ends[-1])
    if not (0 < low <= high < math.inf and low <= limits.sum()):
        raise ValueError(
            f"the total heat is {low:g} to {high:g} in cells that hold {limits.sum():g} but must "
            "be positive, finite, the least first, and fit in: the band ranges over such heats. "
            "Correct the total, or the cells' upper limits."
        )
    if not (0 < sigma < math.inf and 0 < level < 1):
        raise ValueError(
            f"sigma is {sigma:g} and the level {level:g} but need to be positive and between 0 "
            "and 1: they say how far the truth may lie from the readings. Correct them."
        )
    return matrix, target, limits, (low, min(high, float(limits.sum())))


# How large a share of the heat can lie in some of the cells: one cone program each.
#
#     maximise d'g  subject to  sum g = 1,  0 <= g <= upper t,  ||B g - t c|| <= t radius,
#                               1 / most <= t <= 1 / least
#
# Here g = f / sum f are the shares of a heat f and t = 1 / sum f, so that a total known only to
# lie between two numbers keeps the program convex. Whatever the solver answers, its multipliers
# prove a bound by weak duality, and that bound is what is returned: for any nu and mu
#
#     d'g <= mu + max over t of t (sum upper (d - mu - B'nu)+ + nu'c + radius ||nu||)
#
# The multipliers of one program bound every other one too, at the cost of a running sum.

# Neighbouring cells warm the sensors alike. With many, the programs are solved on so many of
# them, at least, and so many for each direction; the proofs are then had from all cells.
_COLUMNS = 160, 12
# A share that may be this large may be all.
_ALL = 1 - 1e-7
# A bound is a sum of numbers this much larger than itself, each with a rounding of its own.
_ROUNDING = 1e-14


@dataclass(frozen=True, slots=True, eq=False)
class Explaining:
    """Every heat that explains the readings: the set that the programs range over."""

    operator: Floats  # B, (directions, cells)
    readings: Floats  # c, (directions,)
    radius: float
    upper: Floats  # (cells,), positive
    total: tuple[float, float]  # the least and the most heat in all


def bound_shares(heats: Explaining, solved: NDArray[np.int64]) -> Floats | None:
    """Return what no share of heat exceeds, (2, cells), or None where no heat explains anything.

    First the share of each cell and all before it, then of all cells after it; each is proved
    by the best of the multipliers of the programs for the cells in `solved`.
    """
    cells = np.arange(heats.operator.shape[1])
    multipliers = None
    columns = max(_COLUMNS[0], _COLUMNS[1] * len(heats.readings))
    if len(cells) > 2 * columns:
        even = np.linspace(0, len(cells) - 1, columns).round().astype(np.int64)
        few = np.unique(np.concatenate([even, solved, np.minimum(solved + 1, cells[-1])]))
        room = np.minimum(heats.upper[few] * (len(cells) / len(few)), heats.total[1])
        thin = replace(heats, operator=heats.operator[:, few], upper=room)
        multipliers = _find_multipliers(thin, few <= solved[:, None])
    if multipliers is None:
        multipliers = _find_multipliers(heats, cells <= solved[:, None])
    if multipliers is None:
        return None
    return np.stack([_prove(heats, *multipliers, last=last) for last in (False, True)])


def measure_least_misfit(heats: Explaining) -> float:
    """Return how near to the readings any heat of such a total within the bounds comes."""
    cells, rows = heats.operator.shape[1], len(heats.readings)
    size = float(np.linalg.norm(heats.readings)) or 1.0
    one = np.ones((1, cells))
    box = scipy.sparse.vstack([-scipy.sparse.eye_array(cells), scipy.sparse.eye_array(cells)])
    far = -np.eye(2 * cells + 3 + rows, 1, k=-(2 * cells + 2))  # the cone's first row
    cone = scipy.sparse.csc_array(np.vstack([np.zeros((1, cells)), -heats.operator / size]))
    matrix = scipy.sparse.hstack(
        [scipy.sparse.vstack([box, -one, one, cone]), scipy.sparse.csc_array(far)]
    )
    least, most = heats.total
    limits = np.concatenate(
        [np.zeros(cells), heats.upper, [-least, most, 0.0], -heats.readings / size]
    )
    cones = [clarabel.NonnegativeConeT(2 * cells + 2), clarabel.SecondOrderConeT(rows + 1)]
    answer = _make_solver(np.append(np.zeros(cells), 1.0), matrix, limits, cones).solve()
    return float(answer.x[-1]) * size


def _find_multipliers(
    heats: Explaining, before: NDArray[np.bool_]
) -> tuple[Floats, Floats] | None:
    """Return nu and mu of the programs for the cells before, and for those that are not.

    Args:
        before: (programs, cells), each row with all cells of the one above.
    """
    rows, cells = heats.operator.shape
    least, most = heats.total
    known = least == most
    # The unknowns are g and, in the unit 1 / most, t; what bounds g from above may not bind.
    binding = np.flatnonzero(heats.upper < most)
    shares = np.eye(cells, cells + 1)
    capped = shares[binding]
    capped[:, -1] = -heats.upper[binding] / most
    equal = [np.append(np.ones(cells), 0.0)] + [np.append(np.zeros(cells), 1.0)] * known
    spare = [] if known else [np.eye(1, cells + 1, cells), -np.eye(1, cells + 1, cells)]
    cone = np.zeros((1 + rows, cells + 1))
    cone[0, -1] = -1 / most
    cone[1:, :-1] = -heats.operator / heats.radius
    cone[1:, -1] = heats.readings / heats.radius / most
    matrix = np.vstack([equal, -shares, capped, *spare, cone])
    limits = np.concatenate(
        [
            np.ones(1 + known),
            np.zeros(cells + len(binding)),
            [] if known else [most / least, -1.0],
            np.zeros(1 + rows),
        ]
    )
    cones = [
        clarabel.ZeroConeT(1 + known),
        clarabel.NonnegativeConeT(len(limits) - 2 - known - rows),
        clarabel.SecondOrderConeT(1 + rows),
    ]
    cost = np.zeros(cells + 1)
    solver = _make_solver(cost, matrix, limits, cones)
    # Begin with the pair that proves of every share that it is at most one.
    nu, mu = [np.zeros(rows)], [1.0]
    for growing in (before, ~before[::-1]):
        for goal in growing:
            cost[:-1] = -goal.astype(float)
            solver.update(q=cost)
            answer = solver.solve()
            if str(answer.status) in ("PrimalInfeasible", "AlmostPrimalInfeasible"):
                return None
            dual = np.array(answer.z)
            if np.isfinite(dual).all():
                nu.append(-dual[-rows:] / heats.radius)
                mu.append(dual[0])
            if -answer.obj_val > _ALL:  # and so it is of whatever holds these cells
                break
    return np.array(nu), np.array(mu)


def _prove(heats: Explaining, nu: Floats, mu: Floats, last: bool) -> Floats:
    """Return the least of the bounds that each nu and mu prove, (cells,), for every goal."""
    priced = nu @ heats.operator
    fixed = nu @ heats.readings + heats.radius * np.linalg.norm(nu, axis=1)
    # What the products are summed from, which may cancel, and what their rounding goes by.
    parts = 1 + np.abs(mu) + (np.abs(nu) @ np.abs(heats.operator)).max(axis=1)
    sizes = np.abs(nu) @ np.abs(heats.readings) + heats.total[1] * parts
    fixed += _ROUNDING * len(heats.upper) * sizes
    least, most = heats.total

    def bound(mu: Floats, excess: Floats) -> Floats:
        times = excess + fixed[:, None]
        return np.asarray((mu + np.maximum(times / least, times / most)).min(axis=0))

    # Either mu as the solver has it, with a price for what exceeds it, or mu so that nothing does.
    inside = np.maximum(0.0, 1 - mu[:, None] - priced) * heats.upper
    outside = np.maximum(0.0, -mu[:, None] - priced) * heats.upper
    if last:
        inside, outside = outside, inside
    excess = np.cumsum(inside, axis=1) + (
        outside.sum(axis=1, keepdims=True) - np.cumsum(outside, axis=1)
    )
    ones = (1 - priced, -priced)
    head, tail = ones[::-1] if last else ones
    after = np.maximum.accumulate(tail[:, ::-1], axis=1)[:, ::-1]
    after = np.concatenate([after[:, 1:], np.full((len(nu), 1), -np.inf)], axis=1)
    free = np.maximum(np.maximum.accumulate(head, axis=1), after)
    return np.minimum(bound(mu[:, None], excess), bound(free, np.zeros_like(excess)))


def _make_solver(cost: Floats, matrix: Any, limits: Floats, cones: list[Any]) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.presolve_enable = False  # or the costs could not be exchanged
    # Half the time, for bounds that are some 1e-5 looser on average, and as well proved.
    settings.iterative_refinement_enable = False
    nothing = scipy.sparse.csc_matrix((len(cost), len(cost)))
    return clarabel.DefaultSolver(
        nothing, cost, scipy.sparse.csc_matrix(matrix), limits, cones, settings
    )


# A direction is looked at where moving all heat from one place to another can change it by
# twice this many deviations: a weaker one widens the ball by more than it tells.
_WORTH = 2.0
# Programs solved for each of the two bounds; between them the same proofs hold.
_POINTS = 25


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


def certify_band(
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

    >>> found = certify_band([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0], 0.01, total=1.0)
    >>> found.band.low.round(2), found.band.high.round(2)
    (array([0.99, 1.  ]), array([1., 1.]))
    """
    matrix, target, limits, span = check_problem(operator, readings, sigma, total, upper, level)
    open_cells = np.flatnonzero(limits)
    basis = find_directions(matrix[:, open_cells], sigma, span)
    radius = sigma * math.sqrt(2 * scipy.special.gammaincinv(basis.shape[1] / 2, level))
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
    highest = bound_shares(heats, solved)
    least = measure_least_misfit(heats) if highest is None else math.inf
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
        least = measure_least_misfit(heats)
    return Certified(
        None,
        f"infeasible: no such heat comes nearer to the readings than {least / sigma:.2f} "
        f"deviations, where {radius / sigma:.2f} hold with a chance of {level:g}; the total, "
        "the spread or the noise may be stated wrongly",
        basis.shape[1],
    )


def measure_least_deviation(
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
        others: as for `certify_band`, places in a plane too.

    Raises:
        ValueError: a number is not finite, a shape does not fit, or a range is empty.

    >>> off, chance = measure_least_deviation([[1, 0], [0, 1]], [-3, 0], sigma=1, total=(0, 9))
    >>> round(off, 3), round(chance, 3)
    (3.0, 0.011)
    """
    low, high = total
    matrix, target, limits, (_, most) = check_problem(operator, readings, sigma, high, upper, 0.5)
    open_cells = np.flatnonzero(limits)
    span = (min(low, most), most)
    basis = find_directions(matrix[:, open_cells], sigma, span)
    least = measure_least_misfit(
        Explaining(
            basis.T @ matrix[:, open_cells],
            basis.T @ target,
            sigma,
            np.minimum(limits[open_cells], most),
            span,
        )
    )
    deviations = max(0.0, least / sigma)
    return deviations, float(scipy.special.chdtrc(basis.shape[1], deviations**2))


def bound_distance(band: Band, heat: ArrayLike, places: ArrayLike) -> float:
    """Return how far a map is from the truth at most, where the band holds.

    The earth mover's distance along a line is the area between two cumulative shares, and
    within the band that is nowhere more than the way to its further edge.

    Args:
        band: of the same cells as the map.
        heat: (cells,), not negative, some of it.
        places: (cells,), rising, in the unit of the answer.

    >>> band = Band(0.9, np.array([0.25, 1.0]), np.array([0.875, 1.0]))
    >>> bound_distance(band, heat=[1, 1], places=[0, 2])
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


def find_directions(operator: Floats, sigma: float, total: tuple[float, float]) -> Floats:
    """Return U, (sensors, r): the combinations of readings that tell places apart.

    They are chosen by the operator and the noise alone. A choice by the readings would be
    one more chance to be wrong. What all places have in common is left out where the total is
    known, for then it tells nothing.

    Raises:
        ValueError: more sensors than cells, and an operator that is nought.

    Source: a singular value decomposition of the readings that one place for all the heat
    can give, about their mean.
    """
    sensors, cells = operator.shape
    if sensors > cells:  # which tell no more directions apart than there are cells
        ready = prepare(operator)
        return ready.basis.T @ find_directions(ready.small, sigma, total)
    scenes = np.concatenate([amount * operator for amount in sorted(set(total))], axis=1)
    scenes = scenes - scenes.mean(axis=1, keepdims=True)
    basis = np.linalg.svd(scenes, full_matrices=False)[0]
    told = basis.T @ scenes
    reach = (told.max(axis=1) - told.min(axis=1)) / 2
    return basis[:, : max(1, int((reach >= _WORTH * sigma).sum()))]
