"""An operator in its own few directions, and the least heat by a cone program on them.

A blurring operator has few directions that carry anything: A = U B with r orthonormal columns
in U and B of shape (r, cells), r about a dozen. Since

    ||A f - y||**2 = ||B f - U'y||**2 + ||y - U U'y||**2

nothing is lost when r numbers stand for the readings of all sensors. The cone programs are
slow and independent of the active set of `recovery.sparse`: as printed its reference, in the few
directions what is left where it has no proof.
"""

import math
import time
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike, NDArray

from .kernels import active_set
from .recent import Recent
from .sequence import uniforms

# A matrix A = U B in its own few directions, U with orthonormal columns.
#
# A blurring operator has so few of them that a handful of its products with a fixed sequence of
# numbers finds them all; what these leave behind is measured on two products more.
#
# Source: Halko, Martinsson and Tropp 2011, algorithm 4.1 and equation (4.3).

Floats = NDArray[np.float64]

# Directions weaker than this beside the strongest are rounding; leaving them
# out moves the least total heat by less than 1e-12 of itself.
RANK_TOLERANCE = 1e-13
# A sketch begins with so many directions and must leave so few of the operator's behind.
_SKETCH = 24
_LEFT_MAX = 1e-12


def decompose(matrix: Floats) -> tuple[Floats, Floats]:
    """Return U' and B, by a singular value decomposition."""
    if not np.isfinite(matrix).all():
        raise ValueError(
            "the operator has a NaN or an infinite entry but all must be finite: one bad number "
            "would spoil the whole map. Leave that sensor out, of the readings too."
        )
    directions, strengths, cells = np.linalg.svd(matrix, full_matrices=False)
    kept = strengths > RANK_TOLERANCE * strengths[0]
    return directions[:, kept].T, strengths[kept, None] * cells[kept]


def sketch(matrix: Floats) -> tuple[Floats, Floats] | None:
    """Return U' and B, None where the rank is not low."""
    sensors, cells = matrix.shape
    looks = _SKETCH
    while 2 * looks <= min(sensors, cells):
        probes = _draw_probes(cells, looks + 2)
        seen = matrix @ probes
        size = float(np.abs(seen).max())
        if not (math.isfinite(size) and size > 0):
            return None
        basis, factor, _ = scipy.linalg.qr(
            seen[:, :looks], mode="economic", pivoting=True, check_finite=False
        )
        depth = np.abs(np.diagonal(factor))
        rank = max(1, int((depth > RANK_TOLERANCE * depth[0]).sum()))
        if rank < looks - 4:
            basis = np.ascontiguousarray(basis[:, :rank].T)
            small = basis @ matrix
            left = np.abs(seen[:, looks:] - basis.T @ (small @ probes[:, looks:])).max() / size
            if left < _LEFT_MAX:
                return basis, small
        looks *= 2
    return None


@lru_cache(maxsize=4)
def _draw_probes(cells: int, looks: int) -> Floats:
    return uniforms(cells * looks, stream=7).reshape(cells, looks) - 0.5


# Of a smooth price so many cells are looked at for each direction along an axis.
_LOOKS = 8
# Dense operators of so many entries are kept, should the same be asked for again.
_KEPT = 1 << 19
# Fewer cells than this along a line are all looked at.
_FEW = 256


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """An operator A = U B, factorised once."""

    basis: Floats  # U', (r, sensors)
    small: Floats  # B, (r, cells)
    coarse: Floats  # B of every step-th cell
    step: int
    grain: float  # the norm of the largest column
    apart: float  # no two columns are further apart

    @property
    def shape(self) -> tuple[int, int]:
        """(sensors, cells), as of A."""
        return self.basis.shape[1], self.small.shape[1]

    @property
    def rank(self) -> int:
        """How many directions carry anything."""
        return len(self.small)

    def compress(self, readings: Floats) -> tuple[Floats, Floats]:
        """Return U'y, (r,), and y - U U'y, (sensors,), of y, (sensors,)."""
        inside = np.dot(readings, self.basis.T)
        return inside, readings - self.expand(inside)

    def expand(self, inside: Floats) -> Floats:
        """Return U times r numbers, (sensors,)."""
        return np.dot(inside, self.basis)


def as_floats(name: str, given: ArrayLike) -> Floats:
    """Return real numbers as an array.

    Raises:
        ValueError: they are text, complex, a sparse matrix or anything else.
    """
    held = np.asarray(given)
    if held.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} is a {type(given).__name__} of {held.dtype} but must hold real numbers, an "
            "array or lists of them: a solver looks at single entries. Convert it."
        )
    return np.ascontiguousarray(held, dtype=np.float64)


def prepare(operator: ArrayLike | Prepared) -> Prepared:
    """Return the operator, A, (sensors, cells), in its own few directions.

    Raises:
        ValueError: no matrix of real numbers, an entry that is not finite, or nothing but noughts.
    """
    if isinstance(operator, Prepared):
        return operator
    matrix = as_floats("the operator", operator)
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(
            f"the operator has shape {matrix.shape} but (sensors, cells) is needed, for each "
            "sensor has one row. Leave silent sensors out."
        )
    if matrix.size > _KEPT:
        return _make_prepared(*(sketch(matrix) or decompose(matrix)))
    if (found := _recent.find(None, (matrix,))) is not None:
        return found
    return _recent.keep(
        None, (matrix.copy(),), _make_prepared(*(sketch(matrix) or decompose(matrix)))
    )


_recent = Recent[Prepared](4)


def _make_prepared(basis: Floats, small: Floats) -> Prepared:
    """Return the record of U', (r, sensors), and B, (r, cells)."""
    if not small.any():
        raise ValueError(
            "the operator is nought everywhere but some sensor must see some cell, for readings "
            "that no heat changes say nothing of it. Is the spread in the unit of the places?"
        )
    rank, cells = small.shape
    step = max(1, cells // (_LOOKS * rank)) if cells >= _FEW else 1
    whole = np.ascontiguousarray(small)
    away = whole - whole.mean(axis=1, keepdims=True)
    return Prepared(
        np.ascontiguousarray(basis),
        whole,
        np.ascontiguousarray(whole[:, step // 2 :: step]) if step > 1 else whole,
        step,
        math.sqrt(float(np.einsum("ij,ij->j", whole, whole).max())),
        2 * math.sqrt(float(np.einsum("ij,ij->j", away, away).max())),
    )


@dataclass(frozen=True, slots=True)
class Found:
    """What a solver says: heat, and the multipliers that show how good it is."""

    heat: Floats
    multipliers: Floats  # one a row of the operator, in the program's own units
    iterations: int
    solved: bool


def least_l1(matrix: Floats, target: Floats, radius: float, ceiling: Floats) -> Found:
    """Minimise sum(f) subject to ||matrix f - target|| <= radius and 0 <= f <= ceiling."""
    # Imported here alone: it takes half a second, and the gateway plans without it.
    import cvxpy

    # In these units the numbers are near one, which the solver's absolute tolerances need.
    most, size = float(ceiling.max()), float(np.linalg.norm(target))
    unit = radius if radius > 1e-6 * size else size
    share = cvxpy.Variable(matrix.shape[1])
    near = cvxpy.SOC(
        cvxpy.Constant(radius / unit), (matrix * (most / unit)) @ share - target / unit
    )
    bounds = [share >= 0, share <= _bound(ceiling)]
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(share)), [near, *bounds])
    nothing = Found(np.zeros(matrix.shape[1]), np.zeros(len(target)), 0, solved=False)
    if not _solve(problem):
        return nothing
    iterations = int(problem.solver_stats.num_iters or 0)
    if share.value is None:
        return replace(nothing, iterations=iterations)
    multipliers = np.asarray(near.dual_value[1], dtype=np.float64).ravel() * (most / unit)
    return Found(np.clip(most * share.value, 0, ceiling), multipliers, iterations, solved=True)


def least_residual(matrix: Floats, target: Floats, ceiling: Floats) -> Floats:
    """Return the heat within 0..ceiling that comes nearest to the readings."""
    import cvxpy

    most, size = float(ceiling.max()), float(np.linalg.norm(target)) or 1.0
    share = cvxpy.Variable(matrix.shape[1])
    off = cvxpy.Minimize(cvxpy.norm((matrix * (most / size)) @ share - target / size))
    found = _solve(cvxpy.Problem(off, [share >= 0, share <= _bound(ceiling)]))
    if not found or share.value is None:
        return np.zeros(matrix.shape[1])
    return np.asarray(np.clip(most * share.value, 0, ceiling))


def _bound(ceiling: Floats) -> float | Floats:
    """Return each cell's share of the largest bound, one number where all are alike."""
    return 1.0 if (ceiling == ceiling[0]).all() else ceiling / ceiling.max()


def _solve(problem: Any) -> bool:
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
    solution = _judge_solution(matrix, target, radius, ceiling, found, "cvxpy", started)
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
    small = _judge_solution(operator, inside, room, ceiling, found, "small", started)
    return replace(
        small,
        residual=math.hypot(small.residual, outside),
        multipliers=ready.expand(small.multipliers) + share * beyond,
        undetermined=undetermined,
    )


def _judge_solution(
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
