"""Trees that peers grow: exact where noise is near nothing, even where it is everything."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.core.noise import dlaplace
from recovery.peers.grids import Crowd
from recovery.peers.sketched_trees import count_min, privtree

CELLS = np.zeros((13, 16), dtype=np.int64)
CELLS[3, 4], CELLS[12, 15], CELLS[0, 0] = 700, 200, 100
SHARE = CELLS / CELLS.sum()


@pytest.mark.parametrize("way", [privtree, partial(count_min, rows=5, width=200)])
def test_with_much_epsilon_a_tree_is_the_truth_and_with_little_it_says_nothing(
    way: Callable[..., np.ndarray],
) -> None:
    """Squares are split down to the crowded cells; noise that drowns them leaves no map."""
    draw = partial(dlaplace, rng=Tape(b"tree"))
    near = way(Crowd(CELLS, 1000), Fraction(2000), draw)
    far = way(Crowd(CELLS, 1000), Fraction(1, 2000), draw)

    assert near.sum() == pytest.approx(1)
    assert np.abs(near - SHARE).sum() < 0.1
    assert np.abs(far - SHARE).sum() > 1


def test_half_of_epsilon_is_for_the_squares_and_half_for_their_counts() -> None:
    """What is drawn, and how wide: 7/3 for a path of any length, 1 for a count."""
    asked: set[Fraction] = set()

    def draw(num: int, den: int) -> int:
        asked.add(Fraction(num, den))
        return 0

    privtree(Crowd(CELLS, 1000), Fraction(3), draw)
    assert asked == {Fraction(14, 9), Fraction(2, 3)}


def test_a_sketch_has_noise_for_every_row_and_level() -> None:
    """One user is in rows times levels sums."""
    asked: list[Fraction] = []

    def draw(num: int, den: int) -> int:
        asked.append(Fraction(num, den))
        return 0

    count_min(Crowd(CELLS, 1000), Fraction(3), draw, rows=5, width=20)
    assert asked == [Fraction(5 * 4, 3)] * 100
