"""Ways to solve the system of a step, and which one suits a grid.

Every way takes right sides (cells,) or (cells, k) and a guess of the same shape, and is prepared
once for a medium and a step length.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve_banded, cholesky_banded
from scipy.sparse.linalg import cg, splu

from ..places import Floats

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
