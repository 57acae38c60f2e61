"""People whose places a gateway sorts, in the simulator; and releases in published files."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Reading, Release, Round
from edge.mechanisms import ranks as device
from physics.points import find_cells
from recovery.ranks import refine_grid
from recovery.ranks.query import Query

from .. import places, usual
from ..places import OnGrid, StandingCrowd
from ..worlds import EXAMPLES, Floats, Inputs


@dataclass(frozen=True)
class Crowd:
    """Where everybody is whenever they are asked, on the grid that devices tell."""

    query: Query
    cells: tuple[tuple[NDArray[np.int64], ...], ...]  # by release and user, flat, x fastest
    words: str  # about points beyond the grid

    @property
    def truth(self) -> Floats:
        """How much of everybody was in each cell of the map, (rows, columns): one a user."""
        columns, rows = self.query.grid.shape
        fine, finer = refine_grid(self.query).shape
        counts = np.zeros(columns * rows)
        for users in self.cells:
            flat = np.concatenate(users)
            weights = np.repeat([1 / len(one) for one in users], [len(one) for one in users])
            row, column = np.divmod(flat, fine)
            at = row * rows // finer * columns + column * columns // fine
            counts += np.bincount(at, weights, minlength=columns * rows)
        return counts.reshape(rows, columns)

    def read_devices(self, round: Round) -> Iterator[Reading]:
        """Yield the cells of every device for a Round. Private."""
        fine = round.grid.shape[0]
        for user, cells in enumerate(self.cells[round.number - 1]):
            xy = np.stack([cells % fine, cells // fine], axis=1)
            yield Reading(user, tuple(xy.ravel().tolist()))

    def describe_exceptions(self) -> str:
        """Return a clause about points beyond the grid; else empty."""
        return self.words


def load_crowd(query: Query, inputs: Inputs, world: np.random.Generator) -> Crowd:
    """Return the people of a file, or of an example data set.

    A user's rows of a file are points over time: a part of them a release, one after the other,
    where the query has several points, and one a release where it has one.

    Raises:
        OperatorFault: neither is given, or the file is wrong.
    """
    fine = refine_grid(query)
    if query.points == 1 or inputs.points is None or inputs.points in EXAMPLES:
        asked = OnGrid(fine, query.readings, query.outside)
        advice = f"{places.IN_TURN}, or for points={{rows}}, which tells all of them at once"
        plain = places.load_crowd(asked, inputs, world, advice)
        cells = tuple(tuple(row[:, None]) for row in plain.cells)
        return Crowd(_count(query, plain.cells.shape[1]), cells, plain.describe_exceptions())
    path, turns = Path(inputs.points), query.readings
    found = places.read_points_file(path)
    places.check_weights(found, path)
    outside = places.count_outside(found, path, query.grid, query.outside)
    flat = find_cells(found.places, fine)
    order = np.argsort(found.users, kind="stable")
    users = np.split(flat[order], np.cumsum(np.bincount(found.users))[:-1])
    cells = tuple(
        tuple(_select_turn_rows(one, turn, turns) for one in users) for turn in range(turns)
    )
    clauses = (
        places.describe_outside(outside, query.grid),
        places.describe_repeated(places.count_short_users(found, turns), turns),
        _tell_left_out(cells, query.points),
    )
    return Crowd(_count(query, len(users)), cells, "; ".join(filter(None, clauses)))


def _select_turn_rows(rows: NDArray[np.int64], turn: int, turns: int) -> NDArray[np.int64]:
    """Return a user's rows of one release: one part after the other, then the last one again."""
    if len(rows) < turns:
        return rows[min(turn, len(rows) - 1)][None]
    return rows[len(rows) * turn // turns : len(rows) * (turn + 1) // turns]


def _tell_left_out(cells: tuple[tuple[NDArray[np.int64], ...], ...], points: int) -> str:
    """Return a clause about points for which reports have no room; empty without any."""
    many = np.array([[len(one) for one in users] for users in cells])
    left_out = int(np.maximum(many - points, 0).sum())
    return (
        f"points that nobody is told, for a report holds {points}: {left_out}; they count in the "
        f"truth all the same, and --set points={many.max()} would tell them"
        if left_out
        else ""
    )


def _count(query: Query, users: int) -> Query:
    """Return the query with how many answer, which is public, where nobody said it."""
    return query if query.users else replace(query, users=users)


def make_standing_crowd(
    query: Query, seen: Any, people: int, world: np.random.Generator
) -> StandingCrowd:
    """Return where people are, on the grid that devices tell."""
    return places.make_standing_crowd(query, seen, people, world, refine_grid(query))


def read_release(query: Query, written: Any) -> Release:
    """Return the release that a round of a published file holds.

    Raises:
        ValueError: it has not the shape of one.
    """
    found = usual.read_release(query, written)
    release = found._replace(round=found.round._replace(grid=refine_grid(query)))
    device.params_of(release.round)
    return release
