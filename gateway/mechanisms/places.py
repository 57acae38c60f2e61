"""Where people are in the simulator alone, for every mechanism that reads places: `--points`."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Grid, Reading
from physics import points as drawn
from physics.files import open_csv
from physics.fleet import Fleet
from physics.points import Points, find_cells, read_points

from ..faults import OperatorFault, suggest_name
from .summary import describe_warmest_places
from .worlds import EXAMPLES, TRUTH, Floats, Inputs

_USERS = 10_000
IN_TURN = "ask for --set readings={rows}, which shares epsilon among them"


@dataclass(frozen=True)
class Crowd:
    """Where everybody is whenever they are asked."""

    query: Any
    cells: NDArray[np.int64]  # (readings, users), flat, x fastest
    outside: int  # points that stand beyond the grid
    still: int = 0  # people with fewer places than there are readings

    @property
    def truth(self) -> Floats:
        """How often somebody was in each cell when asked, (rows, columns)."""
        columns, rows = self.query.grid.shape
        counts = np.bincount(self.cells.ravel(), minlength=columns * rows)
        return counts.reshape(rows, columns).astype(np.float64)

    def read_devices(self, round: Any) -> Iterator[Reading]:
        """Yield the cell of every device for a Round. Private."""
        columns = self.query.grid.shape[0]
        for user, cell in enumerate(self.cells[round.number - 1].tolist()):
            yield Reading(user, (cell % columns, cell // columns))

    def describe_exceptions(self) -> str:
        """Return clauses about points beyond the grid, in one cell of it, or told again."""
        clauses = [
            describe_outside(self.outside, self.query.grid),
            describe_repeated(self.still, self.query.readings),
        ]
        if not self.outside and self.cells.shape[1] > 1 and self.cells.min() == self.cells.max():
            clauses.append(
                f"all of the points are in one cell of the grid, which is "
                f"{_describe_size(self.query.grid)}: see that x and y are in the same unit"
            )
        return "; ".join(filter(None, clauses))


def describe_outside(outside: int, grid: Grid) -> str:
    """Return a clause about so many points beyond the grid; else empty."""
    return (
        f"{outside} of the points stand{'s' if outside == 1 else ''} beyond the grid, which is "
        f"{_describe_size(grid)} from 0 on; who is there answers from the nearest cell, for "
        "silence would tell"
        if outside
        else ""
    )


def describe_repeated(still: int, readings: int) -> str:
    """Return a clause about people who tell a place at several of the readings; else empty."""
    return (
        f"people who tell again at one of the {readings} readings what they told before: {still}; "
        "it shares epsilon and shows nothing new"
        if still
        else ""
    )


def _describe_size(grid: Grid) -> str:
    across, down = measure_grid_sides(grid)
    return f"{across:g} by {down:g}{' m' if grid.cell_mm else ''}"


class OnGrid(NamedTuple):
    """What a crowd is made for that tells cells of another grid than the map's."""

    grid: Grid
    readings: int
    outside: str = "clamp"


def load_crowd(
    query: Any, inputs: Inputs, world: np.random.Generator, advice: str = IN_TURN
) -> Crowd:
    """Return the people of a file, or of an example data set.

    Args:
        advice: what to do where a user has too many {rows}.

    Raises:
        OperatorFault: neither is given, or the file is wrong.
    """
    if inputs.points is None:
        raise OperatorFault(
            "--points is missing; it says where people are. Give --points FILE.csv, or one of "
            f"the examples {', '.join(EXAMPLES)}"
        )
    grid = query.grid
    if inputs.points in EXAMPLES:
        made = getattr(drawn, inputs.points)(inputs.users or _USERS, world)
        cells = np.tile(find_cells(made * measure_grid_sides(grid), grid), (query.readings, 1))
        return Crowd(query, cells, 0, len(made) if query.readings > 1 else 0)
    if inputs.users is not None:
        raise OperatorFault(
            f"--users {inputs.users} came with the file {inputs.points}; how many people there "
            "are is what the file says. Leave --users out, or name an example instead"
        )
    path = Path(inputs.points)
    found = read_points_file(path)
    check_weights(found, path)
    _check(found, path, query.readings, advice)
    outside = count_outside(found, path, grid, getattr(query, "outside", "clamp"))
    cells = _take_cells_in_turn(found, find_cells(found.places, grid), query.readings)
    return Crowd(query, cells, outside, count_short_users(found, query.readings))


def count_outside(found: Points, path: Path, grid: Grid, choice: str) -> int:
    """Return how many points stand beyond the grid.

    Args:
        choice: "clamp" or "refuse", of any that do.

    Raises:
        OperatorFault: all do, or some do and that is refused.
    """
    # On the unit square the far border is a place like others, of the last cell.
    above = np.greater_equal if grid.cell_mm else np.greater
    outside = np.any((found.places < 0) | above(found.places, measure_grid_sides(grid)), axis=1)
    if outside.all() or (outside.any() and choice == "refuse"):
        x, y = found.places[np.flatnonzero(outside)[0]]
        raise OperatorFault(
            f"{path} has {int(outside.sum())} of {len(outside)} points beyond the grid, the first "
            f"at {x:g}, {y:g}; x and y must be "
            + ("in metres, within --length" if grid.cell_mm else "parts of a side, from 0 to 1")
            + ", or who is there counts at its border. Scale the points"
            + (", or give --length" if outside.all() else ", or take --set outside=clamp")
        )
    return int(outside.sum())


def count_short_users(found: Points, readings: int) -> int:
    """Return how many users have fewer rows than there are readings."""
    return int((np.bincount(found.users) < readings).sum())


def read_points_file(path: Path) -> Points:
    """Return the points of a file.

    Raises:
        OperatorFault: it cannot be read, or a row is wrong.
    """
    if not path.suffix and not path.exists():
        raise OperatorFault(
            f"--points {path} is neither a file nor an example, and says where people are; "
            f"{suggest_name(str(path), EXAMPLES)}"
        )
    try:
        return read_points(path)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault


def measure_grid_sides(grid: Grid) -> Floats:
    """Return how long the grid is, (x, y): in metres, or (1, 1) for the unit square."""
    if not grid.cell_mm:
        return np.ones(2)
    return np.array(grid.shape) * grid.cell_mm / 1000


def check_weights(found: Points, path: Path) -> None:
    """Check that each row counts as one.

    Raises:
        OperatorFault: one has another weight.
    """
    for index in np.flatnonzero(found.weights != 1)[:1]:
        raise OperatorFault(
            f"{path} line {_read_row(path, index)[0]}: the weight is {found.weights[index]:g}; "
            "here it must be 1 or left out, for each device answers once and counts as one. Leave "
            "the column out, or write a row for each device"
        )


def _check(found: Points, path: Path, readings: int, advice: str) -> None:
    """Check that each is one device, which answers once a reading.

    Raises:
        OperatorFault: a row says otherwise.
    """
    order = np.argsort(found.users, kind="stable")
    nth = np.empty(len(order), dtype=np.int64)  # which row of its user each one is
    firsts = np.searchsorted(found.users[order], found.users[order])
    nth[order] = np.arange(len(order)) - firsts
    for index in np.flatnonzero(nth >= readings)[:1]:
        line, (user, *_) = _read_row(path, index)
        advised = advice.format(rows=int(nth.max()) + 1)
        raise OperatorFault(
            f"{path} line {line}: row {nth[index] + 1} of user {user.strip()}, but each device "
            f"reports only {readings} time{'s' * (readings > 1)}: more would cost more than the "
            f"promise allows. Give each user {readings} row{'s' * (readings > 1)}, or {advised}"
        )


def _read_row(path: Path, index: int) -> tuple[int, list[str]]:
    """Return the line of a file on which the point of that index stands, and its words."""
    with open_csv(path) as lines:
        return next(islice(lines, index + 1, None))


def _take_cells_in_turn(
    found: Points, cells: NDArray[np.int64], readings: int
) -> NDArray[np.int64]:
    """Return the cells, (readings, users); who has no more rows stays where the last one was."""
    order = np.argsort(found.users, kind="stable")
    many = np.bincount(found.users)
    first = np.cumsum(many) - many
    return np.stack([cells[order[first + np.minimum(turn, many - 1)]] for turn in range(readings)])


# People with a device each that answers its place: a fleet of `edge`'s own devices.
#
# Everything from the cell to the frame is the code that a device of theirs would run. Only where
# they stand is virtual.


class Standing:
    """Where people are, as the sensors of a `physics.fleet.Fleet`.

    Args:
        cells: (answers, people), flat and x fastest: where everybody is at their first answer,
            their second, and so on; at more than there are they stay where they are.
        columns: of the map that these are cells of.
    """

    def __init__(self, cells: NDArray[np.int64], columns: int) -> None:
        self._cells, self._columns = cells, columns
        self.count = cells.shape[1]
        self._answers = np.zeros(self.count, np.int64)

    def find_step(self, own: slice) -> None:
        """Return nothing: a place has no converter."""

    def read(self, own: slice, params: Any) -> tuple[int, int]:
        """Return the cell (x, y) in which a device is now, whatever is asked of it. Private."""
        who = own.start
        cell = int(self._cells[min(self._answers[who], len(self._cells) - 1), who])
        self._answers[who] += 1
        return cell % self._columns, cell // self._columns


# Where the people of `heatveil fleet` are: at the points of a file, or of an example.

FIRST = EXAMPLES[-1]  # of which there is one where nothing was said: three crowds of people


@dataclass(frozen=True)
class StandingCrowd:
    """People who stand where they were put, with a device each."""

    mechanism: str
    cells: Any  # (answers, people), flat
    columns: int  # of the grid that these are cells of
    said: str

    def make_fleet(self, devices: Iterable[Any]) -> Fleet:
        """Return devices that answer for these people.

        Raises:
            OperatorFault: there are more devices than people.
        """
        try:
            return Fleet(
                devices, Standing(self.cells, self.columns), None, mechanism=self.mechanism
            )
        except ValueError as fault:
            raise OperatorFault(str(fault)) from fault

    def run_scene(self, fleet: Fleet) -> AbstractContextManager[str]:
        """Let nothing pass, and say where most of them stand, and who elsewhere than it seems."""
        return nullcontext(self.said)


def make_standing_crowd(
    query: Any, seen: Any, people: int, world: np.random.Generator, grid: Grid | None = None
) -> StandingCrowd:
    """Return where people are: three crowds where nothing was said.

    Args:
        people: how many devices the deployment has.
        grid: whose cells they tell; None for the map's own.

    Raises:
        OperatorFault: a flag or a file is wrong, or has fewer people than there are devices.
    """
    given = [name for name in seen._fields if name != "points" and getattr(seen, name) is not None]
    if given:
        flag = {"since": "--from"}.get(given[0], f"--{given[0].replace('_', '-')}")
        raise OperatorFault(
            f"{flag} describes warmth, but the deployment asks where people are: it would be "
            "silently ignored. Leave it out and give --points FILE.csv, or one of the examples "
            f"{', '.join(EXAMPLES)}"
        )
    from . import find_for_query

    points, mechanism = seen.points or FIRST, find_for_query(query).name
    inputs = Inputs(points=points, users=people * (points in EXAMPLES) or None)
    grid = grid or query.grid
    advice = "set [privacy] readings = {rows}, which share epsilon, before you enrol"
    found = load_crowd(OnGrid(grid, query.readings), inputs, world, advice)
    if found.cells.shape[1] < people:
        raise OperatorFault(
            f"{points} has {found.cells.shape[1]} people but the deployment has {people} devices; "
            "a device without a person has no place to report. Set "
            f"[{mechanism}] devices to the number of people, or name a file with more"
        )
    told = f"{TRUTH}: {_say_where(found.cells[0, :people], grid, query.grid)} when first asked"
    clauses = (
        told,
        _tell_left_over(points, found.cells.shape[1], people),
        found.describe_exceptions(),
    )
    said = "; ".join(filter(None, clauses))
    return StandingCrowd(mechanism, found.cells, grid.shape[0], said)


def _say_where(cells: NDArray[np.int64], grid: Grid, seen: Grid) -> str:
    """Return in words where most people are who stand in these cells of a grid.

    Args:
        seen: the map's grid, as whose cells they are added up.
    """
    (columns, rows), (across, down) = seen.shape, grid.shape
    y, x = np.divmod(cells, across)
    counts = np.bincount(y * rows // down * columns + x * columns // across, None, columns * rows)
    return describe_warmest_places(counts.reshape(rows, columns) / len(cells), seen)


def _tell_left_over(points: str, there: int, people: int) -> str:
    """Return a clause about people for whom there is no device; empty without any."""
    if there == people:
        return ""
    return (
        f"{points} has {there} people and the deployment {people} devices: the first {people} "
        "have one, and the others are not asked"
    )
