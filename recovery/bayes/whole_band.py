"""A band that holds the whole cumulative share at once, with the chance that it states.

A band whose every point holds with nine chances in ten lets more than one curve in ten out
somewhere; and where sources are few most points are certain, so that its points hold far more
often than that. Here the points' level is set so that whole curves hold as often as is said.
"""

import numpy as np
from numpy.typing import NDArray

from ..uncertainty import Band
from .median import Shares

Floats = NDArray[np.float64]


def whole_band(posterior: Shares, curves: Floats, level: float) -> Band:
    """Return the band that holds this share of the curves, or as near to it as can be.

    A curve's depth is the least chance, over cells and both sides, of a share as low or as high
    as its own. The band holds what is deeper than the rest. Where few curves are possible the
    nearest share of them may be well above the level, or below it.

    Args:
        posterior: of the share in each cell, by itself.
        curves: (curves, cells), equally likely ones of that posterior.
        level: the chance that the truth is within the band everywhere.

    Source: Besag, Green, Higdon and Mengersen 1995, Section 6.3, simultaneous credible regions
    from ranks.
    """
    lower = np.cumsum(posterior.chances, axis=0)
    upper = np.cumsum(posterior.chances[::-1], axis=0)[::-1]
    nearest = np.searchsorted(posterior.values, curves - 1e-9)
    columns = np.arange(curves.shape[1])
    tails = np.minimum(lower[nearest, columns], upper[nearest, columns])
    # A chance that is 1 but for rounding is as deep as can be.
    depth = _shallowest(tails.min(axis=1), level) * (1 - 1e-9)
    low = posterior.values[np.argmax(lower > depth, axis=0)]
    high = posterior.values[len(lower) - 1 - np.argmax((upper > depth)[::-1], axis=0)]
    return Band(level, np.maximum.accumulate(low), np.maximum.accumulate(high))


def band_of_draws(curves: Floats, level: float) -> Band:
    """Return the same where equally likely curves are all that there is.

    A draw counts itself among those as low or as high as it, and the truth is none of the
    draws: so the band is one draw wider on either side than the one that holds this share of
    the draws themselves, as for a rank among one more.

    Args:
        curves: (curves, cells), each rising to 1.
        level: the chance that the truth is within the band everywhere.

    Source: as `whole_band`; for the one draw more, Vovk, Gammerman and Shafer 2005, Section 2.2.
    """
    count = len(curves)
    curves = np.round(curves, 12)
    order = np.argsort(curves, axis=0)
    ranked = np.take_along_axis(curves, order, axis=0)
    places = np.arange(count)[:, None]
    begins = np.diff(ranked, axis=0, prepend=-1.0) > 0
    ends = np.diff(ranked, axis=0, append=2.0) > 0
    first = np.maximum.accumulate(np.where(begins, places, 0), axis=0)
    last = np.minimum.accumulate(np.where(ends, places, count)[::-1], axis=0)[::-1]
    tails = np.empty(curves.shape)
    np.put_along_axis(tails, order, np.minimum(last + 1, count - first), axis=0)
    depth = max(int(_shallowest(tails.min(axis=1), level)) - 1, 1)
    return Band(level, ranked[depth - 1], ranked[count - depth])


def _shallowest(depths: Floats, level: float) -> float:
    """Return the depth from which on there is this share of the curves, or the nearest to it."""
    ranked = np.sort(depths)
    least = ranked[int((1 - level) * len(depths))]
    # Depths that are the same but for rounding are the same.
    deeper = ranked[ranked > least * (1 + 1e-9)]
    kept, fewer = np.mean(depths >= least * (1 - 1e-9)), len(deeper) / len(depths)
    nearer = kept - level <= level - fewer or not len(deeper)
    return float(least if nearer else deeper[0])
