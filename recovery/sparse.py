"""The least heat that explains the readings: constrained l1 minimisation.

    minimise sum(f)  subject to  ||A f - y|| <= radius  and  0 <= f <= upper

Source: Gilbert and McMillan 2017, Algorithm 1.

Differs from the paper:
1. The radius is the caller's, because the printed sigma sqrt(m) leaves no heat at all
   feasible in a third of the runs; what then comes nearest is returned, and said so.
2. The same program is solved in three ways: as printed by cvxpy, the reference; on the
   operator's own few directions by Clarabel; and there by an active set whose every step is
   exact, a hundred to a thousand times faster than as printed.
3. `upper` may differ from cell to cell, and be 0 where no source can be.
"""

import math
import time
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .kernels import active_set, compile_if_worth
from .l1 import BEYOND_MAX, Prepared, as_floats, by_clarabel, by_cvxpy, status_of
from .l1 import Solution as Solution
from .l1 import prepare as prepare

# What a search for the least heat is given, checked before any solver sees it.

Floats = NDArray[np.float64]
_NOBODY = np.empty(0, np.int64)


def check_readings(readings: ArrayLike, shape: tuple[int, int]) -> Floats:
    """Return y, (sensors,); ValueError if the shape is another.

    Whether they are finite is found on the way to the answer.
    """
    target = as_floats("the list of readings", readings)
    if target.shape != shape[:1]:
        raise ValueError(
            f"the operator has shape {shape} and the readings {target.shape} but (sensors, "
            "cells) and (sensors,) are needed: each sensor has one row and one reading. Leave "
            "silent sensors out of both."
        )
    # What may not be written to is another type to a compiler.
    return target if target.flags.writeable else target.copy()


def make_spoilt_error() -> ValueError:
    """Return what to raise when a reading is not finite."""
    return ValueError(
        "a reading is NaN or infinite but all must be finite: one bad number would spoil the "
        "whole map. Leave that sensor out, of the operator too."
    )


def check_radius(radius: float) -> float:
    """Return the radius, at least 0 and finite; ValueError if it is not."""
    if not 0 <= radius < math.inf:
        raise ValueError(
            f"radius is {radius:g} but must be >= 0 and finite, or the program has no meaning. "
            "Check where it was computed."
        )
    return float(radius)


def check_ceiling(upper: ArrayLike, cells: int) -> Floats:
    """Return the most heat each cell can hold, (cells,), none negative.

    Raises:
        ValueError: a bound that is negative, NaN or infinite; no cell that may hold any heat;
            another number of cells.
    """
    if isinstance(upper, float):
        return _repeat_upper(upper, cells)
    given = np.array(upper, dtype=np.float64)
    if not given.ndim:
        return _repeat_upper(float(given), cells)
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
def _repeat_upper(upper: float, cells: int) -> Floats:
    if not 0 < upper < math.inf:
        raise ValueError(
            f"upper is {upper:g} but must be positive and finite, or the program has no meaning. "
            "Check where it was computed."
        )
    return np.full(cells, upper)


def check_start(
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


def describe_undetermined(ready: Prepared, ceiling: Floats, radius: float) -> str:
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


# Of so many numbers, cells times directions, compiling pays at once.
_WORTH = 4_000_000


def minimise_l1(
    operator: ArrayLike | Prepared,
    readings: ArrayLike,
    radius: float,
    upper: ArrayLike = 1.0,
    method: Literal["auto", "cvxpy", "fast"] = "auto",
    start: Solution | None = None,
) -> Solution:
    """Return the least heat within 0..upper that comes within the radius of the readings.
    "fast" is compiled where numba is installed: once, that takes twenty seconds.

    Args:
        operator: A, (sensors, cells), or what `prepare` made of it, which pays where it is used
            again.
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
        place from another, `describe_undetermined` says so.

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
    target = check_readings(readings, ready.shape)
    radius, ceiling = check_radius(radius), check_ceiling(upper, ready.shape[1])
    blind = describe_undetermined(ready, ceiling, radius)
    if method == "cvxpy":
        if not np.isfinite(target).all():
            raise make_spoilt_error()
        printed = np.asarray(ready.basis.T @ ready.small if operator is ready else operator, float)
        return by_cvxpy(printed, ready, target, radius, ceiling, blind)
    heat, guess = check_start(start, ceiling, ready.shape[1])
    numbers, multipliers = _walk(ready, target, radius, ceiling, heat, guess, method == "fast")
    objective, residual, gap, kept, price, code, taken = numbers.tolist()
    status = status_of(int(code), objective, residual, gap, kept)
    if status == "inaccurate" and method == "auto":
        found = by_clarabel(ready, target, radius, ceiling, blind)
        if found is not None:
            return found
    gap = math.nan if status == "infeasible" or gap == math.inf else gap
    multipliers /= price
    seconds = time.perf_counter() - started
    return Solution(
        heat, objective, residual, gap, status, int(taken), seconds, multipliers, "fast", blind
    )


def find_misfit(
    operator: ArrayLike | Prepared, readings: ArrayLike, radius: float, upper: ArrayLike = 1.0
) -> float | None:
    """Return how near to the readings the nearest heat comes; None where that is near enough.

    Args, and what is raised, are those of `minimise_l1`; the first heat within the radius will do.

    >>> find_misfit([[1.0, 0.0], [0.0, 1.0]], [0.9, -0.5], 0.4)
    0.5
    """
    ready = prepare(operator)
    target = check_readings(readings, ready.shape)
    radius, ceiling = check_radius(radius), check_ceiling(upper, ready.shape[1])
    heat = np.zeros(ready.shape[1])
    numbers, _ = _walk(ready, target, radius, ceiling, heat, _NOBODY, any_heat=True)
    if numbers[1] <= radius * (1 + BEYOND_MAX):
        return None
    if numbers[5] == active_set.STALLED:
        return minimise_l1(ready, target, radius, ceiling).residual
    return float(numbers[1])


def _walk(
    ready: Prepared, target: Floats, radius: float, ceiling: Floats, heat: Floats,
    guess: NDArray[np.int64], fast: bool = False, any_heat: bool = False,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Put the least heat, or any, into `heat`; return the kernel's numbers, and multipliers.

    The multipliers, (sensors,), are yet to be divided by the price.
    """
    size = math.sqrt(np.dot(target, target))
    if not math.isfinite(size):
        raise make_spoilt_error()
    inside, beyond = ready.compress(target)
    rest, numbers = np.zeros(ready.rank), np.zeros(7)
    kernel = compile_if_worth(active_set, fast or ready.small.size > _WORTH)
    kernel.solve(
        ready.small, ready.coarse, ready.step, ready.grain, ceiling, inside,
        np.dot(beyond, beyond), radius if size > radius else math.inf, any_heat, guess, heat,
        rest, numbers,
    )  # fmt: skip
    return numbers, beyond + ready.expand(rest)
