"""What one person looks like to a thermal array: the blur, fitted once on public frames.

    warmth(x, y) = c + h exp(-((x - x0)**2 + (y - y0)**2) / 2 s**2)

The optics, the height of the ceiling and the person decide s and h, and no data sheet says
them. The frames that they are fitted on must be public, recorded by somebody who agrees.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

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
    bright = _bright(frames)
    side = frames.shape[-1]
    if len(bright) < _FRAMES_MIN:
        raise ValueError(
            f"{len(bright)} of {len(frames)} frames show somebody within the picture but at least "
            f"{_FRAMES_MIN} are needed to fit the blur: of somebody at the border only a part is "
            "seen. Record one person who walks through the middle."
        )
    pixels = float(np.median([_fitted(frame, None)[0] for frame in bright]))
    heats, misfits = np.array([_fitted(frame, pixels)[1:] for frame in bright]).T
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


def _bright(frames: Floats) -> Floats:
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


def _fitted(frame: Floats, pixels: float | None) -> tuple[float, float, float]:
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
    best = least_squares(residual, start[:free], bounds=(low[:free], high[:free]))
    deviation = float(best.x[4]) if pixels is None else pixels
    return deviation, float(best.x[2]), float(np.sqrt(np.mean(best.fun**2)))
