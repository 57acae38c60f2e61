"""What the readings of a thermal map prove without a prior: a band, or that the query is wrong.

It is proved for every heat whose total is within `totals`, with no more in one cell than the
warmest source has and none in furniture, standing in the middles of the cells, that has spread as
the query says, or has stood there as long as its room's response says and no longer. It needs no
number of sources and no law of their places.
"""

import numpy as np

from .estimators.moments import COOLEST
from .estimators.record import Seen
from .proofs.certified import certified_band, least_deviation
from .thermal_query import Query
from .uncertainty import Band, Verdict

# More cells than this take seconds.
_CELLS_MAX = 1000
# How many readings may be called contradictory though the query is right, at the most.
_FALSE_ALARMS = 0.01


def totals(query: Query) -> tuple[float, float]:
    """Return the least and the most heat of the whole room that the certificate is good for.

    As few sources as there can be, but one, each as cool as it can be; and as many, each as warm.
    Of a room with less heat, such as an empty one, or with more the certificate says nothing.
    """
    coolest = query.intensity_min or COOLEST * query.intensity_max
    most = query.sources or query.sources_max
    return (query.sources or 1) * coolest, most * query.intensity_max


def certified(query: Query, seen: Seen) -> tuple[Band | None, Verdict | None]:
    """Return between what the cumulative share of heat lies, and whether there is such a heat.

    The band is None in a plane, and where no heat of such a total explains the readings. Both
    are None where they would be slow; and for "l1-printed", whose deviation leaves out what
    sensors and rounding add, so is too small.
    """
    rows, cells = seen.shape
    if rows * cells > _CELLS_MAX or query.estimator == "l1-printed":
        return None, None
    upper = np.full(rows * cells, seen.upper)
    if seen.open is not None:
        upper[~seen.open.ravel()] = 0.0
    heats = (seen.operator, seen.readings, seen.sigma)
    least, most = totals(query)
    if rows == 1:
        band = certified_band(*heats, (least, most), upper, seen.level).band
        if band is not None:
            return band, Verdict("fits")
    # An empty room is no contradiction, unless the query knows of sources.
    total = least if query.sources else 0.0, min(most, float(upper.sum()))
    off, chance = least_deviation(*heats, total, upper)
    if chance >= _FALSE_ALARMS:
        return None, Verdict("fits")
    return None, Verdict(
        "assumptions",
        "the readings contradict what is stated of the room: no heat that this allows comes "
        f"nearer to them than {off:.3g} deviations of the noise, and noise alone is that far off "
        f"in less than one of {1 / _FALSE_ALARMS:.0f} rounds. More or warmer sources than "
        "stated, another spread, walls, outside heat or a broken sensor can be the cause; how "
        "far off the map is cannot be said",
    )
