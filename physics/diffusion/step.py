"""One step in time: Crank-Nicolson, and the damped way that begins it.

With C the capacity and K the conductance, both need only the middle of a step,

    (2 C / step + K) middle = 2 C / step before + inflow,

which is half a step of backward Euler. As much again, after = 2 middle - before, is the
Crank-Nicolson step, of second order; two such halves one after the other are the damped step, of
first order, which kills the steps and points that Crank-Nicolson would let ring. So one
prepared matrix serves both, and a few damped steps at the start keep the whole at second order.

Means over a step are all that is known of what drives it. So a damped step ends with the mean,
half a step behind an outside that moves; at a side that is kept at that outside, it shows.

Source: Rannacher 1984, Numerische Mathematik 43, 309-327; Giles and Carter 2006, Journal of
Computational Finance 9(4), for four half steps.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve_banded, cholesky_banded
from scipy.sparse.linalg import cg, splu

from ..places import Floats
from .assemble import System, assemble, inflow, outflow
from .medium import Drive, Medium

# Where the heat went: what was stored, against what came in and went out.


class Balance(NamedTuple):
    """Heat since a run began, in joules: stored = powered - out - ventilated, to rounding.

    Numbers for one field, (k,) for many. The flows are those that the step itself used. When a
    medium changes, the new material takes the temperature of the old: that is not a flow, and
    stored counts what came after.
    """

    stored_j: Floats | float
    powered_j: Floats | float
    out_j: Floats | float
    ventilated_j: Floats | float

    @property
    def missing_j(self) -> Floats | float:
        """What came in, did not go out and is not stored: rounding, or a fault."""
        return self.powered_j - self.out_j - self.ventilated_j - self.stored_j

    def plus(self, other: "Balance") -> "Balance":
        """Return the balance of both times together."""
        return Balance(*(mine + more for mine, more in zip(self, other, strict=True)))


NOTHING = Balance(0.0, 0.0, 0.0, 0.0)


# Ways to solve the system of a step, and which one suits a grid.
#
# Every way takes right sides (cells,) or (cells, k) and a guess of the same shape, and is prepared
# once for a medium and a step length.

Solve: TypeAlias = Callable[[Floats, Floats], Floats]

# Above these, what the factors of LU take (seconds and hundreds of megabytes) outgrows the
# iterations: the separators of a grid are lines in a plan, and planes in a room.
_DIRECT = {2: 300_000, 3: 15_000}
# Of the right side's norm. Then the answers agree with the direct ones to 1e-9 and better.
_TOLERANCE = 1e-12
_ITERATIONS = 200


class Way(NamedTuple):
    """How systems are solved, and the reason in words."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


def choose(shape: tuple[int, ...], solver: str = "auto") -> Way:
    """Return the way for a grid: a band on a line, direct on a plan, multigrid in a large room.

    Args:
        shape: the cells along each axis.
        solver: "auto", or "band", "direct" or "multigrid" to have that one.

    Raises:
        ValueError: another solver, or a band for more than a line.
    """
    count, axes = int(np.prod(shape)), sum(size > 1 for size in shape)
    if solver not in ("auto", "band", "direct", "multigrid") or (solver == "band" and axes > 1):
        raise ValueError(
            f"solver is {solver!r} for {' x '.join(map(str, shape))} cells but must be 'auto', "
            "'direct', 'multigrid', or 'band' on a line, for these are the ways there are. Give "
            "'auto' to have it chosen by size."
        )
    if solver != "auto":
        return Way(solver, f"asked for, with {count} cells along {axes} axes")
    if axes < 2:
        return Way("band", f"{count} cells on a line make a band of three diagonals")
    if count <= _DIRECT[axes]:
        return Way(
            "direct",
            f"{count} cells along {axes} axes are few enough (to {_DIRECT[axes]}) that factors "
            "made once serve every step",
        )
    return Way(
        "multigrid",
        f"{count} cells along {axes} axes are so many (above {_DIRECT[axes]}) that the factors "
        "of a direct solver would fill the memory",
    )


def prepare(matrix: sparse.csr_array, way: Way) -> Solve:
    """Return what solves systems with this symmetric positive definite matrix."""
    return {"band": _band, "direct": _direct, "multigrid": _multigrid}[way.name](matrix)


def _band(matrix: sparse.csr_array) -> Solve:
    band = np.zeros((2, matrix.shape[0]))
    band[0] = matrix.diagonal()
    band[1, :-1] = matrix.diagonal(1)
    factor = cholesky_banded(band, lower=True)
    return lambda right, guess: cho_solve_banded((factor, True), right)


def _direct(matrix: sparse.csr_array) -> Solve:
    # Positive definite: no pivoting is needed, so the order may be the one that fills least.
    factors = splu(
        matrix.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return lambda right, guess: factors.solve(right)


def _multigrid(matrix: sparse.csr_array) -> Solve:
    """Conjugate gradients, preconditioned by one V-cycle of classical multigrid.

    Classical and not aggregated: it took fewer iterations here, and draws no random number.
    """
    from pyamg import ruge_stuben_solver  # slow to import, and only large rooms need it

    levels = ruge_stuben_solver(sparse.csr_matrix(matrix))
    cycle = levels.aspreconditioner(cycle="V")
    # What the residuals of a constant add to: the same field everywhere.
    ones = matrix.sum()

    def one(right: Floats, guess: Floats) -> Floats:
        answer, stopped = cg(
            matrix, right, x0=guess, rtol=_TOLERANCE, atol=0.0, maxiter=_ITERATIONS, M=cycle
        )
        if stopped:
            raise ValueError(
                f"multigrid is not at {_TOLERANCE:g} of the right side after {_ITERATIONS} "
                "iterations but must be, or heat would get lost. Are there conductivities that "
                "differ by more than ten powers of ten? Ask for solver='direct'."
            )
        # A constant more, so that the residuals add to nought: no heat is made by stopping here.
        return np.asarray(answer + (right - matrix @ answer).sum() / ones)

    def many(right: Floats, guess: Floats) -> Floats:
        if right.ndim == 1:
            return one(right, guess)
        pairs = zip(right.T, guess.T, strict=True)
        return np.stack([one(*pair) for pair in pairs], axis=1)

    return many


DAMPED_STEPS = 2


class Prepared(NamedTuple):
    """What steps of one length in one medium need: prepared once."""

    system: System
    solve: Solve
    step_s: float


def ready(medium: Medium, step_s: float, way: Way) -> Prepared:
    """Return the system of a medium with its matrix for steps of this length prepared."""
    system = assemble(medium)
    matrix = system.conductance + sparse.diags_array(2 / step_s * system.capacity)
    return Prepared(system, prepare(matrix.tocsr(), way), step_s)


def advance(
    prepared: Prepared, before: Floats, drive: Drive, damped: bool
) -> tuple[Floats, Balance]:
    """Return the field (..., cells) a step later, and where its heat came from and went.

    Args:
        before: temperatures above the baseline, in K.
        damped: two halves of backward Euler instead of Crank-Nicolson.
    """
    system, _, step_s = prepared
    given = inflow(system, drive)
    middle = _half_step(prepared, before, given)
    if damped:
        after = _half_step(prepared, middle, given)
        flows = zip(*(outflow(system, field, drive) for field in (middle, after)), strict=True)
        out, ventilated = (sum(pair) * step_s / 2 for pair in flows)
    else:
        after = 2 * middle - before
        out, ventilated = (flow * step_s for flow in outflow(system, middle, drive))
    power = np.asarray(drive.power_w, dtype=float)
    inner = tuple(range(power.ndim - len(system.medium.shape), power.ndim))
    powered = np.broadcast_to(power.sum(axis=inner) * step_s, before.shape[:-1])
    return after, Balance((after - before) @ system.capacity, powered, out, ventilated)


def _half_step(prepared: Prepared, before: Floats, given: Floats) -> Floats:
    right = 2 / prepared.step_s * prepared.system.capacity * before + given
    # Solvers take fields as columns.
    return prepared.solve(right.T, before.T).T
