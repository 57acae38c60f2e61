"""The room's own warmth, found after the veil: it costs no privacy, and the map its error.

Whatever is made of what was published promises what was promised of that, so levels may be
looked for in releases as long as one likes: in hours in which nobody is there, by a schedule.

A level learnt while somebody sat there after all takes him for the room: he is missing from
every map, and where he has gone the room seems colder than it is. Nothing here can tell that; only
who keeps the schedule can.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from edge.records import Release
from edge.thermal import params_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Levels:
    """What each sensor shows of the room alone, and how far that may be off, in kelvin."""

    level_k: Floats  # (sensors,); NaN where a sensor was not heard
    error_k: Floats  # (sensors,), standard errors, infinite where it was not heard
    readings: int  # how many they were learnt from
    # (sensors, causes): what one deviation of each cause adds to all of them together.
    shared_k: Floats | None = None


def empty(
    releases: Sequence[Release],
    own_noise_k: float = 0.0,
    at: float | None = None,
    wander_k: float = 0.0,
) -> Levels:
    """Return the levels by readings of hours that are publicly known to be empty.

        level = mean of the readings
        error**2 = (noise**2 + own**2) / readings + wander**2 + step**2 / 12

    Args:
        releases: of one plan, numbered as they were taken.
        own_noise_k: of a sensor, beside that of the veil; standard deviation.
        at: where given, the levels are those of the reading of that number, on the line that fits
            best in least squares: then the error grows with the distance.
        wander_k: by how much a level may have gone elsewhere since; standard deviation.

    Raises:
        ValueError: no release, or too few for a line.
    """
    seen, noise = _seen(releases, own_noise_k)
    if at is None:
        at_times, parts = np.zeros(len(seen)), 1
    else:
        at_times, parts = np.array([release.round.number - at for release in releases]), 2
    level, error = np.full(seen.shape[1], np.nan), np.full(seen.shape[1], math.inf)
    stays = wander_k**2 + _rounding_k(releases) ** 2
    for sensor in range(seen.shape[1]):
        heard = ~np.isnan(seen[:, sensor])
        design = np.vander(at_times[heard], parts, increasing=True)
        if np.linalg.matrix_rank(design) < parts:
            continue
        inverse = np.linalg.inv(design.T @ design)
        level[sensor] = (inverse @ design.T @ seen[heard, sensor])[0]
        error[sensor] = math.sqrt(noise**2 * inverse[0, 0] + stays)
    if np.isnan(level).all():
        raise ValueError(
            f"{len(releases)} readings give no level to any sensor but {parts} with answers are "
            "needed: a map would show the room's own warmth. Take more while nobody is there."
        )
    return Levels(level, error, len(releases))


def alike(
    parts: Sequence[Floats], typical: float, deviations: Floats, shared: Floats | None
) -> list[Floats]:
    """Return what sensors feel and read, weighed so that each has one deviation, of its own alone.

    Args:
        parts: each (sensors,) or (sensors, cells).
        typical: the deviation that all are to have.
        deviations: (sensors,), of each alone.
        shared: (sensors, causes), what each cause adds to all of them together; taken apart by
            the Cholesky factor of both.
    """
    if shared is None:
        return [(part.T * (typical / deviations)).T for part in parts]
    lower = np.linalg.cholesky(np.diag(deviations**2) + shared @ shared.T)
    return [typical * scipy.linalg.solve_triangular(lower, part, lower=True) for part in parts]


def _seen(releases: Sequence[Release], own_noise_k: float) -> tuple[Floats, float]:
    """Return the readings in kelvin, (readings, sensors), and the deviation of their noise."""
    if len({tuple(release.round.params) for release in releases}) != 1:
        raise ValueError(
            f"{len(releases)} readings were given but at least one is needed, and all of one "
            "plan: other noise makes another level. Learn each plan's levels by themselves."
        )
    params = params_of(releases[0].round)
    grain = math.ldexp(1.0, -params.exponent)
    values = np.array([release.values for release in releases], dtype=np.float64) * grain
    return values, math.sqrt(params.variance * grain**2 + own_noise_k**2)


def _rounding_k(releases: Sequence[Release]) -> float:
    """Return what the converter rounds off, which in a still room does not average away."""
    params = params_of(releases[0].round)
    return math.ldexp(params.step / math.sqrt(12), -params.exponent)
