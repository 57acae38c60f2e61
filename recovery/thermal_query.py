"""What an analyst may ask of thermal sensors, checked before anything is planned."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from edge.records import Grid
from physics.kernel import Walls
from physics.response import Response

from .backgrounds import check_background
from .estimators.table import ESTIMATORS
from .furniture import Rectangle, check_furniture, free_cells
from .paper import paper_sigma
from .parameters import check_delta
from .ratio import Ratio, check_ratio
from .responses import check_response
from .thermal_grid import cell_m as cell_m
from .thermal_grid import check_room, whole

# Who can find sources where spread or drift are not known.
_OF_UNKNOWN = ("auto", "posterior")


@dataclass(frozen=True, slots=True)
class Query:
    """A map of the heat, from sensors that never say what they read.

    Lengths are in metres, or on a unit grid (cell_mm 0) in units of its side; warmth is in
    kelvin above the baseline, or in the paper's unit.

    Raises:
        ValueError: a field has no meaning, alone or beside the others.
    """

    grid: Grid
    sensors: tuple[int, ...]  # (m,) along a line, (columns, rows) over a plane
    spread_m2: float  # diffusivity times time, the shortest that the room can meet
    epsilon: Ratio  # for all the readings together
    delta: Ratio = (1, 100000)
    protect_distance_m: float | None = None  # None for one cell
    intensity_max: float = 1.0  # the most heat of one source: an assumption on the world
    sources_max: int = 8  # readings are clamped to what so many can warm
    walls: Walls = "none"
    step: Fraction | None = None  # of the sensors' converter
    readings: int = 1
    calibration: Literal["exact", "paper"] = "exact"
    estimator: str = "auto"  # a name of `recovery.estimators`
    failure: float = 0.05  # chance that the true heat lies outside the radius
    keyholder: bool = False
    sensor_noise: float = 0.0  # standard deviation of a sensor's own noise, never credited
    sigma: Ratio | None = None  # the noise itself; epsilon is then what it really gives
    background: Literal["recorded", "following", "gateway"] = "recorded"  # how the room's own goes
    slew: Fraction | None = None  # following: what a level moves by at most, in kelvin an answer
    # A room's own, instead of spread_m2, which is infinite then, and walls; heat is in watts.
    response: Response | None = None
    # What devices draw their noise from: tables are for arrays, and delta pays for their slack.
    sampler: Literal["exact", "table"] = "exact"
    # From here on nothing alters the noise: it is what the map may count on.
    sources: int | None = None  # how many there are, where that is known
    intensity_min: float | None = None  # of one source; None where that is not known
    furniture: tuple[Rectangle, ...] = ()  # cells where nothing warm can stand
    level: float = 0.9  # of the bands around the map
    spread_max_m2: float | None = None  # where it is only known to lie between the two
    drift: float = 0.0  # standard deviation of what all sensors are off by together, in kelvin
    drift_slope: float = 0.0  # and of by how much more at one end of the room than at the other
    background_k: float = 0.0  # how far the room may leave what was recorded: room in the clamp
    empty_readings: int = 0  # gateway: the first so many are known, to all, to be of nobody

    def __post_init__(self) -> None:
        check_room(self.grid, self.sensors, self.protect_distance_m, self.response is not None)
        check_ratio(self.epsilon, "epsilon")
        check_delta(check_ratio(self.delta, "delta"))
        if self.sigma is not None:
            check_ratio(self.sigma, "sigma")
        if self.calibration == "paper":
            paper_sigma(check_ratio(self.epsilon, "epsilon"), check_ratio(self.delta, "delta"))
        check_background(self)
        check_response(self)
        check_furniture(self.grid, self.furniture, self.sources or 1)
        printed = self.calibration == "paper" and self.sigma is None
        plain = self.calibration == "exact" and self.sigma is None
        for name, good, needed in (
            (
                "spread_m2",
                _positive(self.spread_m2) or self.response is not None,
                "positive: heat must have had time",
            ),
            ("intensity_max", _positive(self.intensity_max), "positive: it scales the noise"),
            ("sources_max", whole(self.sources_max), "a whole number from 1: it sets the clamp"),
            ("readings", whole(self.readings), "a whole number from 1: they share the promise"),
            ("walls", self.walls in ("none", "insulated"), "'none' or 'insulated'"),
            ("calibration", self.calibration in ("exact", "paper"), "'exact' or 'paper'"),
            (
                "sampler",
                self.sampler == "exact" or (self.sampler == "table" and plain),
                "'exact' or 'table', and exact where the noise is stated or printed",
            ),
            ("estimator", self.estimator in ESTIMATORS, f"one of {', '.join(ESTIMATORS)}"),
            (
                "sources",
                self.sources is None or (whole(self.sources) and self.sources <= self.sources_max),
                f"left out or from 1 to sources_max, {self.sources_max}",
            ),
            (
                "intensity_min",
                self.intensity_min is None or 0 < self.intensity_min <= self.intensity_max,
                f"left out or positive and at most intensity_max, {self.intensity_max:g}",
            ),
            (
                "spread_max_m2",
                self.spread_max_m2 is None
                or (self.spread_m2 <= self.spread_max_m2 < math.inf and not printed),
                f"left out or from spread_m2, {self.spread_m2:g}, up, where the noise is exact",
            ),
            ("drift", self.drift == 0 or _positive(self.drift), "0 or more"),
            ("drift_slope", self.drift_slope == 0 or _positive(self.drift_slope), "0 or more"),
            (
                "estimator",
                self.estimator in _OF_UNKNOWN or not unknown_physics(self),
                f"one of {', '.join(_OF_UNKNOWN)} where spread or drift are not known",
            ),
            ("level", 0 < self.level < 1, "between 0 and 1: no band holds surely"),
            ("failure", 0 < self.failure < 1, "between 0 and 1: a radius never holds surely"),
            ("keyholder", isinstance(self.keyholder, bool), "True or False"),
            ("sensor_noise", self.sensor_noise == 0 or _positive(self.sensor_noise), "0 or more"),
            (
                "step",
                self.step is None or (isinstance(self.step, Fraction) and self.step > 0),
                "left out or a positive Fraction: a float is not exactly the converter's step",
            ),
        ):
            if not good:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r} but must be {needed}, or neither the "
                    "noise nor the map would mean anything. Correct it in the query."
                )


def unknown_physics(query: Query) -> bool:
    """Say whether the map has to find out about spread or drift beside the sources."""
    ranged = query.spread_max_m2 is not None and query.spread_max_m2 > query.spread_m2
    return ranged or query.drift > 0 or query.drift_slope > 0


def standing_room(query: Query) -> NDArray[np.bool_]:
    """Return where something warm can stand, (cells,): wherever no furniture is."""
    if query.response is not None:
        return query.response.open_cells
    return free_cells(query.grid, query.furniture)


def protected_cells(query: Query) -> int:
    """Return how many cells a source may move and stay hidden; part of a cell is one."""
    if query.protect_distance_m is None:
        return 1
    return math.ceil(query.protect_distance_m / cell_m(query.grid) - 1e-9)


def _positive(value: float) -> bool:
    return 0 < value < math.inf
