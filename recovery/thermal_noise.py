"""The noise that a thermal query asks for: enough at its spread, and at every longer one."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .calibrate import granted
from .following import followed
from .responses import coming, moved_in_room
from .settle import Calibration, Moved, check_scales, moved
from .spreads import Room, felt, warmest
from .stated import stated
from .thermal_query import Query, protected_cells
from .thermal_reach import spread_fault
from .thermal_tables import check_variance, exact_delta
from .worst import Grains, worst_squares

Floats = NDArray[np.float64]


def room(query: Query) -> Room:
    """Return where the query's warmth is hidden.

    Raises:
        ValueError: it is hidden in a room with a response of its own, which has no spread.
    """
    if query.response is not None:
        raise ValueError(
            f"the room {query.response.name} has a response of its own but a spread was asked "
            "for: it has none, and another room's noise would not hide what this one shows. Take "
            "`recovery.responses`."
        )
    return Room(query.grid, query.sensors, query.spread_m2, query.walls)


@lru_cache(maxsize=8)
def operator(query: Query) -> Floats:
    """Return A, (sensors, cells): the warmth at each sensor of one unit of heat in each cell."""
    if query.response is not None:
        return query.response.operator
    made = room(query).operator()
    made.setflags(write=False)  # shared by every caller
    return made


def as_printed(query: Query) -> bool:
    """Say whether the noise is the printed formula, which knows the stated spread alone."""
    return query.calibration == "paper" and query.sigma is None


@lru_cache(maxsize=64)  # whole-number answers, not operators: they take no room
def calibration(query: Query) -> Calibration:
    """Return the noise that the query asks for, enough at its spread and at every longer one.

    Raises:
        ValueError: the printed formula is asked for where it is not private, or tables where
            delta does not pay for them.
    """
    if query.response is not None:
        change = moved_in_room(query, protected_cells(query))
    else:
        change = _at_its_spread(query) if as_printed(query) else _at_every_spread(query)
    if query.slew is not None:
        change = followed(change, query.slew)
    if query.sigma is not None:
        return stated(change, query.sigma, query.delta)
    made = granted(change, query.epsilon, exact_delta(query), query.calibration)
    if query.sampler == "table":
        check_variance(made.variance)
    return made


def warmest_felt(query: Query) -> float:
    """Return the most that a sensor feels of a unit of heat, whenever and wherever that is."""
    if query.response is not None:
        return float(coming(query).each.max()) / query.intensity_max
    return warmest(room(query))


def _at_its_spread(query: Query) -> Moved:
    cells, shape, unfelt = protected_cells(query), query.grid.shape, spread_fault(room(query))
    scales = query.intensity_max, query.step, query.readings
    return moved(operator(query), shape, cells, *scales, unfelt)


def _at_every_spread(query: Query) -> Moved:
    cells, here = (protected_cells(query),), room(query)
    continuous = query.intensity_max * float(felt(here, cells).moves.max())
    scales = cells[0], query.intensity_max, query.step, query.readings
    check_scales(*scales, continuous, spread_fault(here))
    counted = continuous
    if query.step is not None:
        # In steps of the converter, as if they were the grains.
        steps = Grains(0, None, query.intensity_max / float(query.step))
        counted = math.sqrt(worst_squares(here, cells, steps)[0]) * float(query.step)

    def square(exponent: int) -> int:
        return worst_squares(here, cells, Grains(exponent, query.step, query.intensity_max))[0]

    return Moved(
        math.prod(query.sensors),
        query.intensity_max,
        query.step,
        query.readings,
        continuous,
        counted,
        square,
    )
