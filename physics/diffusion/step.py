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
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

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


DAMPED_STEPS = 2


class Prepared(NamedTuple):
    """What steps of one length in one medium need: prepared once."""

    system: System
    solve: Callable[[Floats], Floats]  # right sides, (cells,) or (cells, k)
    step_s: float


def ready(medium: Medium, step_s: float) -> Prepared:
    """Return the system of a medium with its matrix for steps of this length factored."""
    system = assemble(medium)
    matrix = system.conductance + sparse.diags_array(2 / step_s * system.capacity)
    # Positive definite: no pivoting is needed, so the order may be the one that fills least.
    factors = splu(
        matrix.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return Prepared(system, factors.solve, step_s)


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
    return prepared.solve(right.T).T
