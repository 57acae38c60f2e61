"""The nearest map without negative parts."""

import cvxpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from recovery.peers.simplex import project


def norm_sub(values: np.ndarray) -> np.ndarray:
    """The procedure as it is told: zero what is negative, share the surplus, begin again."""
    shares, kept = values.copy(), np.ones(len(values), bool)
    while True:
        shares[kept] -= (shares[kept].sum() - 1) / kept.sum()
        shares[~kept] = 0
        below = kept & (shares < 0)
        if not below.any():
            return shares
        kept &= ~below


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_nearest_one(seed: int) -> None:
    """Against a solver of quadratic programs, which clipping and dividing does not match."""
    values = np.random.default_rng(seed).normal(0.1, 0.4, 12)
    share = cvxpy.Variable(12, nonneg=True)
    cvxpy.Problem(
        cvxpy.Minimize(cvxpy.sum_squares(share - values)), [cvxpy.sum(share) == 1]
    ).solve(solver=cvxpy.CLARABEL)
    clipped = np.maximum(values, 0)

    assert project(values) == pytest.approx(share.value, abs=1e-5)
    assert project(values) == pytest.approx(norm_sub(values), abs=1e-12)
    assert np.abs(clipped / clipped.sum() - project(values)).max() > 1e-3


@given(arrays(float, st.integers(1, 30), elements=st.floats(-1e6, 1e6, allow_subnormal=False)))
def test_it_is_a_map_and_stands_still(values: np.ndarray) -> None:
    """Whatever comes in: not negative, of total one, and the order of cells is kept."""
    shares = project(values)

    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)
    assert project(shares) == pytest.approx(shares, abs=1e-9)
    assert (np.diff(shares[np.argsort(values)]) >= -1e-12).all()


def test_shapes_and_totals_are_kept() -> None:
    """A map of users needs the number of users, and rows and columns."""
    values = np.array([[3.0, -1.0], [4.0, 0.5]])

    assert project(values, 6.0).shape == (2, 2)
    assert project(values, 6.0).sum() == pytest.approx(6)


def test_what_has_no_nearest_map_is_refused() -> None:
    """A division of nothing would come back as a map of NaN."""
    for values, total in (([], 1.0), ([np.nan, 1], 1.0), ([1, 2], 0.0), ([1, 2], np.inf)):
        with pytest.raises(ValueError, match="must be"):
            project(values, total)
