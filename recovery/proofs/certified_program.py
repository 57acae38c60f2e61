"""How large a share of the heat can lie in some of the cells: one cone program each.

    maximise d'g  subject to  sum g = 1,  0 <= g <= upper t,  ||B g - t c|| <= t radius,
                              1 / most <= t <= 1 / least

Here g = f / sum f are the shares of a heat f and t = 1 / sum f, so that a total known only to
lie between two numbers keeps the program convex. Whatever the solver answers, its multipliers
prove a bound by weak duality, and that bound is what is returned: for any nu and mu

    d'g <= mu + max over t of t (sum upper (d - mu - B'nu)+ + nu'c + radius ||nu||)

The multipliers of one program bound every other one too, at the cost of a running sum.
"""

from dataclasses import dataclass, replace
from typing import Any

import clarabel
import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Neighbouring cells warm the sensors alike. With many, the programs are solved on so many of
# them, at least, and so many for each direction; the proofs are then had from all cells.
_COLUMNS = 160, 12
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


def highest_shares(heats: Explaining, solved: NDArray[np.int64]) -> Floats | None:
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
        multipliers = _multipliers(thin, few <= solved[:, None])
    if multipliers is None:
        multipliers = _multipliers(heats, cells <= solved[:, None])
    if multipliers is None:
        return None
    return np.stack([_proved(heats, *multipliers, last=last) for last in (False, True)])


def nearest(heats: Explaining) -> float:
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
    answer = _solver(np.append(np.zeros(cells), 1.0), matrix, limits, cones).solve()
    return float(answer.x[-1]) * size


def _multipliers(heats: Explaining, before: NDArray[np.bool_]) -> tuple[Floats, Floats] | None:
    """Return nu and mu of the programs for the cells before, and for those that are not.

    One row of either for every row of `before`, twice, and one more at the end.
    """
    goals = np.concatenate([before, ~before]).astype(float)
    rows, cells = heats.operator.shape
    least, most = heats.total
    known = least == most
    # The unknowns are g and, in the unit 1 / most, t; what bounds g from above may not bind.
    binding = np.flatnonzero(heats.upper < most)
    shares = scipy.sparse.eye_array(cells, format="csr")
    equal = [np.append(np.ones(cells), 0.0)] + [np.append(np.zeros(cells), 1.0)] * known
    unequal = [
        scipy.sparse.hstack([-shares, scipy.sparse.csr_array((cells, 1))]),
        scipy.sparse.hstack([shares[binding], -heats.upper[binding, None] / most]),
    ]
    spare = [] if known else [np.eye(1, cells + 1, cells), -np.eye(1, cells + 1, cells)]
    cone = np.zeros((1 + rows, cells + 1))
    cone[0, -1] = -1 / most
    cone[1:, :-1] = -heats.operator / heats.radius
    cone[1:, -1] = heats.readings / heats.radius / most
    matrix = scipy.sparse.vstack([np.array(equal), *unequal, *spare, cone])
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
    cost = np.append(-goals[0], 0.0)
    solver = _solver(cost, matrix, limits, cones)
    nu, mu = np.empty((len(goals), rows)), np.empty(len(goals))
    for index, goal in enumerate(goals):
        if index:
            cost[:-1] = -goal
            solver.update(q=cost)
        answer = solver.solve()
        if str(answer.status) in ("PrimalInfeasible", "AlmostPrimalInfeasible"):
            return None
        dual = np.array(answer.z)
        nu[index], mu[index] = -dual[-rows:] / heats.radius, dual[0]
    usable = np.isfinite(nu).all(axis=1) & np.isfinite(mu)
    # And the pair that proves of every share that it is at most one.
    return np.vstack([nu[usable], np.zeros(rows)]), np.append(mu[usable], 1.0)


def _proved(heats: Explaining, nu: Floats, mu: Floats, last: bool) -> Floats:
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


def _solver(cost: Floats, matrix: Any, limits: Floats, cones: list[Any]) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.presolve_enable = False  # or the costs could not be exchanged
    nothing = scipy.sparse.csc_matrix((len(cost), len(cost)))
    return clarabel.DefaultSolver(
        nothing, cost, scipy.sparse.csc_matrix(matrix), limits, cones, settings
    )
