"""What the audit needs to know of places in order: crowds so small that all of them can be tried.

Written from the Round and not with the device's own arithmetic: order, sums and scales are worked
out here anew.
"""

from collections.abc import Iterator, Sequence

from edge.core.records import Grid, Reading, Round

from .query import Query

NAME = "ranks"
KIND = "central"
USERS = 5  # few enough for every crowd of them to be tried


def list_queries() -> Iterator[tuple[str, Query]]:
    """Yield queries that every layer looks at, each there for a fault that others hide."""
    yield "groups of two, the last one short", Query(Grid((4, 4), 0), (1, 1), users=USERS)
    yield "a line, no groups", Query(Grid((8, 1), 500), (7, 5), users=USERS, group=1)
    # The average of one place in three would have three times its share.
    yield (
        "a short last group, two releases",
        Query(Grid((3, 2), 250), (1, 2), users=USERS, group=4, readings=2),
    )
    yield "two points of a user", Query(Grid((2, 2), 0), (3, 1), users=USERS, points=2, group=3)
    yield "one group of all", Query(Grid((5, 3), 1000), (1, 10), users=USERS, group=100)


def list_readings(round: Round) -> Sequence[Reading]:
    """Return what a device may hold: both ends of the curve, its middle, and beyond the grid."""
    columns, rows = round.grid.shape
    cells = [(0, 0), (columns - 1, 0), (columns // 2, rows // 2), (-7, 1 << 40)]
    if round.params[-1] == 1:
        return [Reading(0, cell) for cell in cells]
    # One place told twice; both ends at once; more places than count.
    return [
        Reading(0, cells[0]),
        Reading(0, cells[1]),
        Reading(0, (*cells[0], *cells[1])),
        Reading(0, (*cells[1], *cells[2], *cells[3])),
    ]


def find_absent(round: Round) -> None:
    """Return None: a user's places may be any others."""


def compute_sums(round: Round, payloads: Sequence[Sequence[int]]) -> list[int]:
    """Return the sums of places in their order, before any noise."""
    group = round.params[0]
    places = sorted(place for payload in payloads for place in payload[1:])
    return [sum(places[at : at + group]) for at in range(0, len(places), group)]


def choose_released(round: Round, values: Sequence[int]) -> range:
    """Return all of them."""
    return range(len(list_scales(round)))


def list_scales(round: Round) -> list[tuple[int, int]]:
    """Return the scale of each sum's noise as a release draws it, by the Round's own numbers."""
    group, num, den, order, axes, points = round.params
    groups = -(-USERS * points // group)
    return [(points * ((1 << order * axes) - 1) * den, num)] * groups
