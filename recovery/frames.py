"""Maps and counts from a thermal array, whose whole picture warms and cools with the room.

The empty room was recorded at another hour, so all pixels are off by one unknown constant,
several kelvin at times. Here that constant is taken out of the readings and of the operator
alike, by leaving out their mean over the pixels. It is done after the veil: on the device the
mean would be made of private readings.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.records import Release
from physics.places import cell_places

from .estimators import record
from .estimators.table import estimate
from .heatmap import Heatmap, Unresolved
from .radius import chi_radius
from .sparse import minimise_l1
from .thermal import Query, mapped, operator, shared_params
from .thermal_seen import occupied, prior

Floats = NDArray[np.float64]

_SWEEPS = 10  # a few settle any frame; the cap is for ties that rounding breaks both ways


class Seen(NamedTuple):
    """What of the readings does not depend on the room's own warmth."""

    operator: Floats  # (pixels, cells), every column of mean nought
    warmth: Floats  # (pixels,), of mean nought, in kelvin
    deviation: float  # of the noise on each, in kelvin


def recover(query: Query, releases: Sequence[Release]) -> Heatmap | Unresolved:
    """Return the map that the query's estimator draws of the frames but for a constant.

    Args:
        query: what was planned with; its `sensor_noise` is the misfit of the blur.
        releases: of the same query, one a frame; the map is of their mean, so of where the
            heat was on average, even where somebody moved.

    Raises:
        ValueError: there is no release, or one of another array or plan.

    Source: `recovery.estimators`. Noise without its mean is still alike in every direction
        that an operator without its mean can see, so nothing changes for them.
    """
    seen = _seen(query, releases)
    guarantee = releases[0].round.guarantee
    if seen is None:
        why = "the array was not heard; wait for a report, or look at its link"
        return Unresolved(query.grid, guarantee, math.inf, math.inf, why)
    # One direction of the pixels, the constant, was left out.
    allowed = seen.deviation * chi_radius(len(seen.warmth) - 1, query.failure)
    nearest = minimise_l1(seen.operator, seen.warmth, allowed, query.intensity_max)
    if nearest.residual > allowed * (1 + 1e-6):
        why = (
            f"no heat comes nearer to the frame than {nearest.residual:.3g} K, and noise and "
            f"misfit explain {allowed:.3g} K: it shows something that no person looks like. Fit "
            "the blur on this array, and record its empty room again"
        )
        return Unresolved(query.grid, guarantee, nearest.residual, allowed, why)
    columns, rows = query.grid.shape
    known = record.Seen(
        seen.operator,
        seen.warmth,
        seen.deviation,
        np.asarray(cell_places(query.grid)),
        (rows, columns),
        prior(query),
        query.intensity_max,
        query.failure,
        query.level,
    )
    return mapped(query, guarantee, estimate(query.estimator, known))


def people(query: Query, releases: Sequence[Release], heat: float) -> Floats:
    """Return how many people stand in each cell, (rows, columns), if all are equally warm.

    One after the other is put where the frame becomes likeliest, and those already there
    make room for the newcomer, as long as one more, with every cell as likely, is likelier
    than none:

        |y|**2 - |y - heat A_j|**2 > 2 deviation**2 ln(cells)

    Knowing the heat of a person is worth much: under heavy noise the least heat that explains
    a frame is none at all, and always less than there is.

    Args:
        query, releases: as for `recover`.
        heat: of one person, from `recovery.blur.fit_blur`.

    Raises:
        ValueError: as for `recover`.
    """
    columns, rows = query.grid.shape
    seen = _seen(query, releases)
    places: list[int] = []
    if seen is not None:
        person = heat * seen.operator
        weight = np.einsum("ij,ij->j", person, person)
        least = 2 * seen.deviation**2 * math.log(columns * rows)
        left = seen.warmth
        while len(places) < query.sources_max:
            gain = 2 * left @ person - weight
            if gain.max() <= least:
                break
            places.append(int(gain.argmax()))
            left = _settled(places, seen.warmth, person, weight)
    return np.bincount(places, minlength=columns * rows).reshape(rows, columns).astype(float)


def _settled(places: list[int], warmth: Floats, person: Floats, weight: Floats) -> Floats:
    """Move each to where it is likeliest beside the others; return what is left of the frame."""
    left = warmth - person[:, places].sum(axis=1)
    for _ in range(_SWEEPS):
        before = list(places)
        for index, place in enumerate(before):
            left = left + person[:, place]
            places[index] = int((2 * left @ person - weight).argmax())
            left = left - person[:, places[index]]
        if places == before:
            break
    return left


def _seen(query: Query, releases: Sequence[Release]) -> Seen | None:
    """Return the mean of the frames that came, levelled; None where none did."""
    params = shared_params(query, releases)
    releases, levels = occupied(query, releases, None)
    if not releases:
        return None
    blurred = np.array([release.values for release in releases], dtype=np.float64)
    blurred = blurred[~np.isnan(blurred).all(axis=1)]
    heard = ~np.isnan(blurred).any(axis=0) & (levels is None or np.isfinite(levels.error_k))
    if not len(blurred) or np.count_nonzero(heard) < 2:
        return None
    warmth, off_k = np.ldexp(blurred[:, heard].mean(axis=0), -params.exponent), 0.0
    if levels is not None:
        warmth = warmth - levels.level_k[heard]
        off_k = float(np.sqrt(np.mean(levels.error_k[heard] ** 2)))
    # The misfit holds the sensor's own noise and steps; it is not credited with averaging out.
    noise = params.variance * 4.0**-params.exponent / len(blurred)
    matrix = operator(query)[heard]
    return Seen(
        matrix - matrix.mean(axis=0),
        warmth - warmth.mean(),
        math.sqrt(noise + query.sensor_noise**2 + off_k**2),
    )
