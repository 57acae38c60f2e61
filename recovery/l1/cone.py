"""The l1 program as cone programs, by cvxpy and Clarabel: as printed, and made small.

Both are slow and independent of the active set: the one is its reference, the other what is
left where it has no proof.
"""

import math
import time
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import active_set
from .directions import RANK_TOLERANCE, Prepared

# The program made small: in the operator's own few directions (`recovery.l1.directions`) nothing
# is lost, and the cone has one row for each of them instead of one for every sensor.

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reduced:
    """The same readings in the few directions that carry anything."""

    operator: Floats  # B, (r, cells)
    readings: Floats  # U'y, (r,)
    beyond: float  # what no heat can explain: ||y - U U'y||


@dataclass(frozen=True, slots=True)
class Found:
    """What a solver says: heat, and the multipliers that show how good it is."""

    heat: Floats
    multipliers: Floats  # one a row of the operator, in the program's own units
    iterations: int
    solved: bool


def reduce(operator: Floats, readings: Floats) -> Reduced:
    """Return the readings and the operator in the operator's own directions."""
    basis, small = _directions(operator.shape, operator.tobytes())
    inside = basis.T @ readings
    return Reduced(small, inside, float(np.linalg.norm(readings - basis @ inside)))


@lru_cache(maxsize=2)
def _directions(shape: tuple[int, int], entries: bytes) -> tuple[Floats, Floats]:
    """Return U and B; kept, because a room is read many times and this is half the work."""
    operator = np.frombuffer(entries).reshape(shape)
    directions, strengths, cells = np.linalg.svd(operator, full_matrices=False)
    kept = strengths > RANK_TOLERANCE * strengths[0]
    return directions[:, kept], strengths[kept, None] * cells[kept]


def least_l1(matrix: Floats, target: Floats, radius: float, ceiling: Floats) -> Found:
    """Minimise sum(f) subject to ||matrix f - target|| <= radius and 0 <= f <= ceiling."""
    # Imported here alone: it takes half a second, and the gateway plans without it.
    import cvxpy

    heat = cvxpy.Variable(matrix.shape[1])
    near = cvxpy.SOC(cvxpy.Constant(radius), matrix @ heat - target)
    most = float(ceiling[0]) if (ceiling == ceiling[0]).all() else ceiling
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(heat)), [near, heat >= 0, heat <= most])
    nothing = Found(np.zeros(matrix.shape[1]), np.zeros(len(target)), 0, solved=False)
    if not _solved(problem):
        return nothing
    iterations = int(problem.solver_stats.num_iters or 0)
    if heat.value is None:
        return replace(nothing, iterations=iterations)
    multipliers = np.asarray(near.dual_value[1], dtype=np.float64).ravel()
    return Found(np.clip(heat.value, 0, ceiling), multipliers, iterations, solved=True)


def least_residual(matrix: Floats, target: Floats, ceiling: Floats) -> Floats:
    """Return the heat within 0..ceiling that comes nearest to the readings."""
    import cvxpy

    heat = cvxpy.Variable(matrix.shape[1])
    off = cvxpy.Minimize(cvxpy.norm(matrix @ heat - target))
    found = _solved(cvxpy.Problem(off, [heat >= 0, heat <= ceiling]))
    if not found or heat.value is None:
        return np.zeros(matrix.shape[1])
    return np.asarray(np.clip(heat.value, 0, ceiling))


def _solved(problem: Any) -> bool:
    """Solve it; False where the solver gave up."""
    import cvxpy

    try:
        with warnings.catch_warnings():  # the status and our own gap say it better
            warnings.simplefilter("ignore")
            problem.solve(solver=cvxpy.CLARABEL)
    except cvxpy.error.SolverError:
        return False
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Heat, and how sure it is the least."""

    heat: Floats  # (cells,), within 0..upper
    objective: float  # sum of the heat
    residual: float  # ||A f - y||, in the unit of the readings
    gap: float  # the objective exceeds the least possible by at most this; NaN if unknown
    status: str  # "optimal", "zero", "infeasible" (nearest heat) or "inaccurate"
    iterations: int
    seconds: float
    # nu, (sensors,): for every heat within 0..upper and the radius, its sum is at least
    # nu'y - radius ||nu|| - sum(upper max(0, A'nu - 1)). Where the status is "infeasible",
    # of length one, and nu'y - sum(upper max(0, A'nu)) is how near any heat can come.
    multipliers: Floats
    method: str  # "fast", "small" or "cvxpy": what found it
    # What the readings cannot tell whatever the noise; empty where they tell cells apart.
    undetermined: str = ""


# A solution whose total is proved to be within this of the least, relative, is optimal.
GAP_MAX = 1e-6
# And it may stay so much further from the readings than the radius, relative.
BEYOND_MAX = 1e-6
# Of so many numbers a cone program takes minutes.
_MOST = 4_000_000


def status_of(code: int, objective: float, residual: float, gap: float, radius: float) -> str:
    """Return the word for what the kernel found, believed only as far as its own gap goes."""
    if code == active_set.ZERO:
        return "zero"
    within = residual <= radius * (1 + BEYOND_MAX)
    if code == active_set.OPTIMAL and within and gap <= GAP_MAX * objective:
        return "optimal"
    # The gap is then that of the least residual.
    if code == active_set.NEAREST and residual - gap > radius:
        return "infeasible"
    return "inaccurate"


def by_cvxpy(
    matrix: Floats,
    ready: Prepared,
    target: Floats,
    radius: float,
    ceiling: Floats,
    undetermined: str = "",
) -> Solution:
    """Return the solution in the paper's own words; `ready` only for what comes nearest."""
    started = time.perf_counter()
    if float(np.linalg.norm(target)) <= radius:
        heat, nu = np.zeros(matrix.shape[1]), np.zeros(len(target))
        found = Found(heat, nu, 0, solved=True)
    else:
        found = least_l1(matrix, target, radius, ceiling)
    if not found.solved:
        inside, _ = ready.compress(target)
        nearest = least_residual(ready.small, inside, ceiling)
        found = replace(found, heat=nearest)
    solution = _labelled(matrix, target, radius, ceiling, found, "cvxpy", started)
    return replace(solution, undetermined=undetermined)


def by_clarabel(
    ready: Prepared, target: Floats, radius: float, ceiling: Floats, undetermined: str = ""
) -> Solution | None:
    """Return the solution on the few directions; None where even these are too many."""
    started = time.perf_counter()
    if ready.small.size > _MOST:
        return None
    operator = ready.small
    inside, beyond = ready.compress(target)
    outside = float(np.linalg.norm(beyond))
    room = math.sqrt(max(0.0, radius**2 - outside**2))
    found = Found(np.zeros(operator.shape[1]), np.zeros(len(inside)), 0, solved=False)
    if outside < radius:
        found = least_l1(operator, inside, room, ceiling)
    if not found.solved:
        found = replace(found, heat=least_residual(operator, inside, ceiling))
    # In the space of the sensors the multipliers are along y - A f, as here along c - B f.
    length = float(np.linalg.norm(inside - operator @ found.heat))
    share = float(np.linalg.norm(found.multipliers)) / length if length else 0.0
    small = _labelled(operator, inside, room, ceiling, found, "small", started)
    return replace(
        small,
        residual=math.hypot(small.residual, outside),
        multipliers=ready.expand(small.multipliers) + share * beyond,
        undetermined=undetermined,
    )


def _labelled(
    matrix: Floats, target: Floats, radius: float, ceiling: Floats, found: Found, method: str,
    started: float,
) -> Solution:  # fmt: skip
    """Return the solution with what is proved of it, whatever the solver says."""
    heat, nu = found.heat, found.multipliers
    objective = float(heat.sum())
    residual = float(np.linalg.norm(matrix @ heat - target))
    within = residual <= radius * (1 + BEYOND_MAX)
    gap = objective - _lower_bound(matrix, target, radius, ceiling, nu)
    if not found.solved:
        status, gap = "inaccurate" if residual <= radius else "infeasible", math.nan
    elif not objective and within:
        status, gap = "zero", 0.0
    else:
        proved = within and gap <= GAP_MAX * max(float(ceiling.max()), objective)
        status = "optimal" if proved else "inaccurate"
    seconds = time.perf_counter() - started
    return Solution(heat, objective, residual, gap, status, found.iterations, seconds, nu, method)


def _lower_bound(
    matrix: Floats, target: Floats, radius: float, ceiling: Floats, nu: Floats
) -> float:
    """Return a total that no feasible heat can undercut, whatever the multipliers nu.

    nu'y - radius ||nu|| - sum(ceiling max(0, A'nu - 1))
    """
    excess = (ceiling * np.maximum(0.0, matrix.T @ nu - 1)).sum()
    return max(0.0, float(nu @ target - radius * np.linalg.norm(nu) - excess))
