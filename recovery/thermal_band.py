"""The certified band of a thermal map: what the readings prove, without any prior."""

import numpy as np

from .certified import certified_band
from .estimators.record import Seen
from .thermal_query import Query
from .uncertainty import Band

# More cells than this take seconds.
_CELLS_MAX = 1000
# Of the warmest source: a room with less heat than this is taken for empty.
_LEAST = 0.3


def totals(query: Query) -> tuple[float, float]:
    """Return the least and the most heat of the whole room that the certificate is good for.

    As many sources as there can be, each as cool or as warm as it can be.
    """
    coolest = query.intensity_min or _LEAST * query.intensity_max
    most = query.sources or query.sources_max
    return (query.sources or 1) * coolest, most * query.intensity_max


def certified(query: Query, seen: Seen) -> Band | None:
    """Return between what the cumulative share of heat lies; None in a plane, or if that is slow.

    None too where no such heat explains the readings: then there is nothing to certify.
    """
    if seen.shape[0] > 1 or seen.shape[1] > _CELLS_MAX:
        return None
    upper = np.full(seen.shape[1], seen.upper)
    if seen.open is not None:
        upper[~seen.open] = 0.0
    found = certified_band(
        seen.operator, seen.readings, seen.sigma, totals(query), upper, seen.level
    )
    return found.band
