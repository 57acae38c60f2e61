"""Disk, as the service needs it: people in cells, a device each, and answers near the true one."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from edge.core.records import Release
from edge.mechanisms.disk import outer
from recovery.disk.query import Query
from recovery.disk.round import disk_round, domain_of

from .. import usual
from ..record import Payload

if TYPE_CHECKING:
    from ...settings.deployment import Deployment
    from ...store.message_rows import Sum


def query_of(deployment: "Deployment") -> Query:
    """Return what the analyst asks of this deployment.

    Raises:
        ValueError: there is no such promise, or its Round is too long for a device.
    """
    made: Query = usual.query_of(deployment)
    if why := _unsendable(made):
        raise ValueError(why)
    return made


@lru_cache(maxsize=4)
def _unsendable(query: Query) -> str:
    from recovery.disk import promise  # with it comes what draws maps
    from recovery.disk.round import why_refused

    return why_refused(query, disk_round(query, 1, promise(query)))


def payload_fault(plan: Any) -> Callable[[Payload], str]:
    """Return what says why a payload cannot count: a cell that no device could answer."""
    inside = domain_of(plan).tobytes()

    def why(payload: Payload) -> str:
        if 0 <= payload[1] < len(inside) and inside[payload[1]]:
            return ""
        return f"it answers cell {payload[1]}, which no device can in round {plan.number}"

    return why


def slots(payload: Payload) -> Iterable[tuple[int, int]]:
    """Return the cell that was answered, once."""
    return [(payload[1], 1)]


def release(round: Any, sums: "Mapping[int, Sum]", reports: int) -> Any:
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


def page_values(plan: Any) -> dict[str, Any]:
    """Return how many cells may be answered, across and down, and by how many they exceed the map.

    So a page can draw the answers as they came, around the cells that were meant.
    """
    columns, rows, *reach = outer(plan.grid, plan.params[0])
    return {"outer": [columns, rows], "reach": reach}
