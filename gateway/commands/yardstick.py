"""How near any map could have come on average: what `play` holds its own map against."""

from typing import Any

import numpy as np

from edge.thermal import params_of
from physics.places import cell_places
from recovery.bayes.yardstick import Yardstick, bayes_yardstick, regret
from recovery.thermal import operator
from recovery.thermal.query import cell_m, standing_room
from recovery.thermal.seen import deviation

from .simulated import Room

# More sets of sources than this take longer than anybody wants to wait for a line.
_SOURCES_MAX, _CELLS_MAX, _CELLS_PLANE = 4, 120, 450


def yardstick(room: Room, round: Any) -> Yardstick | None:
    """Return the Bayes yardstick of scenes like this one; None where it would take too long.

    Like this one: as many sources, as warm, anywhere; the estimator knows how many and how warm.
    Its unit is the longer side of the map.

    Args:
        room: that was played in.
        round: that was asked there, for its noise.
    """
    query, heat = room.query, room.scene.intensities
    cells, number = int(np.prod(query.grid.shape)), int(np.count_nonzero(room.heat))
    plane = min(query.grid.shape) > 1
    fits = number <= (2 if plane else _SOURCES_MAX) and cells <= (
        _CELLS_PLANE if plane else _CELLS_MAX
    )
    equal = len(heat) == number and np.ptp(heat) <= 1e-9 * heat.max(initial=0)
    if not (fits and number and equal and heat.max() > 0):
        return None
    places = np.asarray(cell_places(query.grid)).reshape(cells, -1)
    longest = max(query.grid.shape) * cell_m(query.grid)
    return bayes_yardstick(
        operator(query),
        deviation(query, params_of(round)),
        number,
        None,
        places / longest,
        float(heat[0]),
        standing_room(query) if query.furniture else None,
    )


def yardstick_lines(found: Yardstick | None, score: float | None, far: Any) -> list[str]:
    """Return what is to be said of it, a line at most.

    Args:
        score: the map's own distance, in parts of the longer side; None without a map.
        far: writes such a distance.
    """
    if found is None or score is None:
        return []
    apart = regret(score, found)
    than = f"{far(abs(apart))} {'more' if apart > 0 else 'less, by luck'}"
    return [
        f"The best map that there can be, for who knows how many sources there are and how warm, "
        f"is {far(found.distance)} off on average over {found.trials} such scenes: this one is "
        f"{than}."
    ]
