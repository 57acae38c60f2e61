"""What every estimator is given, and what it returns."""

import math
from collections.abc import Hashable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from physics.kernel import Walls, forward

from ..maps.heatmap import Credible, Verdict
from ..recent import Recent

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Prior:
    """What is held to be so before any reading: how many sources, and how warm each is.

    Every set of that many different cells is as likely as any other, and every number of
    sources from the fewest to the most.

    Args:
        fewest, most: sources; equal where the number is known.
        warmest: the most heat of one source, in the unit of the map's heat.
        coolest: the least. Equal to the warmest where all are known to be equally warm; None
            where it is not known whether they are: then "all at the warmest" and "each evenly
            between three tenths of it and all of it" are as likely as each other.

    Raises:
        ValueError: no such number or heat.
    """

    fewest: int = 1
    most: int = 4
    warmest: float = 1.0
    coolest: float | None = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.fewest <= self.most or self.most < 1:
            raise ValueError(
                f"the prior has {self.fewest} to {self.most} sources but needs 0 or more, one "
                "at most at least, and the fewest first: otherwise no scene would be possible. "
                "Correct the numbers."
            )
        coolest = self.warmest if self.coolest is None else self.coolest
        if not 0 < coolest <= self.warmest < np.inf:
            raise ValueError(
                f"the prior has sources of {self.coolest} to {self.warmest} but needs positive "
                "and finite heats, the coolest first: nothing else is a source. Correct them."
            )


# Spreads that may be the true one, as shares of the stated one, and how far outside heat may be.
SPREADS = (0.7, 1.0, 1.35)
OUTSIDE = 0.6


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """What the sensors would feel in rooms that are not quite as stated, where heat just spreads.

    Args:
        sensors_m: where they are, (sensors, 1) along a line or (sensors, 2) in a plane.
        weights: (sensors,), by what each row of the operator and each reading was multiplied.
        spread_m2, walls, length_m: as stated; walls at 0 and at each of the lengths.
    """

    sensors_m: Floats
    weights: Floats
    spread_m2: float
    walls: Walls
    length_m: tuple[float, ...]

    def select_sensors(self, kept: NDArray[np.int64]) -> "Near":
        """Return the same for these sensors alone."""
        return replace(self, sensors_m=self.sensors_m[kept], weights=self.weights[kept])

    def make_operator(
        self, places_m: Floats, spread: float = 1.0, walls: Walls | None = None
    ) -> Floats:
        """Return A, (sensors, places), for places within the room and so many times the spread."""
        made = forward(
            places_m, self.sensors_m, self.spread_m2 * spread, walls or self.walls, self.length_m
        )
        return made * self.weights[:, None]

    def make_free_operator(self, places_m: Floats, spread: float = 1.0) -> Floats:
        """Return the same for any places, where there are no walls."""
        made = forward(places_m, self.sensors_m, self.spread_m2 * spread)
        return made * self.weights[:, None]

    def make_columns(self, places_m: Floats) -> Floats:
        """Return what heat at such places, and level and slope, can add to the readings."""
        lengths = np.asarray(self.length_m)
        other: Walls = "insulated" if self.walls == "none" else "none"
        inside = np.clip(places_m, 0.0, lengths)
        # Stretched about the middle, the places reach outside of the room.
        around = lengths / 2 + (places_m - lengths / 2) * (1 + 2 * OUTSIDE)
        slopes = self.sensors_m / lengths - 0.5
        made = [self.make_operator(inside, spread) for spread in SPREADS]
        made += [self.make_operator(inside, 1.0, other), self.make_free_operator(around)]
        made += [self.weights[:, None], slopes * self.weights[:, None]]
        return np.hstack(made)


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Readings that have passed the veil, and all that an estimator may know of them.

    The noise is independent and of one deviation on every sensor: who has sensors that differ
    divides rows and readings by their deviations first.

    Args:
        operator: A, (sensors, cells), in kelvin per unit of heat.
        readings: y, (sensors,), in kelvin.
        sigma: deviation of the noise on each reading, in kelvin; positive.
        places: (cells, 1) along a line or (cells, 2) in a plane, in any one unit; sorted
            along a line.
        shape: (rows, columns) of the cells; (1, cells) along a line.
        prior: what is known of the sources.
        upper: the most heat that one cell can hold, in an estimator without a prior.
        failure: chance that the true heat lies outside of an estimator's radius.
        level: of credible statements.
        open: (cells,) where a source can be; None for everywhere. Furniture is False.
        near: what the sensors would feel in other rooms; None where that is not known.
        others: (times, sensors, cells), A of who stood there for another time than the operator
            is of; None where there is none.
    """

    operator: Floats
    readings: Floats
    sigma: float
    places: Floats
    shape: tuple[int, int]
    prior: Prior = field(default_factory=Prior)
    upper: float = 1.0
    failure: float = 0.05
    level: float = 0.9
    open: NDArray[np.bool_] | None = None
    near: Near | None = None
    others: Floats | None = None

    def select_sensors(self, kept: NDArray[np.int64]) -> "Seen":
        """Return what these sensors alone have seen."""
        return replace(
            self,
            operator=self.operator[kept],
            readings=self.readings[kept],
            near=None if self.near is None else self.near.select_sensors(kept),
            others=None if self.others is None else self.others[:, kept],
        )

    def make_room(self) -> "Room":
        """Return what is the same for all readings and noises: one object while it is in use.

        The noise falls with every round of a campaign; weights, and so the room, stay the same
        where every sensor has answered as often. Nothing that is kept of a room may read the
        noise, `upper`, `failure` or `level`: they are not in it.
        """
        if (found := _rooms.find(*self._list_parts())) is not None:
            return found
        # A copy: whose arrays these are may change them.
        seen = deepcopy(replace(self, readings=np.empty(0), sigma=math.nan))
        return _rooms.keep(*seen._list_parts(), Room(seen))

    def _list_parts(self) -> tuple[Hashable, tuple[NDArray[Any] | None, ...]]:
        """Return what a room is told from others by: few numbers, and arrays."""
        arrays = self.operator, self.places, self.open, self.others
        near = self.near
        if near is None:
            return (self.shape, self.prior), arrays
        key = self.shape, self.prior, near.spread_m2, near.walls, near.length_m
        return key, (*arrays, near.sensors_m, near.weights)

    def stack_times(self) -> "Seen":
        """Return the same with each cell once for every time that a source may have stood there.

        Cell j of the map is then each of j, j + cells, j + 2 cells and so on; those of a line
        are in a plane, for they do not rise.
        """
        if self.others is None:
            return self
        copies, (rows, columns) = 1 + len(self.others), self.shape
        places = np.pad(self.places, ((0, 0), (0, 2 - self.places.shape[1])))
        return replace(
            self,
            operator=np.hstack([self.operator, *self.others]),
            places=np.tile(places, (copies, 1)),
            shape=(copies * rows, columns),
            open=None if self.open is None else np.tile(self.open, copies),
            others=None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """What is the same for all maps of a room, so that what follows from it can be kept."""

    seen: Seen


_rooms = Recent[Room](4)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Heat by cell, and how it was had.

    Args:
        heat: (cells,), not negative; all 0 where the estimate is that there is none.
        status: "optimal" where nothing needs saying, else a short sentence that can follow
            the name of the map: "no estimate: ...", "infeasible: ...", "inaccurate: ...",
            "undetermined: ...".
        residual: ||A f - y||, in kelvin.
        why: why this estimator was taken, where the choice was left open, and what the readings
            cannot tell of the map.
        credible: what the posterior says of its own error, where there is one.
        gap: the objective exceeds the least by at most this, where there is an objective.
        estimator: the name of the one that was taken, where the choice was left open.
        verdict: whether the readings can be; None where that was not looked at, as by an
            estimator itself, for which `estimate` does.
    """

    heat: Floats
    status: str
    residual: float
    why: str = ""
    credible: Credible | None = None
    gap: float = float("nan")
    estimator: str = ""
    verdict: Verdict | None = None


# Why a map may be off that takes no notice of `Seen.others`.
ONE_TIME = "as if every source had stood there for the stated time"


# What double precision can weigh.
#
# Scenes are told apart by differences of squares in deviations of the noise. Where noise is below
# a ten-millionth of what is read, those squares are above 1e14 and their last digit is as large
# as the differences: every weight would be rounding.

# Noise below this share of what is read leaves the weights no digits.
_QUIET = 1e-7
# Readings so many times above all that the prior allows are a fault, or in another unit.
_ABSURD = 1e6


def raise_sigma(seen: Seen) -> Seen:
    """Return the same readings, with as much noise as leaves the weights of scenes their digits.

    More noise than there is says less than could be said, and nothing that is not so.

    Raises:
        ValueError: readings a million times above what the prior's sources and noise can come to.
    """
    loudest = seen.prior.warmest * float(np.abs(seen.operator).max())
    read = float(np.abs(seen.readings).max())
    most = seen.prior.most * loudest + seen.sigma
    if not read <= _ABSURD * most or not math.isfinite(most):
        raise ValueError(
            f"a reading is {read:.3g} but {seen.prior.most} sources of "
            f"{seen.prior.warmest:g} and the noise come to {most:.3g} at most: no scene that the "
            "prior allows is near, and none could be told from another. Check the unit of the "
            "readings and of the operator, or leave that sensor out."
        )
    least = _QUIET * math.sqrt(len(seen.readings)) * max(loudest, read)
    return replace(seen, sigma=least) if seen.sigma < least else seen


def note_raised_sigma(estimate: Estimate, seen: Seen, weighed: Seen) -> Estimate:
    """Return the estimate with a status that says if more noise was reckoned with.

    Args:
        estimate: what came of it.
        seen: the readings as they are.
        weighed: the same with the noise that was reckoned with.
    """
    if estimate.status != "optimal" or weighed.sigma <= seen.sigma:
        return estimate
    status = f"inaccurate: weighed as if noise were {weighed.sigma:.2g}, for want of digits"
    return replace(estimate, status=status)


# What readings must be before any estimator looks at them.


def check(seen: Seen) -> None:
    """Refuse readings that do not fit their operator, or numbers without a meaning.

    Raises:
        ValueError: a shape does not fit, a number is not finite or out of range, no cell is
            open, or fewer are than the prior has sources.
    """
    sensors, cells = _check_shapes(seen)
    others = () if seen.others is None else (seen.others,)
    numbers = (seen.operator, seen.readings, seen.places, *others)
    if not all(np.isfinite(part).all() for part in numbers):
        raise ValueError(
            f"an entry of an operator, of the {sensors} readings or of the places is NaN or "
            "infinite but all must be finite: one bad number would spoil the whole map. Leave "
            "that sensor's row and reading out."
        )
    for name, value, most, needed in (
        ("sigma", seen.sigma, math.inf, "positive and finite"),
        ("upper", seen.upper, math.inf, "positive and finite"),
        ("failure", seen.failure, 1, "between 0 and 1"),
        ("level", seen.level, 1, "between 0 and 1"),
    ):
        good = isinstance(value, (int, float, np.integer, np.floating)) and 0 < value < most
        if not good:
            raise ValueError(
                f"{name} is {value!r} but must be {needed}, and one number, or neither the map "
                "nor its error would mean anything. Correct it; sensors that differ are weighed "
                "first."
            )
    free = cells if seen.open is None else int(np.count_nonzero(seen.open))
    if free < max(1, seen.prior.fewest):
        raise ValueError(
            f"{free} of {cells} cells are open but the prior has {seen.prior.fewest} sources or "
            "more, each in a cell of its own: there is no place for them. Open cells, or lower "
            "the fewest."
        )
    if not seen.operator[:, slice(None) if seen.open is None else seen.open].any():
        raise ValueError(
            f"the operator is 0 in all its {sensors} rows, in every open cell, but heat must be "
            "felt somewhere: such readings say nothing of any cell. Check the spread and the unit "
            "of its lengths, or open the cells that sensors reach."
        )


def _check_shapes(seen: Seen) -> tuple[int, int]:
    """Return (sensors, cells), or refuse arrays that do not fit each other."""
    for name, part, kinds in (
        ("operator", seen.operator, "fiu"),
        ("readings", seen.readings, "fiu"),
        ("places", seen.places, "fiu"),
        ("others", np.zeros(1) if seen.others is None else seen.others, "fiu"),
        ("open", np.zeros(1, bool) if seen.open is None else seen.open, "b"),
    ):
        if type(part) is not np.ndarray or part.dtype.kind not in kinds:
            held = f" of {part.dtype}" if isinstance(part, np.ndarray) else ""
            raise ValueError(
                f"{name} is a {type(part).__name__}{held} but must be a numpy array of "
                f"{'bool' if kinds == 'b' else 'real numbers'}: estimators look at single rows "
                "and columns. Convert it."
            )
    pair = isinstance(seen.shape, tuple) and len(seen.shape) == 2
    whole = pair and all(isinstance(part, (int, np.integer)) for part in seen.shape)
    if not whole or (seen.places.shape[1:] == (1,) and seen.shape[0] != 1):
        raise ValueError(
            f"the cells have shape {seen.shape!r} but must have (rows, columns), (1, cells) along "
            "a line, whole numbers: the map is drawn row by row. Correct it."
        )
    cells = math.prod(seen.shape)
    good = (
        seen.operator.ndim == 2
        and seen.operator.size > 0
        and seen.operator.shape[1] == cells
        and seen.readings.shape == seen.operator.shape[:1]
        and seen.places.ndim == 2
        and len(seen.places) == cells
        and seen.places.shape[1] in (1, 2)
        and (seen.open is None or seen.open.shape == (cells,))
        and (seen.others is None or seen.others.shape[1:] == seen.operator.shape)
    )
    if not good:
        raise ValueError(
            f"the operator has shape {seen.operator.shape}, the readings {seen.readings.shape}, "
            f"the places {seen.places.shape} and the cells {seen.shape}, open "
            f"{None if seen.open is None else seen.open.shape}, others "
            f"{None if seen.others is None else seen.others.shape}, but "
            "(sensors, cells), (sensors,), (cells, 1 or 2), (rows, columns), bool (cells,) and "
            "(times, sensors, cells) are needed: each sensor has one row and one reading. Leave "
            "silent sensors out of all."
        )
    if seen.places.shape[1] == 1 and (np.diff(seen.places[:, 0]) <= 0).any():
        raise ValueError(
            "the places along the line do not rise but must: shares of heat are added up from "
            "the first cell to the last. Sort the cells, and the operator's columns with them."
        )
    return seen.operator.shape[0], cells


# What a prior says of the heat of each cell before any reading: mean, square and product.

# Where it is not known whether all are equally warm, they go from this share of the warmest up.
COOLEST = 0.3


@dataclass(frozen=True, slots=True)
class Moments:
    """Expectations over the prior; the same for every cell and every two cells.

    Args:
        mean: of the heat of a cell.
        square: of its square.
        product: of the heats of two different cells.
    """

    mean: float
    square: float
    product: float


def compute_moments(prior: Prior, cells: int) -> Moments:
    """Return the moments of the heat of so many open cells.

    >>> compute_moments(Prior(2, 2), 100)
    Moments(mean=0.02, square=0.02, product=0.00020202020202020202)
    """
    numbers = np.arange(prior.fewest, min(prior.most, cells) + 1)
    singles, pairs = float(numbers.mean()), float((numbers * (numbers - 1)).mean())
    models = [_compute_power_moments(prior.warmest, low) for low in list_coolest(prior)]
    power = float(np.mean([mean for mean, _ in models]))
    # Powers are independent if it is known whether they are equal: else one tells of another.
    both = float(np.mean([mean**2 for mean, _ in models]))
    square = float(np.mean([square for _, square in models]))
    ways = cells * (cells - 1)
    return Moments(
        singles * power / cells, singles * square / cells, pairs * both / ways if ways else 0.0
    )


def list_coolest(prior: Prior) -> tuple[float, ...]:
    """Return the coolest source of each model that the prior holds to be as likely as another."""
    if prior.coolest is None:
        return prior.warmest, COOLEST * prior.warmest
    return (prior.coolest,)


def compute_mean_power(prior: Prior) -> float:
    """Return the mean heat of a source."""
    return float(
        np.mean([_compute_power_moments(prior.warmest, low)[0] for low in list_coolest(prior)])
    )


def _compute_power_moments(high: float, low: float) -> tuple[float, float]:
    """Return mean and mean square of what is even between two bounds."""
    return (low + high) / 2, (low**2 + low * high + high**2) / 3
