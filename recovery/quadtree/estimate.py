"""From noisy counts of squares to a map: the last Round's alone, or every Round's together.

While a tree grows, each square's region in one Round is a part of one region of the Round before.
So all counts of all Rounds stand on one forest, where a region is known by its own count and by
what its parts add up to. The best unbiased estimate is had in two walks: upward each sum of parts
is averaged with the region's own count, by inverse variance; downward what is left over goes to
the parts in proportion to their variances. The number of reports is public, and is the root.

Source: Hay et al. 2010, "Boosting the accuracy of differentially private histograms through
consistency", Section 4, here for unlike variances, unlike trees, and with the variances that
remain.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from edge.core.records import Release
from edge.mechanisms.quadtree import PROPORTIONS, params_of

from ..noise.sums import NONE_OPENED
from ..simplex import project_to_total
from .query import Query
from .schedule import epsilon_of, predict_deviation
from .tree import Painted, find_parents, paint_squares

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Counts(NamedTuple):
    """How many devices are in each square of the last Round."""

    squares: tuple[int, ...]
    painted: Painted  # which cells belong to each
    devices: Floats  # unbiased, some may be negative
    variance: Floats  # of the noise in it
    reports: float
    rounds: int  # that are in it


def count_squares(query: Query, releases: Sequence[Release], which: int | None = None) -> Counts:
    """Return the counts of the last Round's squares, from all Rounds if the query says so.

    Args:
        which: for proportions, 0 for those who say yes, 1 for no; None for both together.

    Raises:
        ValueError: nobody reported.
    """
    used = [release for release in releases if release.reports]
    if not used:
        raise ValueError(NONE_OPENED)
    chain = [used[-1]]
    links: list[Whole] = []
    for earlier in reversed(used[:-1] if query.estimator != "last" else []):
        link = find_parents(params_of(chain[0].round).squares, params_of(earlier.round).squares)
        if link is None:  # squares fell back in between: what is older tells of other regions
            break
        chain.insert(0, earlier)
        links.insert(0, link)
    seen = [_measure(release, which, used[-1].reports) for release in chain]
    values, variances = _make_consistent(seen, links, float(used[-1].reports), which is None)
    squares = params_of(used[-1].round).squares
    return Counts(
        squares,
        paint_squares(squares, query.grid.shape),
        values,
        variances,
        float(used[-1].reports),
        len(chain),
    )


def _measure(release: Release, which: int | None, reports: int) -> tuple[Floats, Floats]:
    """Return one Round's counts, as if so many had reported, and the variances of their noise."""
    params = params_of(release.round)
    values = np.array(release.values, dtype=np.float64) / params.scale
    summed = 1
    if params.kind == PROPORTIONS:
        pair = values.reshape(-1, 2)
        values, summed = (pair.sum(axis=1), 2) if which is None else (pair[:, which], 1)
    noises = release.reports / (params.threshold - params.colluders)
    variance = predict_deviation(params, epsilon_of(release.round), noises) ** 2 * summed
    ratio = reports / release.reports
    # Who draws 10**-300 of noise draws none; a variance of nought would divide by it.
    return values * ratio, np.full(len(values), max(variance * ratio * ratio, 1e-12))


def _make_consistent(
    seen: list[tuple[Floats, Floats]], links: list[Whole], reports: float, rooted: bool
) -> tuple[Floats, Floats]:
    """Return the best estimate of the last list's regions, and its variances.

    Args:
        seen: counts and variances of each list, from the first to the last.
        links: of each list but the first, which region of the one before it each is a part of.
        rooted: whether the regions of the first list add up to the reports.
    """
    ups = [seen[-1]]
    sums: list[tuple[Floats, Floats]] = []
    for (own, own_variance), link in zip(reversed(seen[:-1]), reversed(links), strict=True):
        below, under = (_add(link, part, len(own)) for part in ups[0])
        sums.insert(0, (below, under))
        share = own_variance / (own_variance + under)  # of what the parts say
        ups.insert(0, (own + share * (below - own), share * under))
    best, left = ups[0]
    if len(seen) > 1 and rooted:
        whole = left.sum()
        best = best + left / whole * (reports - best.sum())
        left = left - left * left / whole
    for (value, variance), (below, under), link in zip(ups[1:], sums, links, strict=True):
        part = variance / under[link]
        best, left = (
            value + part * (best - below)[link],
            variance - part * part * (under - left)[link],
        )
    return best, np.maximum(left, 0.0)


def _add(link: Whole, parts: Floats, count: int) -> Floats:
    return np.bincount(link, parts, count).astype(np.float64)


def estimate_density(found: Counts) -> tuple[Floats, Floats]:
    """Return the share of all devices in each cell, even within a square, and its deviation.

    The counts go to the nearest that are not negative and add up to the reports, whose number is
    public: scaled down to it after what is negative became nought, full squares would pay for the
    noise of all empty ones. How people stand within a square of several cells is not known: a cell
    of it may as well have nobody or twice its part, and people are whole, so the variance of its
    share m has m**2 + (m and its noise) / reports beside the noise's, for what became nought may
    not be. The m**2 is a model, and low for squares of more than two cells.

    Source: as `recovery.simplex.project_to_total`.
    """
    each = found.painted.area * found.reports
    mass = project_to_total(found.devices, found.reports) / each
    noise = np.sqrt(found.variance) / each
    several = found.painted.area > 1
    within = np.where(several, np.square(mass) + (mass + noise) / found.reports, 0.0)
    cells = found.painted.expand_to_cells
    return cells(mass), cells(np.sqrt(np.square(noise) + within))


class Proportions(NamedTuple):
    """The share of those who say yes, (rows, columns); NaN where too few are known of."""

    share: Floats
    low: Floats
    high: Floats
    squares: int  # with an estimate


def estimate_yes_shares(query: Query, releases: Sequence[Release]) -> Proportions:
    """Return who says yes, square by square, between bounds that hold as often as the level says.

        p = P / (P + N), half width = z sqrt(p (1 - p) / c + v ((1 - p)**2 + p**2) / c**2)

    with c = P + N and v the variance of either; where c is at least max(30, 4 sqrt(v)).

    Raises:
        ValueError: the query asks for no proportions, or nobody reported.
    """
    if query.kind != "proportions":
        raise ValueError(
            f"kind is {query.kind} but must be proportions: nobody was asked for a yes or a no. "
            "Plan the query anew."
        )
    yes, no = (count_squares(query, releases, which) for which in (0, 1))
    total, v = yes.devices + no.devices, (yes.variance + no.variance) / 2
    known = total >= np.maximum(30.0, 4 * np.sqrt(v))
    c = np.where(known, total, 1.0)
    p = np.clip(yes.devices / c, 0.0, 1.0)
    half = float(ndtri((1 + query.level) / 2)) * np.sqrt(
        p * (1 - p) / c + v * ((1 - p) ** 2 + p**2) / c**2
    )
    share, low, high = (
        yes.painted.expand_to_cells(np.where(known, values, np.nan))
        for values in (p, np.maximum(p - half, 0.0), np.minimum(p + half, 1.0))
    )
    return Proportions(share, low, high, int(known.sum()))
