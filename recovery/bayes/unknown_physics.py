"""Sources, spread and drift from the same readings.

Who inverts with the wrong physics is wrong for ever, however little noise there is: a spread
that is 25 in 100 off costs more than the veil does. So nothing is taken for known that is not:

    p(sources | y) = integral over spread of p(sources | y, spread) p(spread | y)

with the posterior of the sources at every point of a grid that is fine where the evidence is,
and drift taken out of the noise beforehand. Before any reading the spread is even in its
logarithm.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from physics.kernel import Length, forward

from ..estimators.posterior import can_enumerate, estimate_in_plane, estimate_on_line
from ..estimators.record import Estimate, Seen, check, raise_sigma
from .chain import SCENES, Draws, estimate_from_draws, sample_posterior
from .exact import Exact, Listed, Scores, compute_exact_posterior, compute_scores, list_sets
from .line import CURVES, draw_curves

# How heat came to the sensors: what is known of it, and what only within a range.


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
        held = np.diff(_compute_cdf(*_refine_masses(points, logs))[::_PARTS])
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
    places, masses = _refine_masses(points, logs)
    # A place between two points counts for both, for the nearer one more.
    shares = np.array([np.interp(places, points, unit) @ masses for unit in np.eye(len(points))])
    kept = np.flatnonzero(shares > _NONE * shares.sum())
    return Explored(
        points[kept],
        shares[kept] / shares[kept].sum(),
        [seen[place][2] for place in points[kept].tolist()],
        places,
        _compute_cdf(places, masses),
        float(logs.max()) + math.log(float(masses.sum()) / (float(np.ptp(points)) or 1.0)),
    )


def _refine_masses(points: Floats, logs: Floats) -> tuple[Floats, Floats]:
    """Return many places, and the mass about each of them over exp(the greatest)."""
    if len(points) == 1:
        return points, np.ones(1)
    parts = np.arange(_PARTS * (len(points) - 1) + 1) / _PARTS
    places = np.interp(parts, np.arange(len(points)), points)
    wide = np.diff(places) / 2
    about = np.append(wide, 0.0) + np.append(0.0, wide)
    between = scipy.interpolate.PchipInterpolator(points, logs)
    return places, about * np.exp(between(places) - logs.max())


def _compute_cdf(places: Floats, masses: Floats) -> Floats:
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

    def make_operator(self, places_m: Floats, spread_m2: float) -> Floats:
        """Return A, (sensors, cells), if heat has spread so far."""
        places = places_m[:, 0] if places_m.shape[1] == 1 else places_m
        return forward(places, self.sensors_m, spread_m2, self.walls, self.length_m)

    def make_first_grid(self) -> Floats:
        """Return logarithms of a few spreads, each as likely as any other before any reading."""
        shortest, longest = self.spreads_m2
        rungs = 2 + math.ceil(math.log(longest / shortest) / math.log(_RUNG))
        spreads = np.linspace(math.log(shortest), math.log(longest), rungs)
        return spreads[: None if longest > shortest else 1]


# The posterior of the sources at one physics, and what those of many physics come to.
#
# Exact where all sets of sources can be weighed, and draws of it elsewhere: of more sources, or of
# sources that are not equally warm.

_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Conditional:
    """What the readings say of the sources if the physics is this.

    Args:
        log_evidence: logarithm of the readings' density over that without any source.
        heat: the mean of the posterior, (cells,).
        posterior: along a line its sums, in a plane every set; or draws of it.
        decided: what decided between the sets, where they were all weighed.
    """

    log_evidence: float
    heat: Floats
    posterior: Exact | Listed | Draws
    decided: Scores | None = None


def infer_sources(seen: Seen, scenes: int = SCENES) -> Conditional:
    """Return the posterior of the sources, with the operator and the noise as they are given.

    Args:
        scenes: as for `sample_posterior`, where sets are too many to be weighed one by one.

    Raises:
        ValueError: there are too many cells or sources for either way.
    """
    prior, cells = seen.prior, seen.operator.shape[1]
    if can_enumerate(seen):
        found = compute_scores(seen.operator, seen.readings, seen.sigma, prior.warmest)
        if seen.places.shape[1] == 1:
            exact = compute_exact_posterior(found, prior.fewest, prior.most, seen.open)
            return Conditional(exact.log_evidence, exact.present * prior.warmest, exact, found)
        every = list_sets(found, prior.fewest, prior.most, seen.open)
        return Conditional(
            every.log_evidence, every.compute_presence(cells) * prior.warmest, every
        )
    draws = sample_posterior(seen, scenes)
    there = draws.cells >= 0
    heat = np.bincount(draws.cells[there], draws.powers[there], cells)
    nothing = -float(np.square(seen.readings / seen.sigma).sum()) / 2
    return Conditional(draws.log_evidence - nothing, heat / len(draws.cells), draws)


def combine_parts(seen: Seen, parts: list[Conditional], chances: Floats) -> Estimate:
    """Return the map of least expected distance, each part being true with its chance.

    Args:
        seen: with the operator and the readings that the residual is of.
        parts: at some physics each, of the same cells and prior.
        chances: (parts,), adding to 1.
    """
    exact = [part.posterior for part in parts if isinstance(part.posterior, Exact)]
    every = [part.posterior for part in parts if isinstance(part.posterior, Listed)]
    draws = [part.posterior for part in parts if isinstance(part.posterior, Draws)]
    if draws:
        return estimate_from_draws(seen, pool(draws, chances))
    if every:
        # All of them list the same sets in the same order.
        mean = np.asarray(chances @ np.array([part.chances for part in every]))
        return estimate_in_plane(seen, replace(every[0], chances=mean))
    return estimate_on_line(seen, mix(exact, chances), draw_curves_of_parts(seen, parts, chances))


def draw_curves_of_parts(seen: Seen, parts: list[Conditional], chances: Floats) -> Floats:
    """Return cumulative shares that stand for all parts, (curves, cells), along a line.

    Of each part so many as its chance deserves, among scenes with a source.
    """
    some = chances * [1 - part.posterior.numbers[0] for part in parts]
    counts = np.diff(np.rint(np.cumsum(some) / max(some.sum(), 1e-300) * CURVES), prepend=0)
    made = [
        draw_curves(part.decided, part.posterior, seen.open, int(count), turn * _GOLDEN % 1)
        for turn, (part, count) in enumerate(zip(parts, counts, strict=True), 1)
        if count and isinstance(part.posterior, Exact) and part.decided is not None
    ]
    return np.vstack(made) if made else np.zeros((0, seen.operator.shape[1]))


def mix(parts: list[Exact], chances: Floats) -> Exact:
    """Return the posterior that has each of the others with its chance."""
    numbers = np.asarray(chances @ np.array([part.numbers for part in parts]))
    orders = []
    for number, chance in enumerate(numbers):
        shares = [part.numbers[number] for part in parts] * chances
        order = np.tensordot(shares, np.array([part.orders[number] for part in parts]), 1)
        orders.append(order / chance if chance > 0 else order)
    return replace(parts[0], numbers=numbers, orders=tuple(orders))


def pool(parts: list[Draws], chances: Floats) -> Draws:
    """Return draws of all parts, so many of each as its chance deserves, none of them twice."""
    count = min(
        len(part.cells) / max(chance, 1e-9) for part, chance in zip(parts, chances, strict=True)
    )
    ends = np.floor(np.cumsum(chances) * count + 1e-9).astype(int)
    cells, powers = [], []
    for part, many in zip(parts, np.diff(ends, prepend=0), strict=True):
        taken = np.linspace(0, len(part.cells), many, endpoint=False).astype(int)
        cells.append(part.cells[taken])
        powers.append(part.powers[taken])
    return replace(parts[0], cells=np.concatenate(cells), powers=np.concatenate(powers))


# Sensors that drift together: an offset that all share, and a slope across the room.
#
# What is not known of the drift is noise that all sensors have in common. With basis D, whose
# columns are the drift of one deviation, in units of each sensor's own noise,
#
#     covariance = I + D D',   D = U S W',   covariance**(-1/2) = I - U (1 - (1 + S**2)**(-1/2)) U'
#
# so drift is taken out by a handful of products, and what is left has unit noise again.


@dataclass(frozen=True, slots=True, eq=False)
class Drift:
    """What is taken out of readings and operator before anything is inferred.

    Args:
        basis: D, (sensors, 1 + axes), in kelvin: the offset, then a slope for each axis.
        sigma: deviation of each sensor's own noise, in kelvin.
    """

    basis: Floats
    sigma: float

    def whiten(self, seen: Floats) -> Floats:
        """Return readings or operator, sensors first, with noise as if no sensor drifted."""
        if not self.basis.any():
            return seen
        left, sizes, _ = np.linalg.svd(self.basis / self.sigma, full_matrices=False)
        # 1 - 1 / sqrt(1 + S**2), without losing its digits where S is small.
        root = np.sqrt(1 + sizes**2)
        less = sizes**2 / (root * (1 + root))
        return np.asarray(
            seen
            - left
            @ (less[:, None] * (left.T @ seen.reshape(len(seen), -1))).reshape(-1, *seen.shape[1:])
        )

    def estimate_terms(self, residual: Floats) -> Floats:
        """Return the drift's terms that a residual, (sensors,), speaks for, (1 + axes,).

        In deviations, so that basis @ terms is the drift.

        The mean of a Gaussian given what it was seen to add up to: (D'D + sigma**2)**-1 D'r.
        """
        inner = self.basis.T @ self.basis + self.sigma**2 * np.eye(self.basis.shape[1])
        return np.asarray(np.linalg.solve(inner, self.basis.T @ residual))


def make_drift(sensors: Floats, offset: float, slope: float, sigma: float) -> Drift:
    """Return the drift of sensors at these places.

    Args:
        sensors: where they stand, (sensors, axes).
        offset: deviation of what all of them are off by, in kelvin; 0 for none.
        slope: deviation of how much more the sensor at one end is off than the one at the
            other, in kelvin, along each axis; 0 for none.
        sigma: deviation of each sensor's own noise, in kelvin.
    """
    lowest, highest = sensors.min(axis=0), sensors.max(axis=0)
    wide = np.where(highest > lowest, highest - lowest, 1.0)
    across = (sensors - (lowest + highest) / 2) / wide
    return Drift(np.column_stack([np.full(len(sensors), offset), slope * across]), sigma)


# Over so little of the logarithm of the spread readings change in proportion.
_ASIDE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """What the readings leave possible of one number.

    Args:
        values: (values,), growing; one alone where it was known.
        upto: (values,), the chance that the truth is not beyond each.
    """

    values: Floats
    upto: Floats

    def compute_quantile(self, chance: float) -> float:
        """Return the value that is not exceeded with this chance."""
        return float(np.interp(chance, self.upto, self.values))

    def find_interval(self, level: float) -> tuple[float, float]:
        """Return between what it lies with this chance, as much of it below as above."""
        return self.compute_quantile((1 - level) / 2), self.compute_quantile((1 + level) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """A map, and the physics that goes with it.

    Args:
        estimate: of the sources, whatever the physics was.
        spread_m2: what is left possible of it.
        offset, slopes: the drift that is expected, in kelvin; a slope for each axis.
        log_evidence: logarithm of the readings' density over that without any source, averaged
            over all that was possible: it compares one Physics with another.
    """

    estimate: Estimate
    spread_m2: Belief
    offset: float
    slopes: tuple[float, ...]
    log_evidence: float


def estimate_jointly(seen: Seen, physics: Physics) -> Joint:
    """Return the map of least expected distance to the truth, whatever the physics was.

    Args:
        seen: readings, noise, cells and prior. Its operator is not used, but for its shape: it
            is what is sought.
        physics: within what the spread and the drift are.

    Raises:
        ValueError: readings that fit no computation, or too many cells or sources.

    Source: Bayes' rule. Gilbert and McMillan 2017 take the spread T for known.

    Differs from the paper:
    1. The spread is inferred beside the sources, from a range.
    """
    check(seen)
    sensors = np.asarray(physics.sensors_m, dtype=float)
    if len(sensors) != len(seen.readings):
        raise ValueError(
            f"the physics has {len(sensors)} sensors but there are {len(seen.readings)} readings, "
            "and each needs the place where it was read. Leave silent sensors out of both."
        )
    sensors = sensors.reshape(len(sensors), -1)
    # Heat is felt most where it spread least.
    most = physics.make_operator(seen.places, physics.spreads_m2[0])
    seen = replace(seen, sigma=raise_sigma(replace(seen, operator=most)).sigma)
    drifts = make_drift(sensors, physics.offset, physics.slope, seen.sigma)
    white = replace(seen, readings=drifts.whiten(seen.readings) / seen.sigma, sigma=1.0)

    def operator(spread: float) -> Floats:
        return drifts.whiten(physics.make_operator(seen.places, math.exp(spread))) / seen.sigma

    def with_spread(spread: float) -> tuple[float, float, Conditional]:
        here = operator(spread)
        found = infer_sources(replace(white, operator=here))
        change = (operator(spread + _ASIDE) - here) @ found.heat
        return found.log_evidence, float(np.linalg.norm(change)) / _ASIDE, found

    return _combine_spreads(seen, physics, explore(physics.make_first_grid(), with_spread), drifts)


def _combine_spreads(
    seen: Seen, physics: Physics, explored: Explored[Conditional], drifts: Drift
) -> Joint:
    operators = [physics.make_operator(seen.places, spread) for spread in np.exp(explored.points)]
    warmed = np.zeros(len(seen.readings))
    for operator, chance, found in zip(operators, explored.chances, explored.found, strict=True):
        warmed += chance * (operator @ found.heat)
    terms = drifts.estimate_terms(seen.readings - warmed)
    # The residual is of what drift does not explain, with the likeliest physics.
    undrifted = replace(
        seen,
        operator=operators[explored.likeliest],
        readings=seen.readings - drifts.basis @ terms,
    )
    return Joint(
        combine_parts(undrifted, explored.found, explored.chances),
        Belief(np.exp(explored.places), explored.upto),
        float(terms[0]) * physics.offset,
        tuple((terms[1:] * physics.slope).tolist()),
        explored.log_evidence,
    )
