"""What an analyst may ask of thermal sensors, checked before anything is planned."""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Grid
from physics.kernel import Walls
from physics.places import sensor_places
from physics.response import Response

from ..estimators import HOMES
from ..estimators.table import ESTIMATORS
from ..fields import EPSILON, WINDOW_H, check_rules, describe
from ..noise import Ratio, check_delta, check_ratio
from ..noise.gaussian import paper_sigma

# The three ways to take the room's own warmth from the readings, and what each one needs.
#
# recorded   on the device, a level recorded once in the empty room: public, so it costs nothing
# following  on the device, a level that follows the readings: private, so the noise must hide
#            what it gives away as well; see `edge.core.background`
# gateway    after the veil, from readings of hours that are publicly known to be empty: costs
#            no privacy either, but room in the clamp, and the map what the level is off by

WAYS = ("recorded", "following", "gateway")

# Furniture, where nothing warm can stand: column, row, columns, rows; counted from 0.
Rectangle = tuple[int, int, int, int]
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

    grid: Grid = field(
        metadata=describe(
            "Cells of the map: N on a line, NxM in a plane.", flag="cells", example="100"
        )
    )
    sensors: tuple[int, ...] = field(  # (m,) along a line, (columns, rows) over a plane
        metadata=describe(
            "Sensors, evenly spread: M, or MxK in a plane.", flag="sensors", example="50"
        )
    )
    # The shortest that the room can meet.
    spread_m2: float = field(
        metadata=describe(
            "Diffusivity times time: the paper's T, or m2 with --length.",
            flag="spread",
            example="0.05",
        )
    )
    epsilon: Ratio = field(metadata=EPSILON)
    delta: Ratio = field(
        default=(1, 100000), metadata=describe("A ratio such as 1/100000.", flag="delta")
    )
    protect_distance_m: float | None = None  # None for one cell
    intensity_max: float = 1.0  # the most heat of one source: an assumption on the world
    sources_max: int = 8  # readings are clamped to what so many can warm
    walls: Walls = "none"
    step: Fraction | None = None  # of the sensors' converter
    readings: int = 1
    calibration: Literal["exact", "paper"] = field(
        default="exact",
        metadata=describe("exact, or paper for the formula as printed.", flag="calibration"),
    )
    estimator: str = field(
        default="auto",
        metadata=describe(
            f"Who draws the map: {', '.join(HOMES)}, or MODULE:FUNCTION, one's own.",
            flag="estimator",
            map_only=True,
        ),
    )
    failure: float = 0.05  # chance that the true heat lies outside the radius
    keyholder: bool = False
    sensor_noise: float = 0.0  # standard deviation of a sensor's own noise, never credited
    sigma: Ratio | None = None  # the noise itself; epsilon is then what it really gives
    background: Literal["recorded", "following", "gateway"] = "recorded"  # how the room's own goes
    slew: Fraction | None = None  # following: what a level moves by at most, in kelvin an answer
    # A room's own, instead of spread_m2, which is infinite then, and walls; heat is in watts.
    response: Response | None = field(
        default=None,
        metadata=describe("", elsewhere="[room] plan in a deployment file"),
    )
    window_h: int = field(default=0, metadata=WINDOW_H)
    # Counts of another converter before that of `step`, which sees them whole: 0 without.
    behind: Fraction = Fraction(0)
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
        _check_background(self)
        _check_response(self)
        check_furniture(self.grid, self.furniture, self.sources or 1)
        printed = self.calibration == "paper" and self.sigma is None
        plain = self.calibration == "exact" and self.sigma is None
        rules = [
            (
                "spread_m2",
                _is_positive(self.spread_m2) or self.response is not None,
                "positive: heat must have had time",
            ),
            ("intensity_max", _is_positive(self.intensity_max), "positive: it scales the noise"),
            (
                "sources_max",
                is_whole(self.sources_max),
                "a whole number from 1: it sets the clamp",
            ),
            ("readings", is_whole(self.readings), "a whole number from 1: they share the promise"),
            ("walls", self.walls in ("none", "insulated"), "'none' or 'insulated'"),
            ("calibration", self.calibration in ("exact", "paper"), "'exact' or 'paper'"),
            (
                "sampler",
                self.sampler == "exact" or (self.sampler == "table" and plain),
                "'exact' or 'table', and exact where the noise is stated or printed",
            ),
            (
                "estimator",
                self.estimator in ESTIMATORS,
                f"one of {', '.join(ESTIMATORS)}, or on a command line MODULE:FUNCTION",
            ),
            (
                "sources",
                self.sources is None
                or (is_whole(self.sources) and self.sources <= self.sources_max),
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
            ("drift", self.drift == 0 or _is_positive(self.drift), "0 or more"),
            ("drift_slope", self.drift_slope == 0 or _is_positive(self.drift_slope), "0 or more"),
            (
                "estimator",
                self.estimator in _OF_UNKNOWN or not has_unknown_physics(self),
                f"one of {', '.join(_OF_UNKNOWN)} where spread or drift are not known",
            ),
            ("level", 0 < self.level < 1, "between 0 and 1: no band holds surely"),
            ("failure", 0 < self.failure < 1, "between 0 and 1: a radius never holds surely"),
            ("keyholder", isinstance(self.keyholder, bool), "True or False"),
            (
                "sensor_noise",
                self.sensor_noise == 0 or _is_positive(self.sensor_noise),
                "0 or more",
            ),
            (
                "step",
                self.step is None or (isinstance(self.step, Fraction) and self.step > 0),
                "left out or a positive Fraction: a float is not exactly the converter's step",
            ),
            (
                "behind",
                isinstance(self.behind, Fraction)
                and (self.behind == 0 or (self.behind > 0 and self.step is not None)),
                "0, or a positive Fraction beside a step: it is of the converter behind that one",
            ),
        ]
        check_rules(self, rules)


def has_unknown_physics(query: Query) -> bool:
    """Say whether the map has to find out about spread or drift beside the sources."""
    ranged = query.spread_max_m2 is not None and query.spread_max_m2 > query.spread_m2
    return ranged or query.drift > 0 or query.drift_slope > 0


def find_standing_room(query: Query) -> NDArray[np.bool_]:
    """Return where something warm can stand, (cells,): wherever no furniture is."""
    if query.response is not None:
        return query.response.open_cells
    return find_free_cells(query.grid, query.furniture)


def count_protected_cells(query: Query) -> int:
    """Return how many cells a source may move and stay hidden; part of a cell is one."""
    if query.protect_distance_m is None:
        return 1
    return math.ceil(query.protect_distance_m / cell_m(query.grid) - 1e-9)


def _is_positive(value: float) -> bool:
    return 0 < value < math.inf


def _check_background(asked: Query) -> None:
    """Refuse what does not go together with a ValueError."""
    follows, slew = asked.background == "following", asked.slew
    gateway, empty = asked.background == "gateway", asked.empty_readings
    rules = [
        ("background", asked.background in WAYS, f"one of {', '.join(WAYS)}"),
        (
            "slew",
            isinstance(slew, Fraction) and slew > 0 if follows else slew is None,
            "a positive Fraction of a kelvin where the background is following, and left out else",
        ),
        (
            "background_k",
            0 <= asked.background_k < math.inf and (asked.background_k > 0 or not gateway),
            "0 or more, and above 0 where the gateway takes the background away",
        ),
        (
            "empty_readings",
            type(empty) is int and (0 < empty < asked.readings if gateway else empty == 0),
            f"from 1 to below readings, {asked.readings}, where the gateway takes the background "
            "away, and 0 else",
        ),
    ]
    mistaken = "a room's own warmth would be taken for somebody's, or somebody's for the room's"
    check_rules(asked, rules, mistaken)


def find_free_cells(grid: Grid, furniture: tuple[Rectangle, ...]) -> NDArray[np.bool_]:
    """Return where no furniture is, (cells,), row by row."""
    columns, rows = grid.shape
    free = np.ones((rows, columns), dtype=bool)
    for left, top, wide, high in furniture:
        free[top : top + high, left : left + wide] = False
    return free.ravel()


def check_furniture(grid: Grid, furniture: tuple[Rectangle, ...], sources: int) -> None:
    """Refuse furniture outside of the room, or that leaves too few cells for the sources.

    Raises:
        ValueError: it is so.
    """
    columns, rows = grid.shape
    for rectangle in furniture:
        whole = isinstance(rectangle, tuple) and [type(part) for part in rectangle] == [int] * 4
        if not whole or not (
            0 <= rectangle[0] < rectangle[0] + rectangle[2] <= columns
            and 0 <= rectangle[1] < rectangle[1] + rectangle[3] <= rows
        ):
            raise ValueError(
                f"furniture holds {rectangle!r} but must be of cells (column, row, columns, rows) "
                f"within the {columns} by {rows}, counted from 0: what stands elsewhere keeps "
                "nobody away. Correct it."
            )
    free = np.count_nonzero(find_free_cells(grid, furniture))
    if free < sources:
        raise ValueError(
            f"furniture leaves {free} cells for "
            f"{sources} sources, but each needs its own: nothing could be warm. Take "
            "some of it away."
        )


def cell_m(grid: Grid) -> float:
    """Return the shorter side of a cell, in metres or in sides of the unit grid."""
    return grid.cell_mm / 1000 if grid.cell_mm else 1 / max(grid.shape)


def check_room(grid: Grid, sensors: tuple[int, ...], distance: float | None, placed: bool) -> None:
    """Refuse a grid, sensors or a distance that do not fit each other.

    Args:
        placed: where the sensors are is known otherwise, so they need not be spread evenly.

    Raises:
        ValueError: they do not.
    """
    counts = (grid.shape, sensors)
    if not all(isinstance(part, tuple) and all(map(is_whole, part)) for part in counts) or (
        len(grid.shape) != 2 or max(grid.shape) < 2
    ):
        raise ValueError(
            f"the grid is {grid.shape} and the sensors {sensors} but both must be "
            "tuples of whole numbers, with two cells at least: one place alone hides nothing. "
            "Write Grid((100, 1), 0) and (50,)."
        )
    if not placed:
        sensor_places(sensors, grid)  # refuses what does not fit, in its own words
    room = cell_m(grid) * max(grid.shape)
    if distance is not None and not cell_m(grid) * (1 - 1e-9) <= distance <= room:
        raise ValueError(
            f"protect_distance_m is {distance:g} but must be between one cell, "
            f"{cell_m(grid):g}, and the room, {room:g}: a shorter one cannot be told "
            "apart, a longer one does not exist. Choose one, or leave it out for one cell."
        )


def is_whole(value: object) -> bool:
    """Return whether it is a whole number from 1."""
    return type(value) is int and value > 0


def _check_response(query: Query) -> None:
    """Refuse what does not go together with a ValueError."""
    made = query.response
    if made is None:
        return
    for name, good, needed in (
        ("grid", query.grid == made.grid, f"that of the response, {made.grid}"),
        ("sensors", query.sensors == (len(made.places_m),), f"({len(made.places_m)},)"),
        # What would take them must not go on with numbers that mean nothing.
        ("spread_m2", query.spread_m2 == math.inf, "infinite, for no kernel is to take it"),
        ("walls", query.walls == "none", "'none', for the response has the room's own"),
        ("furniture", query.furniture == (), "left out, for the response has the room's own"),
        ("calibration", query.calibration == "exact", "'exact', for no formula was printed of it"),
        ("spread_max_m2", query.spread_max_m2 is None, "left out, for there is no spread"),
        ("drift", query.drift == 0, "0, for only a kernel's map finds it out"),
        ("drift_slope", query.drift_slope == 0, "0, for only a kernel's map finds it out"),
    ):
        if not good:
            raise ValueError(
                f"{name} is {getattr(query, name)!r} beside the response of a room but must be "
                f"{needed}: two rooms cannot both be meant. Correct it, or leave the response out."
            )
    made.find_distance(
        max(1, math.ceil(1000 * (query.protect_distance_m or 0) / made.grid.cell_mm - 1e-9))
    )
