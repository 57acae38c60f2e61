"""The l1 program, made small and handed to the Clarabel solver directly.

A blurring operator has few directions that carry anything: A = U B with r orthonormal
columns in U and B of shape (r, cells), r about a dozen. Since

    ||A f - y||**2 = ||B f - U'y||**2 + ||y - U U'y||**2

nothing is lost when the cone has r rows instead of one for every sensor.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import clarabel
import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Directions weaker than this, beside the strongest, are rounding; leaving them out moves
# the least total heat by less than 1e-12 of itself.
_RANK_TOLERANCE = 1e-13


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
    kept = strengths > _RANK_TOLERANCE * strengths[0]
    return directions[:, kept], strengths[kept, None] * cells[kept]


def least_l1(operator: Floats, readings: Floats, radius: float, upper: float | Floats) -> Found:
    """Minimise sum(f) subject to ||operator f - readings|| <= radius and 0 <= f <= upper.

    With f = upper u and the cone divided by the radius the numbers are near one whatever
    the units, which the solver's absolute tolerances need.
    """
    cells = operator.shape[1]
    most = float(np.max(upper))
    size = float(np.linalg.norm(readings))
    scale = radius if radius > 1e-6 * size else size
    blocks = [[_box(cells)], [scipy.sparse.csc_array((1, cells))], [operator * (upper / scale)]]
    limits = np.concatenate([_box_limits(cells), [radius / scale], readings / scale])
    cost = np.broadcast_to(upper, cells) / most
    answer = _solve(cost, blocks, limits, len(readings))
    return Found(
        np.clip(np.array(answer.x), 0, 1) * upper,
        -np.array(answer.z)[2 * cells + 1 :] * (most / scale),
        answer.iterations,
        str(answer.status) in ("Solved", "AlmostSolved"),
    )


def least_residual(operator: Floats, readings: Floats, upper: float | Floats) -> Floats:
    """Return the heat within 0..upper that comes nearest to the readings."""
    cells = operator.shape[1]
    size = float(np.linalg.norm(readings)) or 1.0
    # One more unknown, last: the distance to the readings, which the cone keeps honest.
    blocks = [
        [_box(cells), None],
        [None, scipy.sparse.csc_array(np.array([[-1.0]]))],
        [operator * (upper / size), None],
    ]
    limits = np.concatenate([_box_limits(cells), [0.0], readings / size])
    answer = _solve(np.append(np.zeros(cells), 1.0), blocks, limits, len(readings))
    return np.clip(np.array(answer.x)[:cells], 0, 1) * upper


def _solve(cost: Floats, blocks: list[list[Any]], limits: Floats, rows: int) -> Any:
    """Minimise cost'x subject to limits - A x in the box's half-lines and one cone."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    constraints = scipy.sparse.csc_matrix(scipy.sparse.block_array(blocks))
    cones = [
        clarabel.NonnegativeConeT(len(limits) - rows - 1),
        clarabel.SecondOrderConeT(rows + 1),
    ]
    nothing = scipy.sparse.csc_matrix((len(cost), len(cost)))
    return clarabel.DefaultSolver(nothing, cost, constraints, limits, cones, settings).solve()


def _box(cells: int) -> Any:
    eye = scipy.sparse.eye_array(cells)
    return scipy.sparse.vstack([-eye, eye])


def _box_limits(cells: int) -> Floats:
    return np.repeat([0.0, 1.0], cells)
