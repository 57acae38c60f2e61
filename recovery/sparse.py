"""The least heat that explains the readings: constrained l1 minimisation.

    minimise sum(f)  subject to  ||A f - y|| <= radius  and  0 <= f <= upper

Source: Gilbert and McMillan 2017, Algorithm 1.

Differs from the paper:
1. The radius is the caller's, because the printed sigma sqrt(m) leaves no heat at all
   feasible in a third of the runs; what then comes nearest is returned, and said so.
2. The same program is solved in three ways: as printed by cvxpy, the reference; on the
   operator's own few directions by Clarabel; and there by an active set whose every step is
   exact, a thousand times faster than as printed and more the larger the room.
3. `upper` may differ from cell to cell, and be 0 where no source can be.
"""

import math
import time
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from physics.operators.lowrank import LowRank
from physics.operators.separable import Separable

from .compiled import tier
from .kernels import active_set
from .l1 import asked
from .l1.directions import Prepared, matrix_of
from .l1.directions import prepare as prepare
from .l1.printed import by_clarabel, by_cvxpy, status_of
from .l1.solution import Solution as Solution
from .l1.solution import Solutions as Solutions

Floats = NDArray[np.float64]
Operator: TypeAlias = ArrayLike | LowRank | Separable | Prepared

# Of so many numbers, cells times directions, compiling pays at once.
_WORTH = 4_000_000
_NOBODY = np.empty(0, np.int64)


def minimise_l1(
    operator: Operator,
    readings: ArrayLike,
    radius: float,
    upper: ArrayLike = 1.0,
    method: Literal["auto", "cvxpy", "fast"] = "auto",
    start: Solution | None = None,
) -> Solution:
    """Return the least heat within 0..upper that comes within the radius of the readings.
    "fast" and batches are compiled where numba is installed: once, that takes twenty seconds.

    Args:
        operator: A, (sensors, cells); dense, `LowRank`, `Separable`, or what `prepare` made of
            one of them, which pays where it is used again.
        readings: y, (sensors,).
        radius: how far A f may stay from the readings, in their unit; at least 0. Less than a
            billionth of the readings' length is taken as that, for nearer is rounding.
        upper: the most heat one cell can hold, positive; or (cells,), 0 where no source can be.
        method: "cvxpy" for the program as printed. "fast" for the active set, compiled if numba
            is there. "auto" for the same, compiled where that is done already or pays at once,
            and Clarabel's answer where the active set has no proof of its own.
        start: the solution of a moment ago; its warm cells are tried first.

    Returns:
        A Solution with one of these statuses. "optimal": within the radius but for a
        millionth of it, and proved by weak duality. "zero": no heat explains the readings well
        enough. "infeasible": nothing comes within the radius; the heat that comes nearest.
        "inaccurate": the solver gave up short of a proof. Where the readings cannot tell one
        place from another, `undetermined` says so.

    Raises:
        ValueError: a number is not finite, a shape does not fit, a bound is out of range, or the
            operator is nought everywhere.

    >>> minimise_l1([[1.0, 0.0], [0.0, 1.0]], [0.9, 0.0], 0.4).heat.round(3)
    array([0.5, 0. ])
    """
    started = time.perf_counter()
    if method not in ("auto", "fast", "cvxpy"):
        raise ValueError(
            f"method is {method!r} but must be 'auto', 'fast' or 'cvxpy': nothing else is known "
            "here. Leave it out for a fast one."
        )
    ready = operator if isinstance(operator, Prepared) else prepare(operator)
    target = asked.checked_readings(readings, ready.shape, 1)
    radius, ceiling = asked.checked_radius(radius), asked.checked_ceiling(upper, ready.shape[1])
    blind = asked.undetermined(ready, ceiling, radius)
    if method == "cvxpy":
        if not np.isfinite(target).all():
            raise asked.spoilt()
        return by_cvxpy(matrix_of(operator, ready), ready, target, radius, ceiling, blind)
    heat, guess = asked.checked_start(start, ceiling, ready.shape[1])
    size = math.sqrt(np.dot(target, target))
    if not math.isfinite(size):
        raise asked.spoilt()
    inside, beyond = ready.compress(target)
    rest, numbers = np.zeros((1, ready.rank)), np.zeros((1, 7))
    outside = np.array([np.dot(beyond, beyond)])
    kernel = tier(active_set, method == "fast" or ready.rank * ready.shape[1] > _WORTH)
    kernel.solve(
        ready.axes, ready.coarse, ready.steps, ready.grain, ceiling, inside[None], outside,
        np.array([radius if size > radius else math.inf]), guess, heat[None], rest, numbers,
    )  # fmt: skip
    objective, residual, gap, kept, price, code, taken = numbers[0].tolist()
    status = status_of(int(code), objective, residual, gap, kept)
    if status == "inaccurate" and method == "auto":
        found = by_clarabel(ready, target, radius, ceiling, blind)
        if found is not None:
            return found
    gap = math.nan if status == "infeasible" or gap == math.inf else gap
    multipliers = (beyond + ready.expand(rest[0])) / price
    seconds = time.perf_counter() - started
    return Solution(
        heat, objective, residual, gap, status, int(taken), seconds, multipliers, "fast", blind
    )


def minimise_l1_many(
    operator: Operator, readings: ArrayLike, radius: ArrayLike, upper: ArrayLike = 1.0
) -> Solutions:
    """Return the solutions of `minimise_l1` for many readings of one operator.

    Args:
        operator, upper: as there.
        readings: (batch, sensors).
        radius: one for all, or (batch,).

    Raises:
        ValueError: as `minimise_l1`.
    """
    started = time.perf_counter()
    ready = prepare(operator)
    targets = asked.checked_readings(readings, ready.shape, 2)
    ceiling = asked.checked_ceiling(upper, ready.shape[1])
    radii = np.array([asked.checked_radius(one) for one in np.ravel(radius).tolist()])
    if len(radii) not in (1, len(targets)):
        raise ValueError(
            f"there are {len(radii)} radii and {len(targets)} readings but each needs its own, or "
            "one all, or no radius belongs to its readings. Give one number for all alike."
        )
    radii = np.broadcast_to(radii, len(targets)).copy()
    blind = asked.undetermined(ready, ceiling, float(radii.max(initial=0.0)))
    heat = np.zeros((len(targets), ready.shape[1]))
    sizes = np.linalg.norm(targets, axis=1)
    if not np.isfinite(sizes).all():
        raise asked.spoilt()
    inside, beyond = ready.compress(targets)
    rests, numbers = np.zeros(inside.shape), np.zeros((len(targets), 7))
    outside = np.einsum("ij,ij->i", beyond, beyond)
    tier(active_set, worth=True).solve(
        ready.axes, ready.coarse, ready.steps, ready.grain, ceiling, inside, outside,
        np.where(sizes > radii, radii, math.inf), _NOBODY, heat, rests, numbers,
    )  # fmt: skip
    status = [status_of(int(code), *four) for *four, _, code, _ in numbers.tolist()]
    gap = np.where([word in ("optimal", "zero") for word in status], numbers[:, 2], np.nan)
    others = {
        one: by_clarabel(ready, targets[one], float(radii[one]), ceiling, blind)
        for one, word in enumerate(status)
        if word == "inaccurate"
    }
    kept = {one: found for one, found in others.items() if found is not None}
    for one, found in kept.items():
        heat[one], status[one], gap[one] = found.heat, found.status, found.gap
        numbers[one, :2] = found.objective, found.residual

    def multipliers(one: int) -> Floats:
        one %= len(targets)
        if one in kept:
            return kept[one].multipliers
        told = ready.expand(inside[one] - rests[one])
        return np.asarray((targets[one] - told) / numbers[one, 4])

    return Solutions(
        heat, numbers[:, 0], numbers[:, 1], gap, tuple(status), numbers[:, 6].astype(np.int64),
        time.perf_counter() - started,
        tuple("small" if one in kept else "fast" for one in range(len(targets))),
        multipliers, blind,
    )  # fmt: skip
