"""Disk, as the service needs it: people in cells, a device each, and answers near the true one.

And as files hold it: releases that were published, and the rows of an export.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from edge.core.records import Grid, Release, Round
from edge.mechanisms import disk
from edge.mechanisms.disk import outer
from recovery.disk import promise
from recovery.disk.query import Query
from recovery.disk.round import domain_of, explain_query_refusal, make_round

from .. import usual
from ..record import Payload, Tail

if TYPE_CHECKING:
    from ...settings.deployment import Deployment
    from ...store.message_rows import SlotSum


def make_query(deployment: "Deployment") -> Query:
    """Return what the analyst asks of this deployment.

    Raises:
        ValueError: there is no such promise, or its Round is too long for a device.
    """
    made: Query = usual.make_query(deployment)
    if why := _explain_unsendable(made):
        raise ValueError(why)
    return made


@lru_cache(maxsize=4)
def _explain_unsendable(query: Query) -> str:
    return explain_query_refusal(query, make_round(query, 1, promise(query)))


def make_payload_check(plan: Any) -> Callable[[Payload], str]:
    """Return what says why a payload cannot count: a cell that no device could answer."""
    inside = domain_of(plan).tobytes()

    def why(payload: Payload) -> str:
        if 0 <= payload[1] < len(inside) and inside[payload[1]]:
            return ""
        return f"it answers cell {payload[1]}, which no device can in round {plan.number}"

    return why


def list_slots(payload: Payload) -> Iterable[tuple[int, int]]:
    """Return the cell that was answered, once."""
    return [(payload[1], 1)]


def release_sums(round: Any, sums: "Mapping[int, SlotSum]", reports: int) -> Any:
    """Return what `edge.mechanisms.disk.release` does: how many answered each cell, row by row."""
    inside = domain_of(round).tobytes()
    counts = [0] * len(inside)
    for cell, (_, count) in sums.items():
        if not 0 <= cell < len(inside) or not inside[cell]:
            raise ValueError(
                f"cell {cell} was answered in round {round.number}, where no device can answer "
                "it; a map drawn from it would be of another channel. Leave such answers out"
            )
        counts[cell] = count
    if sum(counts) != reports:
        raise ValueError(
            f"{sum(counts)} answers were counted in round {round.number} and {reports} came; one "
            "of each device counts, or one would speak for several. Count them anew"
        )
    return Release(round, counts, reports)


def make_page_values(plan: Any) -> dict[str, Any]:
    """Return how many cells may be answered, across and down, and by how many they exceed the map.

    So a page can draw the answers as they came, around the cells that were meant.
    """
    columns, rows, *reach = outer(plan.grid, plan.params[0])
    return {"outer": [columns, rows], "reach": reach}


# What a file of published readings holds of places: how often each cell was answered.
#
# Values are counts over the outer array, row by row; `params` are those of the device.


def read_release(query: Query, written: Any) -> Release:
    """Return the release that a round of the file holds.

    Raises:
        ValueError: it has not the shape of one.
    """
    found: Release = usual.read_release(query, written)
    table = disk.Table(found.round)
    if len(found.values) != table.columns * table.rows:
        raise ValueError(
            f"round {found.round.number} has {len(found.values)} counts for {table.columns} x "
            f"{table.rows} cells that can be answered"
        )
    for cell, value in enumerate(found.values):
        if value < 0:
            raise ValueError(f"cell {cell} was answered {value} times, which is no count")
    return found


def _make_cell_locator(body: Any) -> Callable[[int], Tail]:
    columns, _, left, above = outer(Grid(tuple(body[3][:2]), body[3][2]), body[4][0])
    return lambda cell: (cell, cell // columns - above, cell % columns - left)


def make_report_exporter(body: Any) -> Callable[[Sequence[int], int], Iterable[Tail]]:
    """Return what gives the rows of reports: a cell, and where on the map it is."""
    where = _make_cell_locator(body)
    return lambda values, first: map(where, values)


def make_count_exporter(body: Any) -> Callable[[Sequence[int | None]], Iterable[Tail]]:
    """Return what gives the rows of a release: how often each cell was answered."""
    where = _make_cell_locator(body)
    return lambda values: [(*where(cell), count) for cell, count in enumerate(values)]


def make_reporter(round: Round) -> Callable[[Any, Any], list[int]]:
    """Return the device's own report, with the Round's table made once and not by each device."""
    table = disk.Table(round)
    return lambda reading, rng: disk.report(round, reading, rng, table)
