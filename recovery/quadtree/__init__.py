"""Crowds in squares within squares, analyst half: ask, look, and ask again where people are.

Guarantee: epsilon, pure, for one device's answers to all Rounds together. Neighbours: as the query
says. Trust: distributed. Nobody may see less than the sum over a shard. Unit: the Rounds of one
query. Not protected: that a device takes part, and when; how many do.

Source: paper 001, Algorithm 2 and Appendix B; what is corrected stands in `schedule` and in the
device half.
"""

from collections.abc import Sequence

from edge.core.grid import depth
from edge.core.records import Release
from edge.mechanisms.quadtree import NAME as NAME

from ..maps.heatmap import Heatmap, Unresolved
from ..noise.sums import NONE_OPENED
from .query import Query as Query
from .schedule import choose_next_step, group_by_map, query_one_map
from .schedule import plan as plan
from .schedule import promise as promise

LOST = (
    "the noise in a square is as large as the number of all devices, so the map says nothing of "
    "where people are; ask for more epsilon, or of more devices"
)


def recover(query: Query, releases: Sequence[Release]) -> Heatmap | Unresolved:
    """Return the newest map of where people are: the density of the smallest squares.

    Args:
        query: what was planned with.
        releases: of its Rounds, from the first; some may be missing at the end.

    Raises:
        ValueError: no release, or one that is not of the query.
    """
    if not releases:
        raise ValueError("no release came, and a map needs one. Play a round first.")
    one, several = query_one_map(query), group_by_map(query, releases)
    for rounds in several:
        choose_next_step(one, rounds)  # refuses what is of another query
    promised = releases[-1].round.guarantee
    # Loaded here alone: every gateway starts with this file.
    from .estimate import count_squares, estimate_density

    answered = [rounds for rounds in several if any(release.reports for release in rounds)]
    if not answered:
        return Unresolved(query.grid, promised, float("inf"), float("inf"), NONE_OPENED)
    found = count_squares(one, answered[-1])
    mass, sd = estimate_density(found)
    counts = f"{found.rounds} round{'s' * (found.rounds > 1)}"
    lost = found.variance.max() >= found.reports**2
    (columns, rows), side = query.grid.shape, 1 << depth(query.grid)
    padding = (
        f"; {columns} x {rows} is padded to {side} x {side}, the rest never measured"
        if (columns, rows) != (side, side)
        else ""
    )
    return Heatmap(
        query.grid,
        mass,
        promised,
        found.reports,
        LOST if lost else "optimal",
        "last" if query.estimator == "last" else "all",
        f"{len(found.squares)} squares, from {counts}{padding}",
        sd=sd,
    )
