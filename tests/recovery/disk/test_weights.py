"""The likeliest weights of laws: as likely as a slower, other method makes them."""

import numpy as np
import pytest
import scipy.optimize

from recovery.disk.crowded_map import fitted


def problem(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Laws that are nearly alike, (answers, laws), and counts drawn of some of them."""
    world = np.random.default_rng(seed)
    laws = world.dirichlet(np.full(40, 3.0), size=count).T + 0.02
    laws /= laws.sum(axis=0)
    weights = np.zeros(count)
    weights[:2] = (0.7, 0.3) if count > 1 else 1.0
    return laws, world.multinomial(5_000, laws @ weights) + 1.0


@pytest.mark.parametrize("count", [1, 2, 5, 9])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_other_weights_are_likelier(count: int, seed: int) -> None:
    """Expectation maximisation, thousands of its steps, gets no higher."""
    laws, counts = problem(count, seed)
    found = fitted(laws, counts, np.full(count, 1 / count))
    slow = np.full(count, 1 / count)
    for _ in range(5_000):
        slow *= laws.T @ (counts / (laws @ slow)) / counts.sum()

    def worth(weights: np.ndarray) -> float:
        return float(counts @ np.log(laws @ weights))

    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    assert worth(found) >= worth(slow) - 0.01
    # And what is left out would not be missed: no law has more than its share (Lindsay 1983).
    assert (laws.T @ (counts / (laws @ found)) <= counts.sum() + 0.5).all()


def test_laws_that_are_the_same_share_what_one_has() -> None:
    """A direction that nothing tells apart must not stop the others."""
    laws, counts = problem(3, 2)
    twice = np.column_stack([laws, laws[:, :1]])
    once = fitted(laws, counts, np.full(3, 1 / 3))
    found = fitted(twice, counts, np.full(4, 1 / 4))

    assert found[0] + found[3] == pytest.approx(once[0], abs=1e-3)
    assert found[1:3] == pytest.approx(once[1:], abs=1e-3)


def test_it_is_a_convex_problem_that_scipy_solves_too() -> None:
    """On the simplex, by another program."""
    laws, counts = problem(4, 5)
    other = scipy.optimize.minimize(
        lambda w: -float(counts @ np.log(laws @ w)) / 1e3,
        np.full(4, 0.25),
        bounds=[(1e-9, 1)] * 4,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14},
    )

    assert fitted(laws, counts, np.full(4, 0.25)) == pytest.approx(other.x, abs=2e-3)
