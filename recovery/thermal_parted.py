"""A corridor with a partition, for the audit: its planned response, and paths run forward.

Written anew and straight away: a small model of its own, stepped forward for every path that is
tried, where the response that noise is planned with comes of pulses at the sensor run backward.
"""

from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from edge.records import Grid
from physics.displaced import floor, past
from physics.response import Response

from .thermal_query import Query

Floats = NDArray[np.float64]

NAME = "parted"
_CELLS, _CELL_MM = 12, 500
_WALL = 5  # the cell that nobody is in and no warmth passes
_SENSOR = 7
_LAGS, _STEP_S = 20, 60.0
_STORED = 3000.0  # joules a kelvin, of each cell
_PASSED, _LOST = 12.0, 0.5  # watts a kelvin, to the next cell and out of the room


def parted() -> Response:
    """Return the response of the corridor to people anywhere but in its partition.

    Who is between the middles of two cells warms both, each the more the nearer it is.
    """
    step, pulse = _step(), np.eye(_CELLS)[[_SENSOR]]
    fields = []
    for _ in range(_LAGS):
        pulse = pulse @ step
        fields.append(pulse.T * _STEP_S / _STORED)
    grid = Grid((_CELLS, 1), _CELL_MM)
    # Two rows of nodes, each over the middles of the cells; what is across does not matter.
    side_m = _CELL_MM / 1000
    x, y = np.meshgrid((np.arange(_CELLS) + 0.5) * side_m, [0.0, side_m])
    near = np.array([cell for cell in range(_CELLS - 1) if _WALL not in (cell, cell + 1)])
    here = floor(
        np.stack([x.ravel(), y.ravel()], axis=1),
        np.stack([near, near + 1, near + _CELLS, near + _CELLS + 1], axis=1),
        np.full((len(near), 2), side_m),
        sparse.csr_array(np.vstack([np.eye(_CELLS)] * 2)),
    )
    far = (1, 2, 4, 12)
    standing = np.arange(_CELLS) != _WALL
    return Response(
        grid=grid,
        places_m=np.array([[(_SENSOR + 0.5) * side_m, side_m / 2]]),
        open_cells=standing,
        operator=np.sum(fields, axis=0).T * standing,
        hold_s=_LAGS * _STEP_S,
        lasts_s=_LAGS * _STEP_S,
        far_cells=far,
        changes=past([(here, fields)], [side_m * cells for cells in far]).most,
        name=NAME,
        through_walls=False,
    )


@lru_cache(maxsize=8)
def paths(power_w: float, distance_m: float) -> tuple[Floats, Floats]:
    """Return the temperatures after a path and after a displaced one, each made to be seen.

    At every moment the two are where, so long before the reading, the sensor tells best who is
    no further apart; on the same side of the partition.
    """
    here, there = [], []
    tried = [
        (one, other)
        for one in np.arange(_CELLS - 1, step=1 / 8).tolist()
        for other in (one - distance_m * 1000 / _CELL_MM, one + distance_m * 1000 / _CELL_MM)
        if 0 <= other <= _CELLS - 1
        and (max(one, other) <= _WALL - 1 or min(one, other) >= _WALL + 1)
    ]
    for lag in range(_LAGS):
        one, other = max(tried, key=lambda pair: _told(pair[0], lag) - _told(pair[1], lag))
        here.append(one)
        there.append(other)
    return _after(here[::-1], power_w), _after(there[::-1], power_w)


def before_and_after(query: Query) -> tuple[Floats, Floats]:
    """Return what `paths` finds for a query of this room."""
    return paths(query.intensity_max, query.protect_distance_m or _CELL_MM / 1000)


@cache
def _told(place: float, lag: int) -> float:
    """Return what the sensor shows of a watt that was there in one step alone, so long ago."""
    return float(_after([place] + [None] * lag, 1.0)[0])


def _after(path: "list[float] | list[float | None]", power_w: float) -> Floats:
    """Return what the sensor shows at the end of a path, a place in cells for each step."""
    warmth, step = np.zeros(_CELLS), _step()
    for place in path:
        if place is not None:
            cell = min(int(place), _CELLS - 2)
            share = np.array([1 + cell - place, place - cell])
            warmth[cell : cell + 2] += share * power_w * _STEP_S / _STORED
        warmth = step @ warmth
    return warmth[[_SENSOR]]


@lru_cache(maxsize=1)
def _step() -> Floats:
    """Return what a step makes of the temperatures, (cells, cells), as backward Euler does."""
    flows = np.zeros((_CELLS, _CELLS))
    for cell in range(_CELLS - 1):
        passed = 0.0 if _WALL in (cell, cell + 1) else _PASSED
        flows[[cell, cell + 1], [cell, cell + 1]] += passed
        flows[[cell, cell + 1], [cell + 1, cell]] -= passed
    implicit = np.eye(_CELLS) + (flows + _LOST * np.eye(_CELLS)) * _STEP_S / _STORED
    return np.asarray(np.linalg.inv(implicit))
