"""A crowd in the simulator: devices one by one, or the release of millions of them at once.

Who is in a shard does not matter to the sum of all, so cells are counted once, squares are painted
on the grid, and the noise of all devices is drawn together by `physics.crowds.shares`, exactly.
The law is that of the devices one by one; but sums are not taken modulo 2**bits, which changes a
number once in 2**40.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Reading, Release, Round
from edge.mechanisms import quadtree as device
from edge.mechanisms.quadtree import COUNTS, PROPORTIONS, params_of, sensitivity
from physics.crowds.shares import sums
from recovery.quadtree.query import Query
from recovery.quadtree.tree import paint

from ...faults import OperatorFault
from .. import places
from ..sums import PlaySums, count_people
from ..worlds import Floats, Inputs

Whole = NDArray[np.int64]

ONE_BY_ONE = 2000  # devices; of more, with a place each, the sum is drawn at once


@dataclass(frozen=True)
class World:
    """Where everybody is, all through the rounds; of many, how many are in each cell."""

    query: Query
    devices: tuple[tuple[int, ...], ...] | PlaySums  # readings of each, or of all
    truth: Floats
    outside: str

    def readings(self, round: Round) -> Iterator[Any]:
        """Yield what each device reads, or what all of them do. Private."""
        if isinstance(self.devices, PlaySums):
            yield self.devices
            return
        for sensor, values in enumerate(self.devices):
            yield Reading(sensor, values)

    def beyond(self) -> str:
        """Return a clause about points beyond the grid; else empty."""
        return self.outside


def crowd_of(query: Query, inputs: Inputs, world: np.random.Generator) -> World:
    """Return the people of a file or an example; the query then knows how many they are.

    Raises:
        OperatorFault: neither is given, the file is wrong, or other users were stated.
    """
    if query.kind != "counts":
        raise OperatorFault(
            f"kind is {query.kind}, but --points gives one place a person, which only counts can "
            "use. Set kind=counts, or use recovery.quadtree from Python"
        )
    asked = places.OnGrid(query.grid, 1)  # all the rounds of all its maps ask the same people
    found = places.crowd_of(asked, inputs, world, "run heatveil fleet, where people move")
    flat = found.cells[0]
    columns, rows = query.grid.shape
    cells = np.bincount(flat, minlength=columns * rows).reshape(rows, columns)
    many: Any = PlaySums(cells, len(flat))
    if len(flat) <= ONE_BY_ONE:
        many = tuple((cell % columns, cell // columns) for cell in flat.tolist())
    still = places.tell_stayed(len(flat) * (query.readings > 1), query.readings)
    outside = "; ".join(filter(None, [found.beyond(), still]))
    return World(count_people(query, len(flat)), many, cells.astype(np.float64), outside)


def release(round: Round, payloads: Sequence[Any], rng: Any) -> Release:
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
    where = paint(squares, round.grid.shape)
    owner = where.owner.ravel()
    counts = [
        np.bincount(owner[owner >= 0], where.blocks(layer).ravel()[owner >= 0], len(squares))
        for layer in cells.reshape(-1, *where.shape)
    ]
    divisor = params.threshold - params.colluders
    values = np.stack(counts, axis=1).astype(np.int64).ravel()
    noise = sums(len(values), present, divisor, params.num, params.den * sensitivity(params), rng)
    return Release(round, (values + noise).tolist(), present)
