"""The least heat that explains the readings: constrained l1 minimisation.

    minimise sum(f)  subject to  ||A f - y|| <= radius  and  0 <= f <= upper

Source: Gilbert and McMillan 2017, Algorithm 1.

Differs from the paper:
1. The radius is the caller's, because the printed sigma sqrt(m) leaves no heat at all
   feasible in a third of the runs; what then comes nearest is returned, and said so.
2. The same program is solved twice over: as printed by cvxpy, the reference, and on the
   operator's own few directions, which is ten times faster and equal to 1e-6.
"""

import time
import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .cone import Found, least_l1, least_residual, reduce

Floats = NDArray[np.float64]

# A solution whose total is proved to be within this of the least, relative, is optimal.
_GAP_MAX = 1e-6
# And it may stay so much further from the readings than the radius, relative.
_BEYOND_MAX = 1e-6


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


def minimise_l1(
    operator: ArrayLike,
    readings: ArrayLike,
    radius: float,
    upper: float = 1.0,
    method: Literal["auto", "cvxpy"] = "auto",
) -> Solution:
    """Return the least heat within 0..upper that comes within the radius of the readings.

    Args:
        operator: A, (sensors, cells).
        readings: y, (sensors,).
        radius: how far A f may stay from the readings, in their unit; at least 0.
        upper: the most heat one cell can hold; positive.
        method: "cvxpy" for the program as printed, "auto" for the same made small.

    Returns:
        A Solution with one of these statuses. "optimal": within the radius but for a
        millionth of it, and proved by weak duality. "zero": no heat explains the readings well
        enough. "infeasible": nothing comes within the radius; the heat that comes nearest.
        "inaccurate": the solver gave up short of a proof.

    Raises:
        ValueError: a number is not finite, a shape does not fit, or a bound is out of range.

    >>> minimise_l1([[1.0, 0.0], [0.0, 1.0]], [0.9, 0.0], 0.4).heat.round(3)
    array([0.5, 0. ])
    """
    started = time.perf_counter()
    matrix, target = _checked(operator, readings, radius, upper)
    if method not in ("auto", "cvxpy"):
        raise ValueError(
            f"method is {method!r} but must be 'auto' or 'cvxpy': nothing else is known here. "
            "Leave it out for the fast one."
        )

    def solution(heat: Floats, status: str, gap: float, iterations: int) -> Solution:
        residual = float(np.linalg.norm(matrix @ heat - target))
        seconds = time.perf_counter() - started
        return Solution(heat, float(heat.sum()), residual, gap, status, iterations, seconds)

    if float(np.linalg.norm(target)) <= radius:
        return solution(np.zeros(matrix.shape[1]), "zero", 0.0, 0)
    small = reduce(matrix, target)
    inside = float(np.sqrt(max(0.0, radius**2 - small.beyond**2)))
    found: Found | None = None
    if method == "cvxpy":
        found = _as_printed(matrix, target, radius, upper)
        bound = _lower_bound(matrix, target, radius, upper, found)
    elif small.beyond <= radius:
        found = least_l1(small.operator, small.readings, inside, upper)
        bound = _lower_bound(small.operator, small.readings, inside, upper, found)
    if found and found.solved:
        gap = float(found.heat.sum()) - bound
        residual = float(np.linalg.norm(matrix @ found.heat - target))
        within = residual <= radius * (1 + _BEYOND_MAX)
        proved = within and gap <= _GAP_MAX * max(upper, float(found.heat.sum()))
        return solution(found.heat, "optimal" if proved else "inaccurate", gap, found.iterations)
    nearest = least_residual(small.operator, small.readings, upper)
    iterations = found.iterations if found else 0
    reached = float(np.linalg.norm(matrix @ nearest - target)) <= radius
    return solution(nearest, "inaccurate" if reached else "infeasible", float("nan"), iterations)


def _as_printed(matrix: Floats, target: Floats, radius: float, upper: float) -> Found:
    """Solve the program in the paper's own words."""
    # Imported here alone: it takes half a second, and the gateway plans without it.
    import cvxpy

    heat = cvxpy.Variable(matrix.shape[1])
    near = cvxpy.SOC(cvxpy.Constant(radius), matrix @ heat - target)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(heat)), [near, heat >= 0, heat <= upper])
    try:
        with warnings.catch_warnings():  # the status and our own gap say it better
            warnings.simplefilter("ignore")
            problem.solve(solver=cvxpy.CLARABEL)
    except cvxpy.error.SolverError:
        return Found(np.zeros(matrix.shape[1]), np.zeros(len(target)), 0, solved=False)
    iterations = int(problem.solver_stats.num_iters or 0)
    if heat.value is None:
        return Found(np.zeros(matrix.shape[1]), np.zeros(len(target)), iterations, solved=False)
    multipliers = np.asarray(near.dual_value[1], dtype=np.float64).ravel()
    return Found(np.clip(heat.value, 0, upper), multipliers, iterations, solved=True)


def _lower_bound(
    matrix: Floats, target: Floats, radius: float, upper: float, found: Found
) -> float:
    """Return a total that no feasible heat can undercut, whatever the multipliers.

    For every nu: nu'y - radius ||nu|| - upper sum(max(0, A'nu - 1)) <= the least total.
    """
    nu = found.multipliers
    excess = np.maximum(0.0, matrix.T @ nu - 1).sum()
    return max(0.0, float(nu @ target - radius * np.linalg.norm(nu) - upper * excess))


def _checked(
    operator: ArrayLike, readings: ArrayLike, radius: float, upper: float
) -> tuple[Floats, Floats]:
    matrix = np.asarray(operator, dtype=np.float64)
    target = np.asarray(readings, dtype=np.float64)
    if matrix.ndim != 2 or target.shape != matrix.shape[:1] or not matrix.size:
        raise ValueError(
            f"the operator has shape {matrix.shape} and the readings {target.shape} but "
            "(sensors, cells) and (sensors,) are needed: each sensor has one row and one "
            "reading. Leave silent sensors out of both."
        )
    if not (np.isfinite(matrix).all() and np.isfinite(target).all()):
        raise ValueError(
            "the operator or a reading is NaN or infinite but all must be finite: one bad "
            "number would spoil the whole map. Leave that sensor out of both."
        )
    for name, value, good in (("radius", radius, radius >= 0), ("upper", upper, upper > 0)):
        if not (good and np.isfinite(value)):
            raise ValueError(
                f"{name} is {value:g} but must be {'positive' if name == 'upper' else '>= 0'} "
                "and finite, or the program has no meaning. Check where it was computed."
            )
    return matrix, target
