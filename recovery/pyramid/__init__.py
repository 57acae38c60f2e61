"""Heatmaps of many devices, analyst half: plan the levels, and fit a map to noisy squares.

Guarantee: epsilon, pure, for the one report of a device, against everybody but the gateway.
Neighbours: what one device reports, or nothing in its place; to replace its places by others
costs twice epsilon. Trust: central, the gateway sees each report and draws the noise. Unit: one
report of one device. Not protected: that a device answers, how many do, and what comes later.

Source: paper 000, "Differentially Private Heatmaps", Sections 2 and 3 and Appendix D.

Differs from the paper:
1. Where few squares hold most (`sparse`) it is RECONSTRUCT with w = 20; where many do (`dense`)
   Appendix D is. `tree` lies between and is nearer than both at some thousand epsilon n: it fits
   every square that was measured, where RECONSTRUCT throws away what was left out, and no more
   mass than devices reported. `auto` chooses by epsilon, n and grid alone, which are public.
2. Grids need not be square, nor powers of two: they lie in the corner of one that is, and what
   is padding holds nothing and is never measured.
3. A map of nothing, which the paper divides by zero for, is even and says so.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from edge.mechanisms.pyramid import NAME as NAME
from edge.mechanisms.pyramid import depth, params_of, within
from edge.records import Guarantee, Release, Round

from ..maps.heatmap import Heatmap, Unresolved
from ..noise import lowest
from .query import Query as Query
from .query import estimator_of, levels_of, weights
from .tree import Fit, Leaf, least_squares, reconstruct, spread, tree

Floats = NDArray[np.float64]

_NEIGHBOURS = "what one device reports, or nothing in its place"
_TRUST = "central: the gateway sees every report, and blurs their sum before that leaves it"
_UNPROTECTED = (
    "that a device answers, when, and how many do; further reports; and to tell one set of a "
    "device's places from another costs twice epsilon"
)


def plan(query: Query, releases: Sequence[Release]) -> Round | None:
    """Return the Round of whole numbers, None when it has been answered."""
    if releases:
        return None
    kept, first, levels = levels_of(query)
    num, den = lowest(query.epsilon)
    params = (query.units, query.points, kept, first, num, den, *weights(levels))
    return Round(1, NAME, query.grid, params, promise(query))


def promise(query: Query) -> Guarantee:
    """Return what a Release of this query promises; true of the whole numbers really drawn."""
    epsilon = Fraction(*query.epsilon)
    return Guarantee(
        epsilon=lowest(query.epsilon),
        delta=None,
        # Pure epsilon is at most epsilon**2 / 2 of zCDP: Bun and Steinke 2016.
        rho=(epsilon * epsilon / 2).as_integer_ratio(),
        neighbours=_NEIGHBOURS,
        trust=_TRUST,
        unit="the one report of one device",
        unprotected=_UNPROTECTED,
    )


def recover(query: Query, releases: Sequence[Release]) -> Heatmap | Unresolved:
    """Return the map of where devices are, or why there is none.

    Raises:
        ValueError: there is not one release, or it does not belong to the query.
    """
    release = checked(query, releases)
    promised = release.round.guarantee
    if not release.reports:
        why = "no device answered; wait for reports, or look at the devices' link"
        return Unresolved(query.grid, promised, float("inf"), float("inf"), why)
    name = estimator_of(query)
    mass = parts(name, release)
    total = float(mass.sum())
    columns, rows = query.grid.shape
    why = _chosen(query, name)
    status = "optimal"
    if total <= 0:
        mass, status = np.ones((rows, columns)), "even: nothing remained beside the noise"
    return Heatmap(query.grid, mass / mass.sum(), promised, total / query.units, status, name, why)


def parts(name: str, release: Release) -> Floats:
    """Return the fitted parts of each cell, (rows, columns), not divided by their sum.

    As weighted points they are the coreset of Appendix A. Any estimator takes any Release, but
    `dense` one of a single level.

    Raises:
        ValueError: the Release is none, or of more levels than `dense` takes.
    """
    round = release.round
    p, grid = params_of(round), release.round.grid
    if name != "dense":
        nodes = tree(release)
        if name == "sparse":
            return spread(reconstruct(nodes), grid)
        return spread(least_squares(nodes, p.weights, float(release.reports * p.units)), grid)
    squares = within(grid, p.first)
    if len(p.weights) != 1 or len(release.values) != len(squares):
        raise ValueError(
            f"dense takes all squares of one level but the release has {len(release.values)} "
            f"values of {len(p.weights)} levels. Draw it as sparse or tree."
        )
    across = (squares[-1] & ((1 << p.first) - 1)) + 1
    noisy = np.array(release.values, dtype=np.float64).reshape(-1, across)
    from .dense import nearest_mass  # loaded here alone: every gateway starts with this file

    found = nearest_mass(noisy, 2.0**-p.first)
    leaves = [
        Leaf(p.first, (square,), mass)
        for square, mass in zip(squares, found.ravel().tolist(), strict=True)
    ]
    return spread(Fit(leaves, float("nan")), grid)


def checked(query: Query, releases: Sequence[Release]) -> Release:
    """Return the one release of this query; ValueError for any other."""
    expected = plan(query, ())
    if len(releases) != 1:
        raise ValueError(
            f"{len(releases)} releases came but a pyramid has one: what is promised holds for one "
            "report of each device. Give that one."
        )
    round = releases[0].round
    # In whom to trust an experiment says otherwise.
    guarantee = round.guarantee._replace(trust=expected.guarantee.trust)  # type: ignore[union-attr]
    if round._replace(number=1, guarantee=guarantee) != expected:
        raise ValueError(
            "the release is of another plan than this query's: other levels are other squares, "
            "and the map would be wrong. Recover with the query that it was planned with."
        )
    return releases[0]


def _chosen(query: Query, name: str) -> str:
    """Return why the map was drawn in this way, where that was left open; and of padding."""
    columns, rows = query.grid.shape
    side = 1 << depth(query.grid)
    clauses = []
    if query.estimator == "auto":
        clauses.append(f"{name} is nearest for this epsilon and {query.users} users")
    if (columns, rows) != (side, side):
        clauses.append(
            f"{columns} x {rows} is padded to {side} x {side}, where nothing is measured"
        )
    return "; ".join(clauses)
