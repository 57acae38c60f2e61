"""What many users would answer to the papers' peers, by numpy, for experiments only."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Whole = NDArray[np.int64]


def count_oue(histogram: ArrayLike, epsilon: float, world: np.random.Generator) -> Whole:
    """Return how many answers have a 1 in each cell, of the histogram's shape.

    Bits are turned one by one, so the counts of two cells are independent and binomial: this is
    the law of summed answers, without them.
    """
    users = check_histogram(histogram, np.shape(histogram))
    others = int(users.sum()) - users
    return np.asarray(
        world.binomial(users, 0.5) + world.binomial(others, find_other_bit_chance(epsilon))
    )


def find_other_bit_chance(epsilon: float) -> float:
    """Return the probability that a bit of another cell is 1.

    Raises:
        ValueError: `epsilon` is not positive and finite.
    """
    if not 0 < epsilon < math.inf:
        raise ValueError(
            f"epsilon is {epsilon:g} but must be positive and finite: at 0 an answer tells "
            "nothing. Give the epsilon of one answer."
        )
    return 1 / (math.exp(epsilon) + 1) if epsilon < 700 else 0.0


Floats = NDArray[np.float64]


def report_sem_geo_i(
    anchors: ArrayLike, cells: ArrayLike, size: int, world: np.random.Generator
) -> Whole:
    """Return the set that each user answers, (n, size): distinct cells, in rising order.

    Under the subset exponential mechanism a set z of k cells is the likelier the nearer they are:

        P(z | v)  proportional to  sum over x in z of exp(-exponent |v - x|)

    The sets need not be listed. With A(v, x) = exp(-exponent |v - x|) / Z(v), Z(v) the sum over
    all cells x, the sum over all sets that hold x is the same for each x, so

        P(z | v) = (sum over x in z of A(v, x)) / C(n - 1, k - 1)

    which is what comes of drawing one cell, the anchor, from A(v, .), and k - 1 of the others, all
    sets alike: k steps a user instead of a table of C(n, k).

    Notion of privacy: geo-indistinguishability, not local privacy. Neighbours: any two cells of
    one user, protected the less the farther they are apart. Worst-case log-ratio: at most 2
    exponent times the diameter, for Z(v) varies on a bounded grid;
    `recovery.peers.sem_geo_i.worst_ratio` gives it exactly.

    Source: Wang, Nie, Wang, Xu, Yang and Huang 2017, "Local private ordinal data distribution
    estimation", as paper 003 uses it in Section VII; the form of P is ours.

    Args:
        anchors: (cells, cells), A, each row of total 1.
        cells: (n,) whole numbers, the flat cell of each user.
        size: k, the cells of a set.
        world: the chance of a simulated world.

    Raises:
        ValueError: sets of no cell, or of more than there are; cells of another grid.
    """
    table = np.asarray(anchors, np.float64)
    count = len(table)
    at = check_cells(cells, count)
    if not 1 <= size <= count:
        raise ValueError(
            f"sets are of {size} cells but must have 1 to {count}: no more are on the grid. "
            "Give a size that recovery.peers.sem_geo_i finds."
        )
    answers = np.empty((len(at), size), np.int64)
    answers[:, 0] = _draw(table, at, world)
    # Floyd's way to draw k - 1 of n - 1 without repeating: the j-th draw is below a bound that
    # grows by one, and where it is taken already the bound itself is, which cannot be.
    for place in range(1, size):
        bound = count - size + place - 1
        other = world.integers(bound + 1, size=len(at))
        taken = (answers[:, 1:place] == other[:, None]).any(axis=1)
        answers[:, place] = np.where(taken, bound, other)
    # The others count from the anchor's successor, round the grid's end.
    answers[:, 1:] = (answers[:, 1:] + answers[:, :1] + 1) % count
    # In rising order nobody learns which of them was the anchor.
    answers.sort(axis=1)
    return answers


def _draw(table: Floats, at: Whole, world: np.random.Generator) -> Whole:
    """Return one cell for each user from the row of the cell it is in."""
    rising = np.cumsum(table, axis=1)
    last = rising.shape[1] - 1
    order = np.argsort(at, kind="stable")
    ends = np.cumsum(np.bincount(at, minlength=len(table)))
    anchor = np.empty(len(at), np.int64)
    begin = 0
    for row, end in zip(rising, ends.tolist(), strict=True):
        drawn = world.random(end - begin) * row[-1]
        found = np.minimum(np.searchsorted(row, drawn, side="right"), last)
        anchor[order[begin:end]] = found
        begin = end
    return anchor


def check_cells(cells: ArrayLike, count: int) -> Whole:
    """Return flat cells as whole numbers, (n,).

    Raises:
        ValueError: cells that are not whole or not of the grid.
    """
    at = np.asarray(cells)
    whole = np.issubdtype(at.dtype, np.integer) or not at.size
    if not whole or at.ndim != 1 or (at.size and not 0 <= at.min() <= at.max() < count):
        raise ValueError(
            f"cells are {at.dtype} of shape {at.shape} but must be whole numbers (n,) from 0 to "
            f"{count - 1}: each names a cell of the grid, row by row. physics.points.find_cells "
            "makes them from points."
        )
    return at.astype(np.int64, copy=False)


def check_histogram(histogram: ArrayLike, shape: tuple[int, ...]) -> Whole:
    """Return the histogram as whole numbers.

    Raises:
        ValueError: another shape, or not whole numbers from 0 on.
    """
    users = np.asarray(histogram)
    if users.shape != shape or not np.issubdtype(users.dtype, np.integer) or (users < 0).any():
        raise ValueError(
            f"the histogram is {users.dtype} of shape {users.shape} but must be whole numbers "
            f"from 0 on, {shape}: so many users stand in each cell. Take "
            "physics.points.histogram on the Round's grid."
        )
    return users.astype(np.int64, copy=False)
