"""Points of people: the laws they are drawn by, the cells they fall in, and files of them."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from edge.core.records import Grid
from physics.files import read_points
from physics.points import cells_of, histogram, normal, szipf


def world(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_hill_has_the_moments_that_the_paper_gives_it() -> None:
    """Figure 9 stands on them; a hill without its correlation must not pass."""
    x, y = (10 * normal(200_000, world()) - 5).T

    assert abs(x.mean()) < 0.01
    assert abs(y.var() - 1) < 0.01
    assert abs(np.corrcoef(x, y)[0, 1] - 0.5) < 0.01


@pytest.mark.parametrize("seed", [1, 2])
def test_skew_zipf_falls_as_its_density_does(seed: int) -> None:
    """Against scipy's test of the law; uniform points are the negative control."""

    def law(x: np.ndarray) -> np.ndarray:
        return np.log2(1 + x)

    points = szipf(50_000, world(seed))

    assert stats.kstest(points[:, 0], law).pvalue > 1e-3
    assert stats.kstest(points[:, 1], law).pvalue > 1e-3
    assert stats.kstest(world(seed).random(50_000), law).pvalue < 1e-9


def test_cells_are_half_open_and_outsiders_are_moved_in() -> None:
    """A point that is dropped tells that somebody was there."""
    points = np.array([[0, 0], [0.25, 0], [0.249, 0.51], [-3, 1e300], [np.inf, -np.inf]])

    assert cells_of(points, Grid((4, 2), 0)).tolist() == [0, 1, 4, 4, 3]


def test_cells_in_metres_are_squares_of_their_size() -> None:
    """On a grid in metres the size of a cell counts, not the size of the grid."""
    points = np.array([[0.49, 0.5], [3.0, 0.99]])

    assert cells_of(points, Grid((4, 3), 500)).tolist() == [4, 7]
    assert cells_of(np.array([0.6, 9.0]), Grid((4, 1), 500)).tolist() == [1, 3]


def test_counts_have_rows_first() -> None:
    """A map that is transposed looks right on every square example."""
    assert histogram(np.array([[0.9, 0.1], [0.9, 0.1]]), Grid((3, 2), 0)).tolist() == [
        [0, 0, 2],
        [0, 0, 0],
    ]


def test_what_stands_nowhere_is_refused() -> None:
    """NaN cast to a whole number is a cell, and a wrong one."""
    with pytest.raises(ValueError, match=r"point 1 is \[nan, 0.5\] but must have a place"):
        cells_of(np.array([[0.1, 0.1], [np.nan, 0.5]]), Grid((2, 2), 0))
    with pytest.raises(ValueError, match=r"must be \(n, 2\)"):
        cells_of(np.array([0.1, 0.2]), Grid((2, 2), 0))


def test_a_file_of_points_is_read(tmp_path: Path) -> None:
    """A user keeps one number however many points are his."""
    path = tmp_path / "points.csv"
    path.write_text("\ufeffuser,x,y,weight\nann,1,2,3\nbob,-0.5,1e3,0\n\nann,3,4,1\n", "utf-8")
    read = read_points(path)

    assert read.names == ("ann", "bob")
    assert read.users.tolist() == [0, 1, 0]
    assert read.places.tolist() == [[1, 2], [-0.5, 1000], [3, 4]]
    assert read.weights.tolist() == [3, 0, 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: the header is 'missing'"),
        ("x,y\n1,2\n", "must be 'user,x,y'"),
        ("user,x,y\na,1\n", "line 2: there are 2 values but 3 are needed"),
        ("user,x,y\na,1,2\nb,nan,2\nc,1,inf\n", r"line 3: x is 'nan'.*more faults in line 4"),
        ("user,x,y\n,1,2\n", "line 2: the user is missing"),
        ("user,x,y,weight\na,1,2,-1\n", "weight is '-1'"),
        ("user,x,y,weight\na,1,2,0\n", "no weight in all"),
        ("user,x,y\n", "a header and no point"),
    ],
)
def test_a_faulty_file_is_refused_by_its_line(tmp_path: Path, text: str, said: str) -> None:
    """Whoever has ten thousand rows needs the line."""
    path = tmp_path / "points.csv"
    path.write_text(text, "utf-8")

    with pytest.raises(ValueError, match=said):
        read_points(path)
