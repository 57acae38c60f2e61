"""Where people are, analyst half: plan the groups, and draw the map from blurred sums of places.

Guarantee: epsilon, pure, for all releases of the window together. Neighbours: all points of one
user, in every release, lie elsewhere; how many users answered is public. Trust: central, the
gateway sees every place until the release. Unit: the window. Not protected: that a device
answers, who has one, more windows; and where a user has more points than are counted or answers
again beyond the window, what these tell together.

Points over time share one budget: each release sorts all places anew with an even part of what
the releases before it left, and the map is of all of them together.

Source: Fang and Chang, "Adaptive Differentially Private Histogram of Low-Dimensional Data",
Sections 3 to 5; "paper 004" elsewhere.

Differs from the paper:
1. Sums and not averages are blurred, in whole numbers; how groups are chosen is in `groups`.
2. One user may have several points, all protected together; the paper protects one point, and
   has a set of 164 860 points of five people.
3. Between groups places lie evenly (`order`), and nobody answering is no map.
"""

from collections.abc import Sequence
from fractions import Fraction

from edge.core.records import Grid, Guarantee, Release, Round
from edge.mechanisms.ranks import NAME as NAME
from edge.mechanisms.ranks import Params, epsilon, params_of

from ..fields import check_releases
from ..maps.guarantee import LAST_PLACE, describe_window, make_pure
from ..maps.heatmap import UNANSWERED, Heatmap, Unresolved
from ..maps.sentence import Wording, join_sentences
from ..noise import epsilon_of_report
from .groups import group_of, predict_error
from .query import Query as Query
from .query import axes_of, order_of

_NEIGHBOURS = Wording("guarantee.points", "where all points of one user are, in every release")()
_TRUST = Wording(
    "guarantee.trust.sums",
    "central: the gateway sees every place, blurs the sums and forgets the places",
)()
_RELEASES = Wording(
    "guarantee.releases", "{n} release{s}, with {points} point{plural} of a user in each"
)
_UNPROTECTED = Wording(
    "guarantee.not.points",
    "that somebody is there and answers, when, and who it is; how many answer; points beyond "
    "those that count; and further windows",
)()


def plan(query: Query, releases: Sequence[Release]) -> Round | None:
    """Return the next Round of whole numbers, None when the window is full or its budget spent.

    In windows of hours that is never: how often to ask follows from the devices' budgets.
    """
    one = epsilon_of_report(query)
    if not query.window_h:
        spent = sum((Fraction(*epsilon(release.round)) for release in releases), Fraction(0))
        left = Fraction(*query.epsilon) - spent
        if len(releases) >= query.readings or left <= 0:
            return None
        one = left / (query.readings - len(releases))
    params = Params(
        group_of(query),
        one.numerator,
        one.denominator,
        order_of(query),
        axes_of(query),
        query.points,
    )
    return Round(len(releases) + 1, NAME, refine_grid(query), tuple(params), promise(query))


def promise(query: Query) -> Guarantee:
    """Return what the releases of this query promise; true of the whole numbers really drawn."""
    many = {"s": "s" * (query.readings > 1), "plural": "s" * (query.points > 1)}
    releases = _RELEASES(n=query.readings, points=query.points, **many)
    return make_pure(
        query.epsilon,
        epsilon_of_report(query),
        neighbours=_NEIGHBOURS,
        trust=_TRUST,
        unit=describe_window(query.window_h, releases, "epsilon"),
        unprotected=join_sentences((_UNPROTECTED, LAST_PLACE if query.window_h else ""), by=""),
    )


def refine_grid(query: Query) -> Grid:
    """Return the grid whose cells devices tell: each cell halved while whole millimetres allow.

    >>> refine_grid(Query(Grid((20, 10), 500), (1, 1)))
    Grid(shape=(80, 40), cell_mm=125)
    """
    (columns, rows), side = query.grid.shape, query.grid.cell_mm
    most = 1 << order_of(query)
    if not side:
        return Grid((most, 1 if rows == 1 else most), 0)
    while side % 2 == 0 and 2 * max(columns, rows) <= most:
        columns, rows, side = 2 * columns, 1 if rows == 1 else 2 * rows, side // 2
    return Grid((columns, rows), side)


def recover(query: Query, releases: Sequence[Release]) -> Heatmap | Unresolved:
    """Return the map of where users are, or why there is none.

    Args:
        query: what was planned with.
        releases: of the same query; each counts by how many answered.

    Raises:
        ValueError: no release, or one that does not belong to the query.
    """
    _check(query, releases)
    promised = releases[0].round.guarantee
    full = [release for release in releases if release.reports]
    if not full:
        return Unresolved(query.grid, promised, float("inf"), float("inf"), UNANSWERED)
    # Loaded here alone: every gateway starts with this file, and the rest is for drawing.
    from .order import estimate_release_order, sum_by_cell

    name = "lines" if query.estimator == "auto" else query.estimator
    mass = sum(
        release.reports
        * sum_by_cell(
            *estimate_release_order(release, name == "lines").points(
                order_of(query), axes_of(query)
            ),
            query.grid.shape,
        )
        for release in full
    )
    reports = sum(release.reports for release in full)
    return Heatmap(
        query.grid,
        mass / mass.sum(),
        promised,
        float(reports),
        _describe_status(query, min(release.reports for release in full)),
        name,
        "places lie evenly between groups" * (query.estimator == "auto"),
    )


def _describe_status(query: Query, users: int) -> str:
    """Return what is to be said of a map of so few users, or of so little epsilon."""
    count, one = users * query.points, float(epsilon_of_report(query)) / query.points
    group = group_of(query)
    # The average of all places has noise of scale 1 / (epsilon count) of the whole curve.
    if one * count < 4 or (group <= count and predict_error(count, one, group) >= 0.125):
        return (
            "the noise is as wide as the whole grid, so the map says nothing of where people are; "
            "ask for more epsilon, or of more users"
        )
    if group > count:
        return f"all {count} points are in one group of up to {group}; the map is one place"
    return "optimal"


def _check(query: Query, releases: Sequence[Release]) -> None:
    check_releases(query, releases, plan(query, ()), "other groups or another curve")
    for release in releases:
        found = release.round
        groups = -(-release.reports * query.points // params_of(found).group)
        if len(release.values) != groups or not all(type(v) is int for v in release.values):
            raise ValueError(
                f"round {found.number} released {len(release.values)} sums of {release.reports} "
                f"reports but must release {groups}, all whole numbers: nothing else passes the "
                "veil. Take it as published."
            )
