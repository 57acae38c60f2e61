"""What a play says of its rounds, and how the tree grows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edge.core.records import Release
from edge.mechanisms.quadtree import count_sums, params_of, sensitivity
from recovery.quadtree.estimate import count_squares, estimate_density
from recovery.quadtree.schedule import epsilon_of, group_by_map, query_one_map

from ...devices.enrol import capped
from ...faults import OperatorFault
from ...output import Stage
from .. import sums, usual
from ..worlds import Judged, Numbers, Played

ROUNDS_MOST = 64  # of one map
_HEADER = 40  # bytes of a frame beside its numbers, about


def bound_numbers(round: Any) -> int:
    """Return how many numbers a later Round has at the most: each square owns a cell."""
    columns, rows = round.grid.shape
    return count_sums(round) // len(params_of(round).squares) * int(columns * rows)


def judge_map(played: Played, numbers: Numbers, stage: Stage) -> Judged:
    """Return the distances, the rounds, and what one device sent in all of them."""
    told = usual.judge_map(played, numbers, stage)
    query, releases = played.world.query, played.watch.releases
    asked = [params_of(one.round) for one in releases]
    lengths = [len(one.values) for one in releases]
    sizes = [_HEADER + -(-n * p.bits // 8) for n, p in zip(lengths, asked, strict=True)]
    truth = played.world.truth / played.world.truth.sum()
    own = {
        "users": query.users,
        "reports": sum(one.reports for one in releases),
        "rounds": len(releases),
        "vector_length": sum(lengths),
        "bytes_per_report": sum(sizes),
        "mse_data_free": float(np.square(truth - 1 / truth.size).mean()),
        "sensitivity": sensitivity(asked[0]),
        "shards": asked[0].shards,
    }
    steps = ", ".join(
        f"{n} at {float(epsilon_of(one.round)):.2g} in {size} bytes"
        for n, one, size in zip(lengths, releases, sizes, strict=True)
    )
    lines = [
        *told.lines,
        f"Asked {len(releases)} times for numbers, at an epsilon: {steps}. A device sends "
        f"{sum(lengths)} numbers in all, in {sum(sizes)} bytes; one for every cell would be "
        f"{truth.size}{sums.describe_gain(sum(lengths), truth.size)}.",
        sums.describe_simulation(asked[0].shards, asked[0].threshold),
    ]
    return Judged(told.numbers | own, lines)


def make_panels(query: Any, releases: Sequence[Release]) -> list[Any]:
    """Return how the tree of the last map grew: the first rounds and the last."""
    from ..panels import Panel  # half a second

    query, releases = (
        replace(query_one_map(query), estimator="last"),
        group_by_map(query, releases)[-1],
    )
    shown = []
    for number in sorted({1, (1 + len(releases)) // 2, len(releases)}):
        if releases[number - 1].reports:
            found = count_squares(query, releases[:number])
            title = f"Round {number} of {len(releases)}: {len(found.squares)} squares, own colours"
            shown.append(Panel(title, estimate_density(found)[0], "share", True))
    return shown


def make_first_limits(query: Any, every_s: float) -> Any:
    """Return the first `Limits` of every device: epsilon for all Rounds of all maps.

    A price is rounded up to whole nano-rho, so there is one more for each Round.

    Raises:
        OperatorFault: a served promise must be that nobody knows where a device is.
    """
    if query.adjacency != "replace-one":
        raise OperatorFault(
            f"adjacency under [quadtree] is {query.adjacency!r}, but enrolled devices hide where "
            'they are, not whether they take part. Set it to "replace-one"'
        )
    if query.kind != "counts":
        raise OperatorFault(
            f"kind under [quadtree] is {query.kind!r}, but enrolled devices report one place "
            'each. Set it to "counts", or try the others with heatveil play quadtree'
        )
    found = capped.make_first_limits(replace(query, readings=1), every_s)
    return found._replace(budget=found.budget + ROUNDS_MOST * query.readings)


def check_enrolled(query: Any, sensors: Any, held: Any) -> None:
    """Check that enrolled devices fit the query: one place each, and within their limits.

    Raises:
        OperatorFault: one does not, or it would refuse what is asked.
    """
    make_first_limits(query, 1.0)
    capped.check_enrolled(replace(query, readings=1), sensors, held)
