"""Rectangles of a map: against sums by hand, and against scatter that is really there."""

import numpy as np
import pytest

from edge.core.records import Grid
from recovery.score.ranges import errors, shares, workload

GRID = Grid((7, 5), 250)
MASS = np.random.default_rng(5).random((5, 7))


def test_a_share_is_the_sum_of_its_cells() -> None:
    """Every rectangle of whole cells, against slices: rows and columns in their order."""
    total = MASS.sum()
    boxes = [
        (x0, y0, x1, y1)
        for x0 in range(7)
        for x1 in range(x0 + 1, 8)
        for y0 in range(5)
        for y1 in range(y0 + 1, 6)
    ]
    by_hand = [MASS[y0:y1, x0:x1].sum() / total for x0, y0, x1, y1 in boxes]

    assert shares(MASS, boxes).share == pytest.approx(by_hand, abs=1e-12)


def test_a_cell_that_is_cut_counts_by_its_area() -> None:
    """Against the same map with every cell cut into 4 x 4."""
    fine = np.kron(MASS, np.ones((4, 4)))
    boxes = np.array([[0.25, 0.5, 3.75, 4.25], [1.5, 1.5, 1.75, 1.75], [-3, -2, 2.5, 99]])

    assert shares(MASS, boxes).share == pytest.approx(shares(fine, boxes * 4).share, abs=1e-12)


def test_a_workload_asks_everything_equally() -> None:
    """Every pair of lines as often as any other, by chi-square, and always the same ones."""
    boxes = workload(GRID, 40_000)
    pairs = np.unique(boxes[:, [0, 2]], axis=0, return_counts=True)[1]
    expected = 40_000 / 28  # 8 lines, 8 * 7 / 2 pairs

    assert len(pairs) == 28
    assert ((pairs - expected) ** 2 / expected).sum() < 60  # 27 degrees: 1 in 3000
    assert np.array_equal(boxes, workload(GRID, 40_000))
    assert not np.array_equal(boxes, workload(GRID, 40_000, stream=1))


def test_errors_are_means_with_a_floor() -> None:
    """An empty rectangle would divide by nought."""
    found = errors([0.5, 0.0], [0.4, 0.02], floor=0.01)

    assert found.absolute == pytest.approx(0.06)
    assert found.relative == pytest.approx((0.2 + 2.0) / 2)
    assert found.absolute_se == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: shares(-MASS, [0, 0, 1, 1]), "share of nothing"),
        (lambda: shares(MASS, [2, 0, 1, 1]), "first corner before the second"),
        (lambda: shares(MASS, [0, 0, 1, np.nan]), "first corner before the second"),
        (lambda: shares(MASS, [0, 0, 1, 1], sd=MASS.T), "one a cell"),
        (lambda: workload(GRID, 0), "at least one"),
        (lambda: workload(GRID, 5, side=1.5), "at most 1"),
        (lambda: errors([0.1], [0.1, 0.2]), "each answer needs its truth"),
    ],
)
def test_what_makes_no_sense_is_refused(call: object, said: str) -> None:
    """By what was given and what to do."""
    with pytest.raises(ValueError, match=said):
        call()  # type: ignore[operator]
