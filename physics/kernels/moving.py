"""Sources that walk while they give off heat, and what sensors feel of them.

    T(y, t) = integral over the path of p(t') K(y, x(t'), a (t - t')) exp(-loss (t - t')) dt'

added up over the ages of the heat, Duhamel's principle, until the error that is left is small.
"""

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad_vec

from ..kernel import Lengths, room
from ..places import Floats
from .continuous import check, refuse_touching
from .robin import Between, forward_between

# Where one source went, and how warm it was on its way.


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """Where one source went, straight and evenly from each place to the next, and its rate.

    Args:
        at_s: (instants,), in order; one that is given twice is a jump of place or rate.
        places_m: (instants,) along a line, (instants, 2) or (instants, 3).
        rates: (instants,), heat a second in the kernels' unit (`physics.air.warmth` of watts),
            changing evenly between instants; before the first and after the last it is off.

    Raises:
        ValueError: shapes that disagree, numbers that are not finite, or time running back.
    """

    at_s: Floats
    places_m: Floats
    rates: Floats

    def __post_init__(self) -> None:
        count = len(self.at_s)
        if count < 2 or {len(self.places_m), len(self.rates)} != {count}:
            raise ValueError(
                f"the path has {count} instants, {len(self.places_m)} places and "
                f"{len(self.rates)} rates but needs two or more of each, as many of all, for it "
                "goes from one to the next. Give a source that stands its place twice."
            )
        parts = (self.at_s, self.places_m, self.rates)
        if not all(np.isfinite(part).all() for part in parts) or (np.diff(self.at_s) < 0).any():
            raise ValueError(
                "the path holds a number that is not finite, or an instant before the one above "
                "it, but must run forward through known places, for its heat has an age. Sort "
                "it by time and leave gaps out."
            )


# How many standard deviations of its heat a source may walk before the integral is looked at
# again: a sensor that it passes in between would be overlooked.
_STRIDE = 4.0
_STRETCHES = 4000


class Felt(NamedTuple):
    """What the sensors feel of a source that moves.

    Args:
        warmth_k: (sensors,), kelvin above the baseline.
        error_k: the greatest error of any of them, as the integration estimates it.
    """

    warmth_k: Floats
    error_k: float


def forward_moving(
    path: Path,
    sensors_m: ArrayLike,
    read_s: float,
    diffusivity_m2_per_s: float,
    walls: Between = "none",
    length_m: Lengths = 1.0,
    *,
    source_sd_m: float = 0.0,
    loss_per_s: float = 0.0,
    within: float = 1e-9,
) -> Felt:
    """Return what each sensor feels of one moving source, at one instant.

    Args:
        path: what has not happened by then is left out.
        read_s: when the sensors are read.
        sensors_m, walls, length_m, source_sd_m, loss_per_s: as for
            `physics.kernels.continuous.forward_continuous`.
        within: the error that may be left, relative to the warmest sensor.

    Raises:
        ValueError: as there; an instant that is not finite; a place behind a wall; an integral
            that does not settle, as where a point that is on walks over a sensor at the very
            instant it is read.

    >>> still = Path(np.array([0.0, 1.0]), np.array([0.0, 0.0]), np.array([1.0, 1.0]))
    >>> forward_moving(still, [0.0, 1.0], 1.0, 0.25).warmth_k.round(4).tolist()
    [1.1284, 0.1005]
    """
    check(diffusivity_m2_per_s, 0.0, source_sd_m, loss_per_s)
    places, sensors, _ = room(path.places_m, sensors_m, length_m)
    if not math.isfinite(read_s):
        raise ValueError(
            f"read_s is {read_s} but must be finite, in the path's own seconds, for heat has an "
            "age when it is felt. Give the instant of the readings."
        )
    if not 0 < within < 1:
        raise ValueError(
            f"within is {within:g} but must be between 0 and 1, for it is the share of the "
            "warmth that may be wrong. Write 1e-9."
        )
    forward_between(places, sensors[:1], 1.0, walls, length_m)  # refuses what is not in the room
    given = sensors, read_s, diffusivity_m2_per_s, walls, length_m, source_sd_m, loss_per_s
    total, error = np.zeros(len(sensors)), 0.0
    for leg, rates in enumerate(itertools.pairwise(path.rates.tolist())):
        if any(rates) and path.at_s[leg] < min(read_s, float(path.at_s[leg + 1])):
            found, left = _walked(path, places, leg, *given, within)
            total, error = total + found, error + left
    return Felt(total, error)


def _walked(
    path: Path,
    places: Floats,
    leg: int,
    sensors: Floats,
    read_s: float,
    diffusivity: float,
    walls: Between,
    length_m: Lengths,
    sd: float,
    loss_per_s: float,
    within: float,
) -> tuple[Floats, float]:
    """Return what is felt of one leg of the way, and the error of that."""
    start, end = path.at_s[leg : leg + 2].tolist()
    young, old = max(0.0, read_s - end), read_s - start
    (way,), (growth,) = (
        np.diff(part[leg : leg + 2], axis=0) / (end - start) for part in (places, path.rates)
    )
    low, high = np.minimum(*places[leg : leg + 2]), np.maximum(*places[leg : leg + 2])
    if young == sd == 0:
        refuse_touching(places[leg] + way * old, sensors)

    def felt(root: float) -> Floats:
        # In the root of the age even a point's youngest heat along a line adds up smoothly.
        age = root * root
        since = old - age
        # Rounding must not carry the source through a wall.
        here = np.clip(places[leg] + way * since, low, high)[None]
        column = forward_between(here, sensors, diffusivity * age + sd**2 / 2, walls, length_m)
        rate = 2 * root * (path.rates[leg] + growth * since) * math.exp(-loss_per_s * age)
        return np.asarray(rate * column[:, 0])

    stops = _stops(young, old, float(np.linalg.norm(way)), diffusivity, sd)
    options = {"epsabs": 1e-300, "epsrel": within, "norm": "max", "limit": _STRETCHES}
    found, left, info = quad_vec(
        felt, stops[0], stops[-1], points=stops[1:-1], full_output=True, **options
    )
    if not info.success:
        raise ValueError(
            f"heat that is {young:g} to {old:g} s old is only known within {left:g} K but "
            f"{within:g} of it was asked for: a point that is on is infinitely warm where a "
            "sensor stands in its way as it is read. Give the source its size, as "
            "source_sd_m=0.15, or allow for more by within=1e-6."
        )
    return np.asarray(found), float(left)


def _stops(young: float, old: float, speed: float, diffusivity: float, sd: float) -> list[float]:
    """Return roots of ages between which the source walks but a few of its heat's widths."""
    ages = [young]
    while ages[-1] < old:
        # A point has no width at first: then it walks until it falls behind its own heat.
        width = max(math.sqrt(sd**2 + 2 * diffusivity * ages[-1]), diffusivity / (speed or 1.0))
        ages.append(min(old, ages[-1] + _STRIDE * width / speed) if speed else old)
    return [math.sqrt(age) for age in ages]
