"""Heatmaps of many devices, analyst half: plan the levels, and fit a map to noisy squares.

Guarantee: epsilon, pure, for all reports of one device in its window together, against everybody
but the gateway. Neighbours: what one device reports, or nothing in its place; to replace its
places by others costs twice epsilon. Trust: central, the gateway sees each report and draws the
noise. Unit: the device's reports in the window, which share epsilon evenly. Not protected: that a
device answers, how many do, and reports beyond the window.

Source: Ghazi and others, "Differentially Private Heatmaps", Sections 2 and 3 and Appendix D;
"paper 000" elsewhere.

Differs from the paper:
1. Where few squares hold most (`sparse`) it is RECONSTRUCT with w = 20; where many do (`dense`)
   Appendix D is. `read_tree` lies between and is nearer than both at some thousand epsilon n: it
   fits every square that was measured, where RECONSTRUCT throws away what was left out, and no
   more mass than devices reported. `auto` chooses by epsilon, n and grid alone, which are public.
2. Grids need not be square, nor powers of two: they lie in the corner of one that is, and what
   is padding holds nothing and is never measured.
3. A map of nothing, which the paper divides by zero for, is even and says so.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from edge.core.grid import depth
from edge.core.records import Guarantee, Release, Round
from edge.mechanisms.pyramid import NAME as NAME
from edge.mechanisms.pyramid import list_squares, params_of

from ..fields import check_releases
from ..maps.guarantee import promise_reports
from ..maps.heatmap import UNANSWERED, Heatmap, Unresolved
from ..maps.sentence import Wording
from ..noise import epsilon_of_report
from .query import PAPER_USERS, compute_weights, estimator_of, levels_of
from .query import Query as Query
from .tree import Fit, Leaf, fit_least_squares, read_tree, reconstruct, spread_leaves

Floats = NDArray[np.float64]

_NEIGHBOURS = Wording("guarantee.report", "what one device reports, or nothing in its place")()
_TRUST = Wording(
    "guarantee.trust.report",
    "central: the gateway sees every report and blurs their sum before that leaves it, and nobody "
    "has a key to the noise",
)()
_UNPROTECTED = Wording(
    "guarantee.not.report",
    "that somebody is there and answers, when, and how many do; anything at all against the "
    "gateway and who breaks into it; further reports; and to tell one set of a device's places "
    "from another costs twice epsilon",
)()


def plan(query: Query, releases: Sequence[Release]) -> Round | None:
    """Return the next Round of whole numbers, None when every device has reported enough.

    In windows of hours that is never: how often to ask follows from the devices' budgets.
    """
    if len(releases) >= query.readings and not query.window_h:
        return None
    kept, first, levels = levels_of(query)
    num, den = epsilon_of_report(query).as_integer_ratio()
    params = (query.units, query.places or 1, kept, first, num, den, *compute_weights(levels))
    return Round(len(releases) + 1, NAME, query.grid, params, promise(query))


def promise(query: Query) -> Guarantee:
    """Return what the Releases of this query promise; true of the numbers really drawn."""
    return promise_reports(query, _NEIGHBOURS, _TRUST, _UNPROTECTED)


def recover(query: Query, releases: Sequence[Release]) -> Heatmap | Unresolved:
    """Return the map of where devices are, or why there is none.

    Args:
        query: what was planned with.
        releases: of the same query, one a reading; their maps are added up.

    Raises:
        ValueError: there is no release, or one does not belong to the query.
    """
    check_releases(query, releases, plan(query, ()))
    return recover_checked(query, releases)


def recover_checked(
    query: Query, releases: Sequence[Release], chosen: str | None = None
) -> Heatmap | Unresolved:
    """Return what `recover` does, of releases that were checked.

    Args:
        chosen: the estimator that they were measured for, where the query itself does not say.
    """
    promised = releases[0].round.guarantee
    reports = sum(release.reports for release in releases)
    if not reports:
        return Unresolved(query.grid, promised, float("inf"), float("inf"), UNANSWERED)
    name = chosen or estimator_of(query)
    mass = np.sum([fit_parts(name, release) for release in releases], axis=0)
    total, status = float(mass.sum()), "optimal"
    if total <= 0:
        mass, status = np.ones(mass.shape), "even: nothing remained beside the noise"
    why = _explain_choice(query, name)
    users = total / query.units
    return Heatmap(query.grid, mass / mass.sum(), promised, users, status, name, why)


def fit_parts(name: str, release: Release) -> Floats:
    """Return the fitted parts of each cell, (rows, columns), not divided by their sum.

    As weighted points they are the coreset of Appendix A. Any estimator takes any Release, but
    `dense` one of a single level.

    Raises:
        ValueError: the Release is none, or of more levels than `dense` takes.
    """
    round = release.round
    p, grid = params_of(round), release.round.grid
    if name != "dense":
        nodes = read_tree(release)
        if name == "sparse":
            return spread_leaves(reconstruct(nodes), grid)
        return spread_leaves(
            fit_least_squares(nodes, p.weights, float(release.reports * p.units)), grid
        )
    squares = list_squares(grid, p.first)
    if len(p.weights) != 1 or len(release.values) != len(squares):
        raise ValueError(
            f"dense takes all squares of one level but the release has {len(release.values)} "
            f"values of {len(p.weights)} levels. Draw it as sparse or tree."
        )
    across = (squares[-1] & ((1 << p.first) - 1)) + 1
    noisy = np.array(release.values, dtype=np.float64).reshape(-1, across)
    from .dense import find_nearest_mass  # loaded here alone: every gateway starts with this file

    found = find_nearest_mass(noisy, 2.0**-p.first)
    leaves = [
        Leaf(p.first, (square,), mass)
        for square, mass in zip(squares, found.ravel().tolist(), strict=True)
    ]
    return spread_leaves(Fit(leaves, float("nan")), grid)


def _explain_choice(query: Query, name: str) -> str:
    """Return why the map was drawn in this way, where that was left open; and of padding."""
    columns, rows = query.grid.shape
    side = 1 << depth(query.grid)
    clauses = []
    if query.estimator == "auto":
        users = query.users or PAPER_USERS
        clauses.append(f"{name} is usually nearest for this epsilon and {users} users")
    if (columns, rows) != (side, side):
        clauses.append(f"{columns} x {rows} is padded to {side} x {side}, the rest never measured")
    return "; ".join(clauses)
