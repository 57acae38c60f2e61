"""Maps and counts from a thermal array, whose whole picture warms and cools with the room.

The empty room was recorded at another hour, so all pixels are off by one unknown constant,
several kelvin at times. Here that constant is taken out of the readings and of the operator
alike, by leaving out their mean over the pixels. It is done after the veil: on the device the
mean would be made of private readings.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from edge.core.records import Release
from physics.places import cell_places

from ..estimators import record
from ..estimators.convex import compute_chi_radius
from ..estimators.table import estimate_judged
from ..maps.heatmap import Heatmap, Unresolved
from ..sparse import minimise_l1
from . import Query, find_shared_params, make_map, make_operator
from .seen import find_occupied, make_prior

# What one person looks like to a thermal array: the blur, fitted once on public frames.
#
#     warmth(x, y) = c + h exp(-((x - x0)**2 + (y - y0)**2) / 2 s**2)
#
# The optics, the height of the ceiling and the person decide s and h, and no data sheet says
# them. The frames that they are fitted on must be public, recorded by somebody who agrees.

Floats = NDArray[np.float64]

_FRAMES_MAX = 40  # evenly taken from more; enough for the median, and a second of work
_FRAMES_MIN = 5
_CLOSER = 0.95  # so many of the frames fit better than the misfit says
_SURE = 4  # a person's peak is this many misfits high, or there is none
_PIXELS_MIN = 0.5  # a narrower blur cannot be told from one hot pixel


@dataclass(frozen=True, slots=True)
class Blur:
    """One person, in the unit square that is the picture and in kelvin above the baseline."""

    deviation: float  # s, in sides of the picture
    heat: float  # of the median frame, 2 pi s**2 h, in kelvin times the picture's area
    heat_max: float  # of the warmest frame: the bound on a source, so an assumption
    misfit: float  # what the fit leaves, sensor's noise included; 95 in 100 frames leave less
    frames: int  # that were fitted

    @property
    def spread_m2(self) -> float:
        """The heat kernel's spread that has this deviation: s**2 = 2 spread."""
        return self.deviation**2 / 2

    @property
    def peak(self) -> float:
        """The warmth at the middle of the median person, in kelvin."""
        return self.heat / (2 * math.pi * self.deviation**2)


def fit_blur(frames: Floats) -> Blur:
    """Return the blur of the frames in which one person is well in the picture.

    These are the frames whose warmest pixel is not at the border and at least half as warm
    as the warmest hundredth's. Each gives its own deviation; with the median of these, place,
    heat and baseline are fitted again, by least squares both times.

    Args:
        frames: (frames, side, side), in kelvin above the empty room, at most one person each.

    Raises:
        ValueError: the frames are not square, or show too seldom anything like a person.
    """
    bright = _select_bright(frames)
    side = frames.shape[-1]
    if len(bright) < _FRAMES_MIN:
        raise ValueError(
            f"{len(bright)} of {len(frames)} frames show somebody within the picture but at least "
            f"{_FRAMES_MIN} are needed to fit the blur: of somebody at the border only a part is "
            "seen. Record one person who walks through the middle."
        )
    pixels = float(np.median([_fit(frame, None)[0] for frame in bright]))
    heats, misfits = np.array([_fit(frame, pixels)[1:] for frame in bright]).T
    deviation = pixels / side
    blur = Blur(
        deviation=deviation,
        heat=2 * math.pi * deviation**2 * float(np.median(heats)),
        heat_max=2 * math.pi * deviation**2 * float(np.max(heats)),
        misfit=float(np.quantile(misfits, _CLOSER)),
        frames=len(bright),
    )
    if not (blur.peak > _SURE * blur.misfit and pixels > _PIXELS_MIN):
        raise ValueError(
            f"the warmest of {len(frames)} frames show a blur {pixels:.2g} pixels wide that rises "
            f"{blur.peak:.2g} K where it misses by {blur.misfit:.2g} K, but people are wider than "
            f"{_PIXELS_MIN} pixels and stand out by {_SURE} times the miss, or noise is fitted. "
            "Is this the clip with one person in it, and the background that of the same array?"
        )
    return blur


def _select_bright(frames: Floats) -> Floats:
    """Return the frames with somebody well inside, evenly taken if there are many."""
    if frames.ndim != 3 or frames.shape[1] != frames.shape[2] or frames.shape[1] < 4:
        raise ValueError(
            f"the frames have shape {frames.shape} but must be (frames, side, side) with sides "
            "of at least 4 pixels: the blur is the same along both. Cut the frames square."
        )
    flat = (frames - np.median(frames, axis=(1, 2), keepdims=True)).reshape(len(frames), -1)
    peaks = flat.max(axis=1)
    row, column = np.divmod(flat.argmax(axis=1), frames.shape[2])
    last = frames.shape[1] - 1
    inside = (np.minimum(row, column) > 0) & (np.maximum(row, column) < last)
    good = np.flatnonzero(inside & (peaks >= np.quantile(peaks, 0.99) / 2))
    chosen = np.linspace(0, len(good) - 1, min(len(good), _FRAMES_MAX)).round().astype(int)
    return np.asarray(frames[good[chosen]])


def _fit(frame: Floats, pixels: float | None) -> tuple[float, float, float]:
    """Return the deviation in pixels, h and the root mean square that is left.

    Args:
        pixels: the deviation, or None where it is to be fitted too.
    """
    side = frame.shape[0]
    y, x = np.mgrid[:side, :side]
    row, column = np.divmod(int(frame.argmax()), side)

    def residual(found: Floats) -> Floats:
        width = found[4] if pixels is None else pixels
        shape = np.exp(-((x - found[0]) ** 2 + (y - found[1]) ** 2) / (2 * width**2))
        return np.asarray(found[2] * shape + found[3] - frame).ravel()

    level = float(np.median(frame))
    start = [column, row, float(frame.max()) - level, level, 1.0]
    low, high = [-1, -1, 0, -np.inf, 0.3], [side, side, np.inf, np.inf, side / 2]
    free = 5 if pixels is None else 4
    best = scipy.optimize.least_squares(residual, start[:free], bounds=(low[:free], high[:free]))
    deviation = float(best.x[4]) if pixels is None else pixels
    return deviation, float(best.x[2]), float(np.sqrt(np.mean(best.fun**2)))


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
    seen = _average_frames(query, releases)
    guarantee = releases[0].round.guarantee
    if seen is None:
        why = "the array was not heard; wait for a report, or look at its link"
        return Unresolved(query.grid, guarantee, math.inf, math.inf, why)
    # One direction of the pixels, the constant, was left out.
    allowed = seen.deviation * compute_chi_radius(len(seen.warmth) - 1, query.failure)
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
        make_prior(query),
        query.intensity_max,
        query.failure,
        query.level,
    )
    return make_map(query, guarantee, estimate_judged(query.estimator, known))


def count_people(query: Query, releases: Sequence[Release], heat: float) -> Floats:
    """Return how many people stand in each cell, (rows, columns), if all are equally warm.

    One after the other is put where the frame becomes likeliest, and those already there
    make room for the newcomer, as long as one more, with every cell as likely, is likelier
    than none:

        |y|**2 - |y - heat A_j|**2 > 2 deviation**2 ln(cells)

    Knowing the heat of a person is worth much: under heavy noise the least heat that explains
    a frame is none at all, and always less than there is.

    Limits: people are not equally warm, and two within three pixels look like one. So four are
    mostly counted as three, and two who sit close are mostly miscounted.

    Args:
        query, releases: as for `recover`.
        heat: of one person, from `recovery.thermal.frames.fit_blur`.

    Raises:
        ValueError: as for `recover`.
    """
    columns, rows = query.grid.shape
    seen = _average_frames(query, releases)
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
            left = _settle(places, seen.warmth, person, weight)
    return np.bincount(places, minlength=columns * rows).reshape(rows, columns).astype(float)


def _settle(places: list[int], warmth: Floats, person: Floats, weight: Floats) -> Floats:
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


def _average_frames(query: Query, releases: Sequence[Release]) -> Seen | None:
    """Return the mean of the frames that came, levelled; None where none did."""
    params = find_shared_params(query, releases)
    releases, levels = find_occupied(query, releases, None)
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
    matrix = make_operator(query)[heard]
    return Seen(
        matrix - matrix.mean(axis=0),
        warmth - warmth.mean(),
        math.sqrt(noise + query.sensor_noise**2 + off_k**2),
    )
