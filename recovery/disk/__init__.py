"""Where people are, analyst half: plan the weights, and draw the map from what was answered.

Guarantee: epsilon, pure, for all reports of one device in its window together. Neighbours: any
two cells of the grid. Trust: local, nobody but the device knows its cell. Unit: the device's
reports in the window, which share epsilon evenly. Not protected: that a device answers at all and
when, how many there are, who they are, and reports beyond the window; a device that stays in a
cell is hidden only as far as the whole epsilon goes.

Source: the disk area mechanism's paper, Algorithms 1 and 2.

Differs from the paper:
1. Line 7 of Algorithm 1 counts the true cell. Here the answered one is counted, by the gateway,
   and nothing else ever leaves a device.
2. The radius and the shares are those of `footprint`, the weights those of `round`, each with
   what it corrects.
3. Nobody answering is no map, rather than an even one; and a map says what it may claim
   (`profile`), and where its answers are those of no map at all.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Guarantee, Release, Round
from edge.mechanisms.disk import NAME as NAME
from edge.mechanisms.disk import outer

from ..fields import check_releases
from ..maps.guarantee import promise_reports
from ..maps.heatmap import UNANSWERED, Heatmap, Unresolved, Verdict
from ..maps.sentence import Wording
from ..noise import epsilon_of_report
from .channel import channel_of
from .query import Query as Query
from .round import make_round

NO_MAP = 5.0  # deviations by which the best map's chi-square is too large, to be no map of it

_NO_SUCH = Wording(
    "verdict.answers",
    "no map explains these answers: of even the best one chi-square is {off} standard deviations "
    "too large, so some devices draw with other weights, or their answers are forged",
)
_NEIGHBOURS = Wording("guarantee.cell", "in which of any two cells of the grid a device is")()
_TRUST = Wording(
    "guarantee.trust.cell",
    "local: each device blurs its own cell before it leaves it, and nobody has a key",
)()
_UNPROTECTED = Wording(
    "guarantee.not.cell",
    "that somebody is there and answers, when, and who it is; how many there are; further "
    "reports; and who stays in a cell for days is hidden only as far as all of epsilon goes",
)()


def plan(query: Query, releases: Sequence[Release]) -> Round | None:
    """Return the next Round of whole numbers, None when every device has reported enough.

    In windows of hours that is never: how often to ask follows from the devices' budgets.
    """
    if len(releases) >= query.readings and not query.window_h:
        return None
    return make_round(query, len(releases) + 1, promise(query))


def promise(query: Query) -> Guarantee:
    """Return what the reports of this query promise; true of the whole numbers really drawn."""
    return promise_reports(query, _NEIGHBOURS, _TRUST, _UNPROTECTED)


def recover(query: Query, releases: Sequence[Release]) -> Heatmap | Unresolved:
    """Return the map of where devices are, or why there is none.

    Args:
        query: what was planned with.
        releases: of the same query, one a reading; all their answers are counted together.

    Raises:
        ValueError: no release, or one that does not belong to the query.
    """
    counts = merge_counts(query, releases)
    promised = releases[0].round.guarantee
    reports = int(counts.sum())
    if not reports:
        return Unresolved(query.grid, promised, float("inf"), float("inf"), UNANSWERED)
    channel, epsilon = channel_of(releases[0].round), float(epsilon_of_report(query))
    # Loaded here alone: every gateway starts with this file.
    from .estimators import estimate
    from .profile import Profile, find_blocks

    found = estimate(query.estimator, channel, counts, epsilon)
    profile = Profile(channel, np.asarray(counts, dtype=np.float64), found.mass, query.level)
    blocks = verdict = None
    if profile.off <= NO_MAP:
        blocks = find_blocks(profile, found.mass)
    else:
        verdict = Verdict("assumptions", _NO_SUCH(off=f"{profile.off:.0f}"))
    return Heatmap(
        query.grid,
        found.mass,
        promised,
        float(reports),
        found.status,
        query.estimator,
        found.why,
        verdict=verdict,
        sd=None if blocks is None else blocks.compute_deviations(found.mass),
        blocks=blocks,
    )


def merge_counts(query: Query, releases: Sequence[Release]) -> NDArray[np.int64]:
    """Return how often each cell of the outer array was answered, (rows, columns), in all.

    Raises:
        ValueError: there is no release, they are of other rounds than the query's, more than it
            asks for, or hold what no gateway counts.
    """
    expected = make_round(query, 1, promise(query))
    check_releases(query, releases, expected, "other weights are another channel")
    width, height, _, _ = outer(query.grid, expected.params[0])
    size = width * height
    for release in releases:
        whole = all(type(count) is int and count >= 0 for count in release.values)
        if len(release.values) != size or not whole or sum(release.values) != release.reports:
            raise ValueError(
                f"round {release.round.number} released {len(release.values)} counts of "
                f"{release.reports} reports but must release {size}, whole numbers that add "
                "to its reports: nothing else passes the veil. Take it as published."
            )
    return np.sum([release.values for release in releases], axis=0).reshape(height, width)
