"""What noise a room's own response asks for.

The response bounds what readings may change by, and here it is scaled to the strongest source.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from .filled import Change, Floats
from .filled import most_sent as most_sent
from .settle import Moved, check_scales

if TYPE_CHECKING:
    from physics.response import Response

    from .thermal_query import Query

# What solvers and sums lose of the response, many times over.
_SLACK = 1e-9

_UNFELT = (
    "no sensor feels it when somebody in this room is elsewhere, so there is no map to draw. "
    "Place sensors where people are."
)


def check_response(query: "Query") -> None:
    """Refuse what does not go together with a ValueError."""
    made = query.response
    if made is None:
        return
    for name, good, needed in (
        ("grid", query.grid == made.grid, f"that of the response, {made.grid}"),
        ("sensors", query.sensors == (len(made.places_m),), f"({len(made.places_m)},)"),
        # What would take them must not go on with numbers that mean nothing.
        ("spread_m2", query.spread_m2 == math.inf, "infinite, for no kernel is to take it"),
        ("walls", query.walls == "none", "'none', for the response has the room's own"),
        ("furniture", query.furniture == (), "left out, for the response has the room's own"),
        ("calibration", query.calibration == "exact", "'exact', for no formula was printed of it"),
        ("spread_max_m2", query.spread_max_m2 is None, "left out, for there is no spread"),
        ("drift", query.drift == 0, "0, for only a kernel's map finds it out"),
        ("drift_slope", query.drift_slope == 0, "0, for only a kernel's map finds it out"),
    ):
        if not good:
            raise ValueError(
                f"{name} is {getattr(query, name)!r} beside the response of a room but must be "
                f"{needed}: two rooms cannot both be meant. Correct it, or leave the response out."
            )
    made.within(
        max(1, math.ceil(1000 * (query.protect_distance_m or 0) / made.grid.cell_mm - 1e-9))
    )


def displacement(query: "Query", cells: int) -> Change:
    """Return what a source at its strongest changes by a path that is so many cells away.

    Raises:
        ValueError: the room's response does not tell of so far.
    """
    changes, nth = _of(query).changes, _of(query).within(cells)
    return _scaled(query, float(changes.joint[nth]), changes.each[nth])


def coming(query: "Query") -> Change:
    """Return what a source at its strongest changes by coming, wherever it goes."""
    changes = _of(query).changes
    return _scaled(query, changes.presence, changes.presence_each)


def moved_in_room(query: "Query", cells: int) -> Moved:
    """Return what a displacement changes, for the noise to be scaled to.

    Raises:
        ValueError: a scale is not positive, or no sensor feels a displacement.
    """
    change = displacement(query, cells)
    felt = change.joint if np.any(_of(query).changes.joint > 0) else 0.0
    check_scales(cells, query.intensity_max, query.step, query.readings, felt, _UNFELT)
    counted = change.joint
    if query.step is not None:
        # In steps of the converter, as if they were the grains.
        steps = Change(change.joint / float(query.step), change.each / float(query.step))
        counted = math.sqrt(most_sent(steps, 0, None)) * float(query.step)

    def square(exponent: int) -> int:
        return most_sent(change, exponent, query.step)

    sensors, scales = math.prod(query.sensors), (query.intensity_max, query.step, query.readings)
    return Moved(sensors, *scales, change.joint, counted, square)


def _scaled(query: "Query", joint: float, each: Floats) -> Change:
    hair = _SLACK * _of(query).changes.presence
    power = query.intensity_max
    return Change(
        power * (joint * (1 + _SLACK) + hair), np.asarray(power * (each * (1 + _SLACK) + hair))
    )


def _of(query: "Query") -> "Response":
    if query.response is None:
        raise ValueError(
            "the query has no response but one is needed, for noise is scaled to it here. Give "
            "response, or take the spread."
        )
    return query.response
