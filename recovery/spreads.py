"""The spreads at which a move of one source is felt most.

A query states the shortest spread that the room can meet, for heat that had longer to spread
is mostly felt less. Where sensors are sparse it is felt more: heat that stood between two of
them reaches both. The noise must be enough at every spread from the stated one upwards.

Source: for the line without walls the change g(r) - g(r + c) of one sensor falls for ever
once the spread is above r**2 / 6, in the plane above r**2 / 8; between insulated walls the
slowest mode alone is left by length**2. So the search ends there.
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from edge.records import Grid
from physics.kernel import Walls, forward
from physics.places import cell_places, length_m, sensor_places
from physics.sensitivity import sensitivity

from .whole import counted_norm, reach, shifts

Floats = NDArray[np.float64]

# Between two rungs so far apart a peak rises less than one in three hundred above both: with
# x = log(spread), log g'(r) has the second derivative -3/2 where it is greatest.
_RUNG = 1.12
_FINE = 16  # between the rungs beside the worst, which leaves less than one in ten thousand
_ROUNDED = 0.98  # rounding to grains adds two per cent at most, see `coarsest_exponent`


def operator_at(grid: Grid, sensors: tuple[int, ...], spread_m2: float, walls: Walls) -> Floats:
    """Return A, (sensors, cells), for evenly spread sensors."""
    places = cell_places(grid), sensor_places(sensors, grid)
    return forward(*places, spread_m2, walls, length_m(grid))


@lru_cache(maxsize=2)  # however many promises are tried in one room
def most_felt(
    grid: Grid,
    sensors: tuple[int, ...],
    spread_m2: float,
    walls: Walls,
    cells: int,
    intensity_max: float,
    step: Fraction | None,
) -> Floats:
    """Return the operators that noise must be enough for, (spreads, sensors, cells).

    The first is that of the stated spread. The others are those at which a move changes what
    is sent as much, or might once it is rounded; often there are none.

    Args:
        grid, sensors, walls: the room.
        spread_m2: the shortest that the room can meet.
        cells: how far a source may move and stay hidden, in cells.
        intensity_max: the most heat of one source.
        step: of the sensors' converter, or None.
    """

    def made(spread: float) -> Floats:
        return operator_at(grid, sensors, spread, walls)

    shape, longest_m2 = grid.shape, float(np.max(length_m(grid))) ** 2
    rungs = max(0, math.ceil(math.log(longest_m2 / spread_m2) / math.log(_RUNG)))
    spreads = spread_m2 * _RUNG ** np.arange(rungs + 1)
    felt = _Felt(shape, cells)
    norms = [felt(made(spread)) for spread in spreads]
    worst = int(np.argmax(norms))
    beside = spreads[max(0, worst - 1)], spreads[min(rungs, worst + 1)]
    fine = np.geomspace(*beside, _FINE + 2)[1:-1] if rungs else np.empty(0)
    spreads = np.append(spreads, fine)
    upper = intensity_max * np.append(norms, [felt(made(spread)) for spread in fine])
    least = float(upper.max())
    if step is not None:
        # A converter shows each sensor's change by at most a step more than it is.
        upper = upper + math.sqrt(len(made(spread_m2))) * float(step)
        here = shifts(made(spread_m2), shape, reach(shape, cells), intensity_max)
        least = max(least, counted_norm(here, step))
    kept = upper >= _ROUNDED * least
    kept[0] = True
    found = np.stack([made(spread) for spread in spreads[kept]])
    found.setflags(write=False)  # shared by every caller
    return found


class _Felt:
    """The greatest l2 norm of what a move of a unit source changes, quickly."""

    def __init__(self, shape: tuple[int, int], cells: int) -> None:
        self.shape, self.cells = shape, cells
        self.near: NDArray[np.bool_] | None = None
        if cells**2 > 8:
            row, column = np.divmod(np.arange(shape[0] * shape[1]), shape[0])
            across = np.subtract.outer(column, column) ** 2 + np.subtract.outer(row, row) ** 2
            self.near = across <= cells**2

    def __call__(self, operator: Floats) -> float:
        if self.near is None:
            moved = reach(self.shape, self.cells)
            return max(sensitivity(operator, cells, self.shape) for cells in moved)
        # All moves at once: |a - b|**2 = |a|**2 + |b|**2 - 2 a'b.
        inner = operator.T @ operator
        own = np.diag(inner)
        apart = own[:, None] + own - 2 * inner
        return math.sqrt(max(0.0, float(apart[self.near].max())))
