"""How heat came to the sensors: what is known of it, and what only within a range."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from physics.kernel import Length, forward

# Points along what is not known of the physics, dense where the readings speak for it.
#
# A posterior may be as wide as the range or a hundredth of it. The points are few at first, and a
# stretch that holds more than its share of the posterior is halved until none does. So is one over
# which what the sensors should read changes by more than the noise: the right sources may fit at
# one place in it, and be passed over on either side. Between the
# points the logarithm of the density is a cubic that does not overshoot, and what was found at a
# point counts for the stretches beside it, less and less towards the next point.

Floats = NDArray[np.float64]
Found = TypeVar("Found")

# Stretches then are at most half as long as a Gaussian's deviation.
_SHARE = 0.2
# Half-way between two points as many deviations apart sources fit e**(1/2) times better at most.
_STRIDE = 2.0
_ROUNDS = 12
_PARTS = 16  # of a stretch, for sums
# What is exp(-18) times as likely as the best has no say.
_HOPELESS = 18.0
# A point that has no more of the posterior than this is left out of it.
_NONE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Explored(Generic[Found]):
    """What was found along a range.

    Args:
        points: (points,), growing, those with a share in the posterior.
        chances: (points,), their shares, adding to 1.
        found: what there is at each point.
        places, upto: (places,), many places and the chance that the truth is not beyond.
        log_evidence: logarithm of the average of the density over the range.
    """

    points: Floats
    chances: Floats
    found: list[Found]
    places: Floats
    upto: Floats
    log_evidence: float

    @property
    def likeliest(self) -> int:
        """Which point has the greatest share."""
        return int(np.argmax(self.chances))


def explore(first: Floats, look: Callable[[float], tuple[float, float, Found]]) -> Explored[Found]:
    """Return the posterior over a range in which, before any reading, all places are as likely.

    Args:
        first: the first points, growing; one alone where the value is known.
        look: what gives the logarithm of the density at a place; how fast what should be read
            changes there, in deviations of the noise per unit of the range; what else is found.
    """
    points = np.asarray(first, dtype=float)
    seen = {place: look(place) for place in points.tolist()}
    for _ in range(_ROUNDS if len(points) > 1 else 0):
        logs = np.array([seen[place][0] for place in points.tolist()])
        speeds = np.array([seen[place][1] for place in points.tolist()])
        held = np.diff(_upto(*_fine(points, logs))[::_PARTS])
        strides = np.diff(points) * np.minimum(speeds[:-1], speeds[1:])
        # Sources that fit between two points fit there better than at either by so much.
        hope = np.maximum(logs[:-1], logs[1:]) + np.square(strides) / 8
        matters = hope > logs.max() - _HOPELESS
        crowded = np.flatnonzero((held > _SHARE) | ((strides > _STRIDE) & matters))
        if not crowded.size:
            break
        middles = (points[crowded] + points[crowded + 1]) / 2
        seen |= {place: look(place) for place in middles.tolist()}
        points = np.insert(points, crowded + 1, middles)
    logs = np.array([seen[place][0] for place in points.tolist()])
    places, masses = _fine(points, logs)
    # A place between two points counts for both, for the nearer one more.
    shares = np.array([np.interp(places, points, unit) @ masses for unit in np.eye(len(points))])
    kept = np.flatnonzero(shares > _NONE * shares.sum())
    return Explored(
        points[kept],
        shares[kept] / shares[kept].sum(),
        [seen[place][2] for place in points[kept].tolist()],
        places,
        _upto(places, masses),
        float(logs.max()) + math.log(float(masses.sum()) / (float(np.ptp(points)) or 1.0)),
    )


def _fine(points: Floats, logs: Floats) -> tuple[Floats, Floats]:
    """Return many places, and the mass about each of them over exp(the greatest)."""
    if len(points) == 1:
        return points, np.ones(1)
    parts = np.arange(_PARTS * (len(points) - 1) + 1) / _PARTS
    places = np.interp(parts, np.arange(len(points)), points)
    wide = np.diff(places) / 2
    about = np.append(wide, 0.0) + np.append(0.0, wide)
    return places, about * np.exp(PchipInterpolator(points, logs)(places) - logs.max())


def _upto(places: Floats, masses: Floats) -> Floats:
    """Return the chance that the truth is not beyond each place."""
    if len(places) == 1:
        return np.ones(1)
    # Half of what is about a place is before it, and all at either end is inside.
    upto = np.cumsum(masses) - masses / 2
    return np.asarray((upto - upto[0]) / (upto[-1] - upto[0]))


_RUNG = 1.3  # between two spreads of the first grid


@dataclass(frozen=True, slots=True, eq=False)
class Physics:
    """What is known of how heat came to the sensors.

    Args:
        sensors_m: (sensors,) or (sensors, 2), in the unit of the places of the cells.
        spreads_m2: the shortest and the longest that heat may have spread; equal if known.
        walls: "none" or "insulated".
        length_m: between the walls; (x, y) for a room.
        offset: deviation of a drift that all sensors share, in kelvin.
        slope: deviation of what drift differs by from one end to the other, in kelvin.

    Raises:
        ValueError: a range that is no range, or a deviation that is negative.
    """

    sensors_m: Floats
    spreads_m2: tuple[float, float]
    walls: Literal["none", "insulated"] = "none"
    length_m: Length = 1.0
    offset: float = 0.0
    slope: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.spreads_m2[0] <= self.spreads_m2[1] < math.inf:
            raise ValueError(
                f"spreads_m2 is {self.spreads_m2} but must be (least, most), positive: the "
                "readings choose between what lies between. Give the same number twice where it "
                "is known."
            )
        if self.walls not in ("none", "insulated"):
            raise ValueError(
                f"walls is {self.walls!r} but must be 'insulated' or 'none': what others send "
                "back is not known here. Correct it."
            )
        if not (0 <= self.offset < math.inf and 0 <= self.slope < math.inf):
            raise ValueError(
                f"offset is {self.offset} and slope {self.slope} but both must be 0 or more and "
                "finite: they are deviations of what the sensors are off by. Use 0 for none."
            )

    def operator(self, places_m: Floats, spread_m2: float) -> Floats:
        """Return A, (sensors, cells), if heat has spread so far."""
        places = places_m[:, 0] if places_m.shape[1] == 1 else places_m
        return forward(places, self.sensors_m, spread_m2, self.walls, self.length_m)

    def first_grid(self) -> Floats:
        """Return logarithms of a few spreads, each as likely as any other before any reading."""
        shortest, longest = self.spreads_m2
        rungs = 2 + math.ceil(math.log(longest / shortest) / math.log(_RUNG))
        spreads = np.linspace(math.log(shortest), math.log(longest), rungs)
        return spreads[: None if longest > shortest else 1]
