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
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from physics.operators.lowrank import LowRank
from physics.operators.separable import Separable

from .kernels import active_set, tier
from .l1.cone import Solution as Solution
from .l1.cone import Solutions as Solutions
from .l1.cone import by_clarabel, by_cvxpy, status_of
from .l1.directions import Prepared, matrix_of
from .l1.directions import prepare as prepare

# What a search for the least heat is given, checked before any solver sees it.

Floats = NDArray[np.float64]
_NOBODY = np.empty(0, np.int64)


def checked_readings(readings: ArrayLike, shape: tuple[int, int], axes: int) -> Floats:
    """Return y, (sensors,), or (batch, sensors) where two axes are asked for.

    Whether they are finite is found on the way to the answer. ValueError: another shape.
    """
    target = np.ascontiguousarray(readings, dtype=np.float64)
    if target.ndim != axes or target.shape[-1] != shape[0]:
        wanted = f"({'batch, ' * (axes - 1)}sensors{',' * (2 - axes)})"
        raise ValueError(
            f"the operator has shape {shape} and the readings {target.shape} but (sensors, "
            f"cells) and {wanted} are needed: each sensor has one row and one reading. Leave "
            "silent sensors out of both."
        )
    # What may not be written to is another type to a compiler.
    return target if target.flags.writeable else target.copy()


def spoilt() -> ValueError:
    """Return what to raise when a reading is not finite."""
    return ValueError(
        "a reading is NaN or infinite but all must be finite: one bad number would spoil the "
        "whole map. Leave that sensor out, of the operator too."
    )


def checked_radius(radius: float) -> float:
    """Return the radius, at least 0 and finite; ValueError if it is not."""
    if not 0 <= radius < math.inf:
        raise ValueError(
            f"radius is {radius:g} but must be >= 0 and finite, or the program has no meaning. "
            "Check where it was computed."
        )
    return float(radius)


def checked_ceiling(upper: ArrayLike, cells: int) -> Floats:
    """Return the most heat each cell can hold, (cells,), none negative.

    Raises:
        ValueError: a bound that is negative, NaN or infinite; no cell that may hold any heat;
            another number of cells.
    """
    if isinstance(upper, float):
        return _alike(upper, cells)
    given = np.array(upper, dtype=np.float64)
    if not given.ndim:
        return _alike(float(given), cells)
    if given.shape != (cells,):
        raise ValueError(
            f"upper has shape {given.shape} but must be one number or ({cells},), one for each "
            "cell, or no bound belongs to its place. Count the cells as the operator does."
        )
    wrong = np.flatnonzero(~((given >= 0) & (given < math.inf)))
    if len(wrong) or not given.any():
        which = f"upper[{wrong[0]}] is {given[wrong[0]]:g}" if len(wrong) else "upper is 0 in all"
        raise ValueError(
            f"{which} but every bound must be >= 0 and finite, and one positive, or there is no "
            "room for heat. Give 0 only where no source can be."
        )
    return given


@lru_cache(maxsize=8)
def _alike(upper: float, cells: int) -> Floats:
    if not 0 < upper < math.inf:
        raise ValueError(
            f"upper is {upper:g} but must be positive and finite, or the program has no meaning. "
            "Check where it was computed."
        )
    return np.full(cells, upper)


def checked_start(
    start: Solution | None, ceiling: Floats, cells: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Return heat to begin with, (cells,), and which cells hold any.

    Raises:
        ValueError: the start is of other cells.
    """
    if start is None:
        return np.zeros(cells), _NOBODY
    if start.heat.shape != (cells,):
        raise ValueError(
            f"start has {len(start.heat)} cells but the operator {cells}, so it is the solution "
            "of another room. Leave it out, or solve with the operator it was found with."
        )
    heat = np.minimum(start.heat, ceiling)
    return heat, np.flatnonzero(heat > 0)


def undetermined(ready: Prepared, ceiling: Floats, radius: float) -> str:
    """Return in words what readings of this operator cannot tell, nothing where they can."""
    if ready.rank == 1:
        return (
            "every cell looks alike but for its strength: the readings tell one weighted sum of "
            "the heat, and nothing of its place"
        )
    if ready.apart * ceiling[0] <= radius and ready.apart * ceiling.max() <= radius:
        return (
            "a cell full of heat looks the same within the radius wherever it is: the readings "
            "tell how much heat there is, and not where"
        )
    return ""


Operator: TypeAlias = ArrayLike | LowRank | Separable | Prepared

# Of so many numbers, cells times directions, compiling pays at once.
_WORTH = 4_000_000


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
    target = checked_readings(readings, ready.shape, 1)
    radius, ceiling = checked_radius(radius), checked_ceiling(upper, ready.shape[1])
    blind = undetermined(ready, ceiling, radius)
    if method == "cvxpy":
        if not np.isfinite(target).all():
            raise spoilt()
        return by_cvxpy(matrix_of(operator, ready), ready, target, radius, ceiling, blind)
    heat, guess = checked_start(start, ceiling, ready.shape[1])
    size = math.sqrt(np.dot(target, target))
    if not math.isfinite(size):
        raise spoilt()
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
    targets = checked_readings(readings, ready.shape, 2)
    ceiling = checked_ceiling(upper, ready.shape[1])
    radii = np.array([checked_radius(one) for one in np.ravel(radius).tolist()])
    if len(radii) not in (1, len(targets)):
        raise ValueError(
            f"there are {len(radii)} radii and {len(targets)} readings but each needs its own, or "
            "one all, or no radius belongs to its readings. Give one number for all alike."
        )
    radii = np.broadcast_to(radii, len(targets)).copy()
    blind = undetermined(ready, ceiling, float(radii.max(initial=0.0)))
    heat = np.zeros((len(targets), ready.shape[1]))
    sizes = np.linalg.norm(targets, axis=1)
    if not np.isfinite(sizes).all():
        raise spoilt()
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
