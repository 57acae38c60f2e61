"""The choice of scheme and reach, against brute force and the score written out."""

import math

import numpy as np
import pytest

from edge.records import Grid
from recovery.disk import Query
from recovery.disk.footprint import radius_cells, wave_shares
from recovery.disk.query import (
    AS_GOOD,
    REPORTS,
    best_reach,
    chosen,
    doubts,
    radius_of,
    scheme_of,
    score,
    wave_reach,
    whole,
)


def wave(epsilon: tuple[int, int], shape: tuple[int, int], radius: float | None = None) -> Query:
    return Query(Grid(shape, 0), epsilon, scheme="wave", radius=radius)


@pytest.mark.parametrize("shape", [(9, 1), (1, 9), (200, 3)])
def test_along_a_line_the_wave_is_the_interval_and_the_choice_the_printed_one(
    shape: tuple[int, int],
) -> None:
    """Nothing was measured there to be better than the square wave of one dimension."""
    assert min(shape) > 1 or wave_shares(2, 1.0, shape) == [[1.0, 1.0, 1.0]]
    assert chosen(1.0, shape) == ("dam-ns", radius_cells(1.0, shape))


@pytest.mark.parametrize("shape", [(4, 4), (6, 4), (8, 8)])
@pytest.mark.parametrize("epsilon", [0.4, 1.4, 2.8, 5.0])
def test_the_reach_scores_best_of_all_or_is_the_next_and_as_good(
    shape: tuple[int, int], epsilon: float
) -> None:
    """The search stops early; whoever tries every reach finds none that is better."""
    tried = [0, 0.5, *range(1, 2 * max(shape))]
    scores = [score(whole(reach), epsilon, shape) for reach in tried]
    best = int(np.argmin(scores))

    as_good = scores[best + 1] <= AS_GOOD * scores[best]
    assert best_reach(epsilon, shape) == tried[best + as_good]


@pytest.mark.parametrize("radius", [0, 0.5, 2])
def test_the_score_is_that_of_the_channel_written_out(radius: float) -> None:
    """Transforms, normaliser and flows against matrices and the information's definition."""
    shape, epsilon = (6, 5), 1.4
    reach = math.ceil(radius)
    footprint = whole(radius)
    rows, columns = shape[1], shape[0]
    law = np.ones((rows + 2 * reach, columns + 2 * reach, rows, columns))
    for y in range(rows):
        for x in range(columns):
            here = law[y : y + 2 * reach + 1, x : x + 2 * reach + 1, y, x]
            here[footprint > 0] = math.exp(epsilon)
    matrix = law.reshape(-1, rows * columns)
    matrix = matrix[matrix.max(axis=1) > 1]  # what no footprint reaches is not answered
    matrix /= matrix.sum(axis=0)
    down, across = (np.diff(np.eye(length), axis=0) for length in (rows, columns))
    edges = np.concatenate([np.kron(down, np.eye(columns)), np.kron(np.eye(rows), across)])
    wrong = []
    for doubt in doubts(shape):
        spread = doubt.changes.reshape(len(doubt.changes), -1).T
        fisher = matrix.T @ np.diag(1 / (matrix @ doubt.mass.ravel())) @ matrix
        known = np.eye(spread.shape[1]) + REPORTS * spread.T @ fisher @ spread
        error = spread @ np.linalg.inv(known) @ spread.T
        flow = edges @ np.linalg.pinv(edges.T @ edges)
        sd = np.sqrt(np.diag(flow @ error @ flow.T))
        wrong.append(math.log(math.sqrt(math.sqrt(2 / math.pi) * sd.sum())))

    assert score(footprint, epsilon, shape) == pytest.approx(math.exp(np.mean(wrong)), rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("side", [2, 3, 5, 10, 15, 20, 64, 256])
def test_more_epsilon_never_reaches_farther(side: int) -> None:
    """And the choice is a reach within the grid, for a plan without a radius."""
    budgets = [0.1, 0.7, 1.4, 2.1, 3.5, 5.0, 7.0, 10.0]
    reaches = [wave_reach(epsilon, (side, side)) for epsilon in budgets]

    assert reaches == sorted(reaches, reverse=True)
    assert 0 <= reaches[-1] <= reaches[0] <= side


def test_a_query_without_a_radius_takes_the_choice() -> None:
    """Per report: two readings share epsilon, and reach farther."""
    assert radius_of(wave((7, 2), (15, 15))) == wave_reach(3.5, (15, 15))
    halved = Query(Grid((15, 15), 0), (7, 1), readings=2, scheme="wave")
    assert radius_of(halved) == radius_of(wave((7, 2), (15, 15)))
    assert radius_of(wave((7, 2), (15, 15), 4)) == 4


def test_the_wave_is_taken_where_it_reaches_less_far_than_the_disk() -> None:
    """A stated radius is the printed disk's; a stated scheme brings its own."""
    small, great = (Query(Grid((15, 15), 0), epsilon) for epsilon in ((7, 2), (5, 1)))
    assert (scheme_of(small), radius_of(small)) == ("wave", 2)
    assert (scheme_of(great), radius_of(great)) == ("dam-ns", radius_cells(5.0, (15, 15)))
    assert scheme_of(Query(Grid((15, 15), 0), (7, 2), radius=3)) == "dam"
    assert radius_of(Query(Grid((15, 15), 0), (7, 2), scheme="dam")) == 3


@pytest.mark.parametrize(("epsilon", "shape"), [(0.0, (5, 5)), (math.nan, (5, 5)), (1.0, (0, 5))])
def test_there_is_no_choice_without_a_budget_or_a_cell(
    epsilon: float, shape: tuple[int, int]
) -> None:
    """Rather than a reach of nought, which would be believed."""
    with pytest.raises(ValueError, match="nothing to choose from"):
        chosen(epsilon, shape)
    for radius in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="must be a number of cells"):
            wave_shares(radius, 1.0, (5, 5))
