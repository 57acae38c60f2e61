"""A room with a partition, for the audit: its response as planned with, and paths run forward.

Written anew and straight away: a small model of its own, stepped forward for every path that is
tried, where the response that noise is planned with comes of pulses at the sensor run backward.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from edge.records import Grid
from physics.displaced import displaced
from physics.pairs import neighbours
from physics.places import cell_places
from physics.response import Response

from .thermal_query import Query

Floats = NDArray[np.float64]

_COLUMNS, _ROWS, _CELL_MM = 6, 4, 500
_WALL = (3, 9, 15)  # cells, row by row; the door is in the last row
_SENSORS = (7,)
_LAGS, _STEP_S = 20, 60.0
_STORED = 3000.0  # joules a kelvin, of each cell
_PASSED, _LOST = 12.0, 0.5  # watts a kelvin, to the next cell and out of the room


def parted() -> Response:
    """Return the response of the room to people anywhere but in its partition."""
    step, cells = _step(), _COLUMNS * _ROWS
    pulse = np.eye(cells)[list(_SENSORS)]
    fields = []
    for _ in range(_LAGS):
        pulse = pulse @ step
        fields.append((pulse * _STEP_S / _STORED).reshape(-1, _ROWS, _COLUMNS))
    standing = _standing().reshape(_ROWS, _COLUMNS)
    grid = Grid((_COLUMNS, _ROWS), _CELL_MM)
    far = (1, 2, 4, 8)
    known = neighbours(standing, far, 2)
    return Response(
        grid=grid,
        places_m=np.asarray(cell_places(grid))[list(_SENSORS)],
        open_cells=_standing(),
        operator=np.sum(fields, axis=0).reshape(len(_SENSORS), cells) * _standing(),
        hold_s=_LAGS * _STEP_S,
        lasts_s=_LAGS * _STEP_S,
        far_cells=far,
        changes=displaced(fields, standing, known),
        stays=displaced([np.sum(fields, axis=0)], standing, known).joint,
        name="parted",
    )


@lru_cache(maxsize=8)
def paths(power_w: float, distance_m: float) -> tuple[Floats, Floats]:
    """Return the temperatures after a path and after a displaced one, each made to be seen.

    At every moment the two are in the cells that, so long before the reading, differ the most on
    the sensor; people may be anywhere in a cell.
    """
    here, there = [], []
    for lag in range(_LAGS):
        felt = [_after(_only(cell, lag), 1.0) for cell in range(_COLUMNS * _ROWS)]
        _, one, other = max(
            (float((felt[a] - felt[b])[0]), a, b)
            for a in np.flatnonzero(_standing()).tolist()
            for b in np.flatnonzero(_standing()).tolist()
            if _near(a, b, distance_m)
        )
        here.append(one)
        there.append(other)
    return _after(here[::-1], power_w), _after(there[::-1], power_w)


def before_and_after(query: Query) -> tuple[Floats, Floats]:
    """Return what `paths` finds for a query of this room."""
    side_m = _CELL_MM / 1000
    return paths(query.intensity_max, query.protect_distance_m or side_m)


def _only(cell: int, lag: int) -> list[int | None]:
    """Return the path of somebody who is there in one step alone, so long ago."""
    return [cell] + [None] * lag


def _after(path: "list[int] | list[int | None]", power_w: float) -> Floats:
    """Return what the sensors show at the end of a path, one cell for each step."""
    warmth, step = np.zeros(_COLUMNS * _ROWS), _step()
    for cell in path:
        if cell is not None:
            warmth[cell] += power_w * _STEP_S / _STORED
        warmth = step @ warmth
    return warmth[list(_SENSORS)]


def _near(one: int, other: int, distance_m: float) -> bool:
    """Say whether two points of these cells can be nearer than so far."""
    (row, column), (line, place) = divmod(one, _COLUMNS), divmod(other, _COLUMNS)
    gaps = [max(abs(gap) - 1, 0) * _CELL_MM / 1000 for gap in (row - line, column - place)]
    return gaps[0] ** 2 + gaps[1] ** 2 < distance_m**2 * (1 - 1e-9)


def _standing() -> NDArray[np.bool_]:
    return ~np.isin(np.arange(_COLUMNS * _ROWS), _WALL)


@lru_cache(maxsize=1)
def _step() -> Floats:
    """Return what a step makes of the temperatures, (cells, cells), as backward Euler does."""
    cells = _COLUMNS * _ROWS
    flows = np.zeros((cells, cells))
    for cell in range(cells):
        row, column = divmod(cell, _COLUMNS)
        beside = [cell + 1] * (column + 1 < _COLUMNS) + [cell + _COLUMNS] * (row + 1 < _ROWS)
        for other in beside:
            passed = 0.0 if {cell, other} & set(_WALL) else _PASSED
            flows[[cell, other], [cell, other]] += passed
            flows[[cell, other], [other, cell]] -= passed
    implicit = np.eye(cells) + (flows + _LOST * np.eye(cells)) * _STEP_S / _STORED
    return np.asarray(np.linalg.inv(implicit))
