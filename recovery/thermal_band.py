"""The certified band of a thermal map: what the readings prove, wherever the heat is.

It is proved for every heat whose total is within `totals`, with no more in one cell than the
warmest source has and none in furniture, standing in the middles of the cells, that has spread as
the query says, or has stood there as long as its room's response says and no longer. It needs no
number of sources and no law of their places.
"""

import numpy as np

from .estimators.moments import COOLEST
from .estimators.record import Seen
from .proofs.certified import certified_band
from .thermal_query import Query
from .uncertainty import Band

# More cells than this take seconds.
_CELLS_MAX = 1000


def totals(query: Query) -> tuple[float, float]:
    """Return the least and the most heat of the whole room that the certificate is good for.

    As few sources as there can be, but one, each as cool as it can be; and as many, each as warm.
    Of a room with less heat, such as an empty one, or with more the certificate says nothing.
    """
    coolest = query.intensity_min or COOLEST * query.intensity_max
    most = query.sources or query.sources_max
    return (query.sources or 1) * coolest, most * query.intensity_max


def certified(query: Query, seen: Seen) -> Band | None:
    """Return between what the cumulative share of heat lies; None in a plane, or if that is slow.

    None too where no such heat explains the readings: then there is nothing to certify; and for
    "l1-printed", whose deviation leaves out what sensors and rounding add, so is too small.
    """
    if seen.shape[0] > 1 or seen.shape[1] > _CELLS_MAX or query.estimator == "l1-printed":
        return None
    upper = np.full(seen.shape[1], seen.upper)
    if seen.open is not None:
        upper[~seen.open] = 0.0
    found = certified_band(
        seen.operator, seen.readings, seen.sigma, totals(query), upper, seen.level
    )
    return found.band
