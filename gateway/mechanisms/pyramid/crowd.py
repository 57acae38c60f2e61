"""People in the simulator alone, who may be in several places each; and the noise on levels."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Reading, Release
from edge.mechanisms.pyramid import epsilons, list_squares, params_of
from physics.points import find_cells
from recovery.pyramid.query import PLACES_MAX
from recovery.pyramid.tree import read_tree

from ...faults import OperatorFault
from .. import places
from ..worlds import EXAMPLES, Floats, Inputs


@dataclass(frozen=True)
class Crowd:
    """Where everybody is: a row for each place, users one after the other."""

    query: Any
    users: NDArray[np.int64]  # (rows,), from 0, rising
    cells: NDArray[np.int64]  # (rows,), flat, x fastest
    weights: Floats  # (rows,), of total one a user at most
    outside: int
    divided: int  # users whose rows have more than one mass

    @property
    def truth(self) -> Floats:
        """The mass in each cell, (rows, columns): of a user one at most."""
        columns, rows = self.query.grid.shape
        counts = np.bincount(self.cells, self.weights, minlength=columns * rows)
        return np.asarray(counts.reshape(rows, columns), dtype=np.float64)

    def read_devices(self, round: Any) -> Iterator[Reading]:
        """Yield the places of every device for a Round. Private."""
        columns, units = self.query.grid.shape[0], self.query.units
        ends = np.flatnonzero(np.diff(self.users, append=-1)) + 1
        rows, columns_of = (part.tolist() for part in divmod(self.cells, columns))
        # Rounded down to parts: the device divides what is more than one mass.
        parts = np.floor(self.weights * units + 1e-9).astype(int).tolist()
        start = 0
        for user, end in enumerate(ends.tolist()):
            if end == start + 1 and parts[start] == units:
                yield Reading(user, (columns_of[start], rows[start]))
            else:
                at = range(start, end)
                values = tuple(n for i in at for n in (columns_of[i], rows[i], parts[i]))
                yield Reading(user, values)
            start = end

    def describe_exceptions(self) -> str:
        """Return clauses about points that were moved to the grid, divided or told again."""
        many, readings = int(self.users[-1]) + 1, self.query.readings
        divided = (
            f"people with more than one mass, a row without a weight being one: {self.divided}; "
            "each counts as one all the same, divided among the rows"
        )
        most = int(np.bincount(self.users).max())
        at_once = (
            f"who has several rows is in all of them at once, {most} places a report at most; "
            "heatveil fleet has them there in turn"
        )
        clauses = [
            places.describe_outside(self.outside, self.query.grid),
            divided * bool(self.divided),
            at_once * (most > 1),
        ]
        return "; ".join(
            filter(None, [*clauses, places.describe_repeated(many * (readings > 1), readings)])
        )


def load_crowd(query: Any, inputs: Inputs, world: np.random.Generator) -> Crowd:
    """Return the people of a file, or of an example data set, and the query for so many.

    Several rows of one user are one distribution, of total one at most. How many users there are
    is public here: levels are chosen by it, where the query does not say how many to expect.

    Raises:
        OperatorFault: neither is given, the file is wrong, or a point is outside and the query
            refuses that.
    """
    grid = query.grid
    if inputs.points is None or inputs.points in EXAMPLES or inputs.users is not None:
        found = places.load_crowd(replace(query, readings=1), inputs, world)
        cells = found.cells[0]
        users = np.arange(len(cells))
        return Crowd(
            _fit_query_to_crowd(query, users), users, cells, np.ones(len(cells)), found.outside, 0
        )
    path = Path(inputs.points)
    points = places.read_points_file(path)
    outside = places.count_outside(points, path, grid, query.outside)
    order = np.argsort(points.users, kind="stable")
    users = points.users[order]
    totals = np.bincount(users, points.weights[order])
    weights = points.weights[order] / np.maximum(totals, 1.0)[users]
    cells = find_cells(points.places, grid)[order]
    divided = int((totals > 1 + 1e-9).sum())
    return Crowd(_fit_query_to_crowd(query, users), users, cells, weights, outside, divided)


def _fit_query_to_crowd(query: Any, users: NDArray[np.int64]) -> Any:
    """Return the query for so many users, and for as many places as one of them has.

    Raises:
        OperatorFault: it names fewer places than a user has.
    """
    most = min(int(np.bincount(users).max()), PLACES_MAX)
    if query.places and query.places < most:
        raise OperatorFault(
            f"places is {query.places}, but a user of --points has {most} rows, each one a place: "
            f"some would be left out. Set places={most}, or leave it out"
        )
    return replace(
        query,
        users=query.users or int(users[-1]) + 1,
        places=query.places or most,
    )


def check_release_is_whole(release: Release, path: Path) -> None:
    """Check that a release has a whole number for every square.

    Raises:
        OperatorFault: it has not.
    """
    try:
        read_tree(release)
    except ValueError as fault:
        raise OperatorFault(f"{path}: {fault}") from fault


# What `heatveil calibrate` says of the noise on each level.


def describe_levels(query: Any, round: Any) -> tuple[dict[str, Any], list[str]]:
    """Return what noise each level gets, as numbers and in words."""
    p = params_of(round)
    levels = [
        {
            "squares": len(list_squares(round.grid, level)),
            "epsilon": [num, den],
            "noise_sd_users": 2**0.5 * den / num,
        }
        for level, (num, den) in enumerate(epsilons(round), p.first)
    ]
    lines = [
        f"Level {level}: {one['squares']} square{'s' * (one['squares'] > 1)}, each measured one "
        f"off by {one['noise_sd_users']:.3g} users (one standard deviation)."
        for level, one in enumerate(levels, p.first)
    ]
    kept = f"Below level {p.first} is measured what lies in the {p.kept} fullest squares above."
    if len(levels) == 1:
        even = "" if p.first else ", which is the whole map: it cannot say where people are"
        kept = f"This level alone is measured{even}."
    return {"levels": levels, "kept": p.kept}, [*lines, kept]
