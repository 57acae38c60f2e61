"""A crowd in the simulator: devices one by one, or the release of millions of them at once.

Who is in a shard does not matter to the sum of all, so cells are counted once, squares are painted
on the grid, and the noise of all devices is drawn together by `physics.crowds.shares`, exactly.
The law is that of the devices one by one; but sums are not taken modulo 2**bits, which changes a
number once in 2**40.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Reading, Release, Round
from edge.mechanisms import quadtree as device
from edge.mechanisms.quadtree import COUNTS, PLACES_MOST, PROPORTIONS, params_of, sensitivity
from physics.crowds.shares import draw_noise_sums
from physics.points import Points, find_cells
from recovery.quadtree.query import Query
from recovery.quadtree.tree import paint_squares

from ...faults import OperatorFault
from .. import places
from ..sums import PlaySums, set_user_count
from ..worlds import EXAMPLES, Floats, Inputs

Whole = NDArray[np.int64]

ONE_BY_ONE = 2000  # devices; of more, with a place each, the sum is drawn at once
_PARTS = 10**6  # in which the places of one person are told to its device


@dataclass(frozen=True)
class World:
    """Where everybody is, all through the rounds; of many, how many are in each cell."""

    query: Query
    devices: tuple[tuple[int, ...], ...] | PlaySums  # readings of each, or of all
    truth: Floats
    outside: str

    def read_devices(self, round: Round) -> Iterator[Any]:
        """Yield what each device reads, or what all of them do. Private."""
        if isinstance(self.devices, PlaySums):
            yield self.devices
            return
        for sensor, values in enumerate(self.devices):
            yield Reading(sensor, values)

    def describe_exceptions(self) -> str:
        """Return clauses about points beyond the grid, or told again; else empty."""
        readings = self.query.readings
        still = places.describe_repeated(self.query.users * (readings > 1), readings)
        return "; ".join(filter(None, [self.outside, still]))


def load_crowd(query: Query, inputs: Inputs, world: np.random.Generator) -> World:
    """Return the people of a file or an example; the query then knows how many they are.

    Raises:
        OperatorFault: neither is given, the file is wrong, or other users were stated.
    """
    if query.kind == "proportions":
        raise OperatorFault(
            "kind is proportions, but --points say no yes or no, so nobody could answer. Set "
            "kind=counts, or use recovery.quadtree from Python"
        )
    if query.kind != "counts":
        if inputs.points is None or inputs.points in EXAMPLES or inputs.users is not None:
            raise OperatorFault(
                f"kind is {query.kind}, but no file says which places each person has. Give "
                "--points FILE.csv with user,x,y,weight, without --users, or set kind=counts"
            )
        path = Path(inputs.points)
        points = places.read_points_file(path)
        outside = places.count_outside(points, path, query.grid, "clamp")
        return _make_many_place_world(query, points, places.describe_outside(outside, query.grid))
    asked = places.OnGrid(query.grid, 1)  # all the rounds of all its maps ask the same people
    found = places.load_crowd(asked, inputs, world, "run heatveil fleet, where people move")
    flat = found.cells[0]
    columns, rows = query.grid.shape
    cells = np.bincount(flat, minlength=columns * rows).reshape(rows, columns)
    many: Any = PlaySums(cells, len(flat))
    if len(flat) <= ONE_BY_ONE:
        many = tuple((cell % columns, cell // columns) for cell in flat.tolist())
    people = set_user_count(query, len(flat))
    return World(people, many, cells.astype(np.float64), found.describe_exceptions())


def _make_many_place_world(query: Query, points: Points, outside: str) -> World:
    """Return people who are in all of their rows at once, each counting as one in all.

    Raises:
        OperatorFault: one has more rows than a device tells.
    """
    users, many = points.users, np.bincount(points.users)
    if many.max() > query.places:
        raise OperatorFault(
            f"places is {query.places}, but a user of --points has {many.max()} rows, each one a "
            f"place: some would be left out. Set places={many.max()}, if that is {PLACES_MOST} at "
            "most, or leave rows out"
        )
    columns, rows = query.grid.shape
    flat = find_cells(points.places, query.grid)
    totals = np.bincount(users, points.weights)
    shares = points.weights / np.where(totals > 0, totals, 1.0)[users]
    told: list[list[int]] = [[] for _ in many]
    parts = np.rint(shares * _PARTS).astype(np.int64).tolist()
    for user, cell, part in zip(users.tolist(), flat.tolist(), parts, strict=True):
        told[user] += [cell % columns, cell // columns, part]
    truth: Floats = np.bincount(flat, shares, columns * rows).astype(np.float64)
    people = set_user_count(query, len(many))
    return World(people, tuple(map(tuple, told)), truth.reshape(rows, columns), outside)


def release_shards(round: Round, payloads: Sequence[Any], rng: Any) -> Release:
    """Return the sums over shards: of reports, or of all devices of a play at once."""
    if len(payloads) == 1 and isinstance(payloads[0], PlaySums):
        return release_crowd(round, payloads[0].marks, payloads[0].present, rng)
    found: Release = device.release(round, payloads, rng)
    return found


def release_crowd(round: Round, cells: Whole, present: int, rng: Any) -> Release:
    """Return the release of a Round to which every shard's devices that are present report.

    Args:
        cells: how many of those present are in each cell, (rows, columns); for proportions (2,
            rows, columns), first those who say yes.
        present: devices that report, at least the threshold in every shard.

    Raises:
        ValueError: too few are present, or the Round is for devices of many places, which have
            no cells to count.
    """
    params = params_of(round)
    if params.kind not in (COUNTS, PROPORTIONS) or present < params.shards * params.threshold:
        raise ValueError(
            f"{present} devices are present but {params.shards} shards of at least "
            f"{params.threshold} are needed, of one place each: else their sum would not be "
            "opened, or has no cells. Let the devices report one by one."
        )
    squares = params.squares
    where = paint_squares(squares, round.grid.shape)
    owner = where.owner.ravel()
    counts = [
        np.bincount(owner[owner >= 0], where.sum_blocks(layer).ravel()[owner >= 0], len(squares))
        for layer in cells.reshape(-1, *where.shape)
    ]
    divisor = params.threshold - params.colluders
    values = np.stack(counts, axis=1).astype(np.int64).ravel()
    noise = draw_noise_sums(
        len(values), present, divisor, params.num, params.den * sensitivity(params), rng
    )
    return Release(round, (values + noise).tolist(), present)
