"""Temperatures that go on in time, by two halves of backward Euler a step.

With C the capacity and K the conductance, half a step is

    (2 C / step + K) after = 2 C / step before + inflow.

It is of first order in time and nothing rings however long the step; the response to a source is
the same whenever it starts, and in no cell less than nought. Means over a step are all that is
known of what drives it.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from ..places import Floats
from .assemble import System, assemble, compute_inflow, compute_outflow
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

    def add(self, other: "Balance") -> "Balance":
        """Return the balance of both times together."""
        return Balance(*(mine + more for mine, more in zip(self, other, strict=True)))


NOTHING = Balance(0.0, 0.0, 0.0, 0.0)


class Prepared(NamedTuple):
    """What steps of one length in one medium need: prepared once."""

    system: System
    solve: Callable[[Floats], Floats]  # right sides, (cells,) or (cells, k)
    step_s: float


def prepare_steps(medium: Medium, step_s: float) -> Prepared:
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


def advance(prepared: Prepared, before: Floats, drive: Drive) -> tuple[Floats, Balance]:
    """Return the field (..., cells) a step later, and where its heat came from and went.

    Args:
        before: temperatures above the baseline, in K.
    """
    system, _, step_s = prepared
    given = compute_inflow(system, drive)
    middle = _solve_half_step(prepared, before, given)
    after = _solve_half_step(prepared, middle, given)
    flows = zip(*(compute_outflow(system, field, drive) for field in (middle, after)), strict=True)
    out, ventilated = (sum(pair) * step_s / 2 for pair in flows)
    power = np.asarray(drive.power_w, dtype=float)
    inner = tuple(range(power.ndim - len(system.medium.shape), power.ndim))
    powered = np.broadcast_to(power.sum(axis=inner) * step_s, before.shape[:-1])
    return after, Balance((after - before) @ system.capacity, powered, out, ventilated)


def _solve_half_step(prepared: Prepared, before: Floats, given: Floats) -> Floats:
    right = 2 / prepared.step_s * prepared.system.capacity * before + given
    # The solver takes fields as columns.
    return prepared.solve(right.T).T


# Doors open and close again: this many media and step lengths stay prepared, fewer where they
# have so many cells in all that their factors would take a gigabyte.
_PREPARED, _PREPARED_CELLS = 8, 1_000_000
# A time as near to a whole number of steps as this, in steps, is at that number.
_ON_TIME = 1e-6


class Run:
    """The temperatures of a medium at a time, and what brings them to the next.

    Args:
        medium: of the first step; a step may bring another one on the same grid.
        field_k: temperatures above the baseline at the start, of the medium's shape, or
            (k, *shape) for many fields at once; nought everywhere without.
        at_s: the time of these, in seconds.

    Raises:
        ValueError: a field of another shape or not finite, a time that is no number.
    """

    def __init__(
        self,
        medium: Medium,
        field_k: Floats | None = None,
        at_s: float = 0.0,
    ) -> None:
        field = np.zeros(medium.shape) if field_k is None else np.array(field_k, dtype=float)
        if field.shape[-len(medium.shape) :] != medium.shape or not np.isfinite(field).all():
            raise ValueError(
                f"field_k has shape {field.shape} and {np.isfinite(field).sum()} finite values "
                f"but must be finite and end in {medium.shape}, for every cell has a "
                "temperature. Give kelvin above the baseline, x last."
            )
        if not math.isfinite(at_s):
            raise ValueError(
                f"at_s is {at_s:g} but must be finite, for steps are counted from it. Give "
                "seconds since the start of the day."
            )
        self.medium = medium
        self.at_s = float(at_s)
        self.balance: Balance = NOTHING
        self._field = _lock(field)
        self.step_s = math.nan  # of the last step
        self._prepared: OrderedDict[tuple[Medium, float], Prepared] = OrderedDict()

    @property
    def field_k(self) -> Floats:
        """The temperatures now, in K above the baseline; each step makes a new array."""
        return self._field

    def step(self, drive: Drive, step_s: float, medium: Medium | None = None) -> None:
        """Advance by one step.

        Args:
            drive: means over this step.
            step_s: its length in seconds.
            medium: another object than before is another medium, from this step on.

        Raises:
            ValueError: a step that is not positive, a medium on another grid, or heat that is not
                finite.
        """
        if not 0 < step_s < math.inf:
            raise ValueError(
                f"step_s is {step_s:g} but must be positive and finite, for heat only goes "
                "forward in time. Give seconds."
            )
        medium = self.medium if medium is None else medium
        _check_same_grid(self.medium, medium)
        again = step_s == self.step_s
        if not again or medium is not self.medium:
            self.medium, self.step_s = medium, step_s
        cells = len(self.medium.shape)
        flat = self._field.reshape(*self._field.shape[:-cells], -1)
        after, flows = advance(self._get_prepared(), flat, drive)
        if not np.isfinite(after).all():
            raise ValueError(
                "heat came without end: a power, or a temperature beyond a side, is not finite, "
                "and nobody would be told from anybody. Look at heaters and weather."
            )
        self._field = _lock(after.reshape(self._field.shape))
        self.balance = self.balance.add(flows)
        self.at_s += step_s
        if again:
            self.at_s = _snap_to_steps(self.at_s, step_s)

    def _get_prepared(self) -> Prepared:
        key = self.medium, self.step_s
        if key not in self._prepared:
            self._prepared[key] = prepare_steps(*key)
        self._prepared.move_to_end(key)
        most = max(1, min(_PREPARED, _PREPARED_CELLS // self.medium.capacity.size))
        while len(self._prepared) > most:
            self._prepared.popitem(last=False)
        return self._prepared[key]


def _lock(field: Floats) -> Floats:
    field = np.ascontiguousarray(field)
    field.setflags(write=False)  # who keeps it, keeps that moment
    return field


def _snap_to_steps(at_s: float, step_s: float) -> float:
    """Return the time, on a whole number of steps where it is near: tenths do not drift."""
    whole = round(at_s / step_s) * step_s
    return whole if abs(at_s - whole) < _ON_TIME * step_s else at_s


def _check_same_grid(old: Medium, new: Medium) -> None:
    sizes = zip(old.cell_m, new.cell_m, strict=False)
    same = old is new or all(np.array_equal(one, other) for one, other in sizes)
    if not same or (old.shape, old.beyond) != (new.shape, new.beyond):
        raise ValueError(
            f"the new medium has {new.shape} cells of {new.cell_m} m, beyond {new.beyond:g} but "
            f"the run has {old.shape} of {old.cell_m}, beyond {old.beyond:g}: the temperatures "
            "belong to cells. Change what the cells are made of only, or start another run."
        )


# Many steps: from now to a time, with what drives them told as they come.

Drives: TypeAlias = Callable[[float, float], Drive]
Media: TypeAlias = Callable[[float, float], Medium]

# A rest of a step this short, in steps, is rounding in the time.
_REST = 1e-6


def march(
    run: Run,
    drives: Drives,
    step_s: float,
    until_s: float,
    media: Media | None = None,
) -> Iterator[Run]:
    """Yield the run after each step, until a time; the last step is shorter where it must be.

    It goes only as far as it is asked for, so it can be stopped, saved and resumed anywhere.

    Args:
        run: advanced in place; its `field_k` is a new array after each step.
        drives: (from_s, to_s) to the means of power and outside over that step.
        step_s: length of a step in seconds.
        media: (from_s, to_s) to the medium of that step, the same object as long as it is the
            same medium; without, the run's own.

    Raises:
        ValueError: the time is past already; and as `Run.step`.
    """
    if not until_s >= run.at_s:
        raise ValueError(
            f"until_s is {until_s:g} but the run is at {run.at_s:g} s already, and heat does "
            "not go back. Start another run, or give a later time."
        )
    while until_s - run.at_s > _REST * step_s:
        from_s, left_s = run.at_s, until_s - run.at_s
        length_s = step_s if left_s > (1 - _REST) * step_s else left_s
        medium = None if media is None else media(from_s, from_s + length_s)
        run.step(drives(from_s, from_s + length_s), length_s, medium)
        yield run
