"""Multi-dimensional square wave: each axis for itself, and the map as the product of two lines.

A square wave is a disk along a line: a user answers a place within b cells of the own column (or
row) with e^epsilon times the chance of one farther off. Each axis is two one-row rounds of the
disk mechanism, whose whole-number weights and devices it shares. The map is the outer product of
the two marginals: whatever is between the axes is lost, which costs little where there is nothing
(paper 003's skewed data) and can be seen where there is.

Notion of privacy: local, pure epsilon. Neighbours: any two cells of one user. Worst-case
log-ratio: epsilon, in both ways of sharing it. The paper says not which it takes:

    split "users"   every user answers one axis, by a coin that everybody may see, with all of
                    epsilon; the better one or as good on all the data here
    split "budget"  every user answers both, with epsilon / 2 each

Source: Yang, Wang, Li, Cheng and Su 2020, "Answering multi-dimensional range queries under local
differential privacy", as paper 003 uses it in Section VII; Li et al. 2020 for the wave, whose
radius b = (e e^e - e^e + 1) / (2 e^e (e^e - 1 - e)) is that of `recovery.disk.footprint` on a
line.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from edge.core.records import Grid

from ..disk.channel import Channel
from ..disk.em import Fit
from ..disk.estimators import estimate as estimate_line
from ..disk.query import Query
from ..noise import Ratio, reduce_ratio
from .local_privacy import mix_channels, pair_channels

Floats = NDArray[np.float64]
Split = Literal["users", "budget"]


class Fits(NamedTuple):
    """The product map, and the marginals that it is the product of."""

    mass: Floats  # (rows, columns), of total one
    columns: Fit  # of a one-row map (1, columns)
    rows: Fit  # of a one-row map (1, rows)


def make_queries(grid: Grid, epsilon: Ratio, split: Split = "users") -> tuple[Query, Query]:
    """Return what is asked along each axis: of columns first, then of rows, both as lines.

    Args:
        grid: of the map.
        epsilon: of one user, over all that the user answers.
        split: see the module.

    Raises:
        ValueError: there is no such split, or the query has no meaning.

    >>> [query.grid.shape for query in make_queries(Grid((15, 10), 0), (7, 2))]
    [(15, 1), (10, 1)]
    """
    one = find_answer_epsilon(epsilon, split)
    columns, rows = grid.shape
    return (
        Query(Grid((columns, 1), grid.cell_mm), one, scheme="dam-ns"),
        Query(Grid((rows, 1), grid.cell_mm), one, scheme="dam-ns"),
    )


def find_answer_epsilon(epsilon: Ratio, split: Split) -> Ratio:
    """Return the epsilon of one answer.

    >>> find_answer_epsilon((7, 2), "users"), find_answer_epsilon((7, 2), "budget")
    ((7, 2), (7, 4))
    """
    if split not in get_args(Split):
        raise ValueError(
            f"split is {split!r} but must be users or budget: either half the users answer each "
            "axis, or each answers both at half of epsilon. Write one of the two."
        )
    return epsilon if split == "users" else reduce_ratio((epsilon[0], 2 * epsilon[1]))


def estimate(
    across: Channel,
    across_counts: ArrayLike,
    down: Channel,
    down_counts: ArrayLike,
    epsilon: float,
    name: str = "em",
) -> Fits:
    """Return the map from the answers of both axes.

    Args:
        across, down: the one-row channels of columns and of rows.
        across_counts, down_counts: (1, outer places) of each.
        epsilon: of one answer, half the user's where the budget is split; sets where expectation
            maximisation stops.
        name: the estimator of each line, of `recovery.disk.estimators`: "em" is the printed one,
            "ems" smooths, and "auto" is the one that the disk's own maps are drawn with.
    """
    columns = estimate_line(name, across, across_counts, epsilon)
    rows = estimate_line(name, down, down_counts, epsilon)
    return Fits(np.outer(rows.mass, columns.mass), columns, rows)


def compute_matrix(across: Channel, down: Channel, split: Split = "users") -> Floats:
    """Return how likely what a user answers is from each cell, (answers, cells).

    Where users are split the answers are those of the columns and then those of the rows, half as
    likely each; where the budget is, they are pairs.
    """
    flat = np.arange(across.columns * down.columns)
    one = across.matrix()[:, flat % across.columns]
    two = down.matrix()[:, flat // across.columns]
    return mix_channels(one, two) if split == "users" else pair_channels(one, two)
