"""The nearest map without negative parts."""

import math
from itertools import product

import cvxpy
import numpy as np
import pytest

from physics.crowds.peers import count_oue
from recovery.peers import frequency_oracles
from recovery.peers.frequency_oracles import project
from recovery.peers.local_privacy import distances, local_privacy, worst_log_ratio

# k-RR and OUE: unbiased before they are projected, and as private as they say.

TRUTH = np.array([0.5, 0.25, 0.125, 0.0, 0.0625, 0.0625])


def test_krr_gives_the_truth_of_expected_counts() -> None:
    """The channel's own expectation must come back to the last digit."""
    counts = frequency_oracles.matrix(6, 1.4) @ TRUTH * 1000

    assert frequency_oracles.estimate_krr(counts, 1.4) == pytest.approx(TRUTH, abs=1e-12)
    assert np.abs(frequency_oracles.estimate_krr(counts, 1.5) - TRUTH).max() > 0.01


def test_oue_gives_the_truth_of_expected_counts() -> None:
    """Two bits differ between cells; both chances must be taken off."""
    q = 1 / (math.exp(1.4) + 1)
    counts = 1000 * (TRUTH * 0.5 + (1 - TRUTH) * q)

    assert frequency_oracles.estimate_oue(counts, 1000, 1.4) == pytest.approx(TRUTH, abs=1e-12)


def test_oue_of_a_crowd_is_near_within_its_spread() -> None:
    """A whole crowd, and the published variance 4 e^eps / (n (e^eps - 1)^2) of an empty cell."""
    users = (TRUTH * 64_000).astype(int)
    world = np.random.default_rng(1)
    stays, errs = frequency_oracles.oue_chances(1.4)

    drawn = np.array(
        [
            frequency_oracles.unbias(
                count_oue(users, 1.4, world).astype(float), users.sum(), stays, errs
            )
            for _ in range(500)
        ]
    )

    assert np.abs(drawn.mean(axis=0) - TRUTH).max() < 0.002
    spread = 4 * math.exp(1.4) / (users.sum() * (math.exp(1.4) - 1) ** 2)
    assert drawn.var(axis=0)[3] == pytest.approx(spread, rel=0.25)


def test_krr_promises_epsilon_and_reaches_it() -> None:
    """At the chances that are used, not those that were meant."""
    assert worst_log_ratio(frequency_oracles.matrix(25, 3.5)) == pytest.approx(3.5)


@pytest.mark.parametrize(("columns", "rows"), [(3, 2), (1, 1), (4, 1)])
@pytest.mark.parametrize("epsilon", [0.3, 1.4, 5.0])
def test_local_privacy_of_bits_is_that_of_all_strings(
    columns: int, rows: int, epsilon: float
) -> None:
    """One sum over sizes instead of 2^n strings; here all of them are written out."""
    away, cells = distances(columns, rows), columns * rows
    stays, errs = frequency_oracles.oue_chances(epsilon)
    matrix = np.array(
        [
            [
                math.prod(
                    (stays if bit else 1 - stays) if at == own else (errs if bit else 1 - errs)
                    for at, bit in enumerate(bits)
                )
                for own in range(cells)
            ]
            for bits in product((0, 1), repeat=cells)
        ]
    )

    assert frequency_oracles.local_privacy(away, epsilon) == pytest.approx(
        local_privacy(matrix, away)
    )


def test_what_no_users_answer_is_refused() -> None:
    """More ones than users, none at all, or an epsilon of nothing."""
    with pytest.raises(ValueError, match="may count once"):
        frequency_oracles.estimate_oue([5, 1], 4, 1.0)
    with pytest.raises(ValueError, match="one at least"):
        frequency_oracles.estimate_oue([0, 0], 0, 1.0)
    with pytest.raises(ValueError, match="one at least"):
        frequency_oracles.estimate_krr([0, 0], 1.0)
    with pytest.raises(ValueError, match="positive and finite"):
        frequency_oracles.estimate_oue([1, 0], 4, 0.0)
    with pytest.raises(ValueError, match="positive and finite"):
        frequency_oracles.estimate_krr([1, 0], math.inf)


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
