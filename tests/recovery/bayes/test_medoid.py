"""Plans between small sets, and the set nearest to many, against other solvers and all sets."""

import numpy as np
import ot
import pytest
from scipy.spatial.distance import cdist

from physics.kernel import forward
from recovery.bayes.exact import list_sets, scores
from recovery.bayes.medoid import distances, medoid, plans

SIDE = 6
PLACES = np.stack(np.divmod(np.arange(SIDE * SIDE), SIDE), axis=1)[:, ::-1] / SIDE


def pairs_of(here: int, there: int, equal: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sixty pairs of sets with many equal distances, and shares of 0 among them."""
    world = np.random.default_rng([here, there])
    supply = np.full((60, here), 1 / here)
    demand = np.full((60, there), 1 / there)
    if not equal:
        supply = world.dirichlet(np.ones(here), 60)
        demand = world.dirichlet(np.ones(there), 60)
        supply[:9, 0] = 0
        demand[5:20, -1] = 0
        supply /= supply.sum(axis=1, keepdims=True)
        demand /= demand.sum(axis=1, keepdims=True)
    starts = world.integers(0, SIDE, (60, here, 1, 2))
    ends = world.integers(0, SIDE, (60, 1, there, 2))
    return supply, demand, np.abs(starts - ends).sum(axis=-1) / SIDE


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize(("here", "there"), [(1, 1), (2, 2), (3, 3), (2, 5), (6, 6), (8, 7)])
def test_plans_cost_what_another_solver_finds(here: int, there: int, equal: bool) -> None:
    """Exactly, for equal and unequal shares; and all that leaves arrives."""
    supply, demand, cost = pairs_of(max(here, 2 - equal), max(there, 2 - equal), equal)

    flow = plans(supply, demand, cost)

    other = [ot.emd2(*pair) for pair in zip(supply, demand, cost, strict=True)]
    assert distances(supply, demand, cost) == pytest.approx(np.array(other), abs=1e-12)
    assert (flow * cost).sum(axis=(1, 2)) == pytest.approx(np.array(other), abs=1e-12)
    assert flow.min() >= -1e-15
    assert flow.sum(axis=2) == pytest.approx(supply, abs=1e-12)
    assert flow.sum(axis=1) == pytest.approx(demand, abs=1e-12)


def expected(
    cells: np.ndarray, shares: np.ndarray, sets: np.ndarray, chances: np.ndarray
) -> float:
    """The mean distance of one set from all, by another solver."""
    total = 0.0
    for one, chance in zip(sets, chances, strict=True):
        theirs = one[one >= 0]
        cost = cdist(PLACES[cells], PLACES[theirs], "cityblock")
        total += chance * ot.emd2(shares, np.full(len(theirs), 1 / len(theirs)), cost)
    return total


def possible(sigma: float, fewest: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The likeliest fifty sets of a posterior in a plane, and their chances."""
    line = forward(np.arange(1, SIDE + 1) / SIDE, np.arange(1, 5) / 4, 0.02)
    operator = np.kron(line, line)
    world = np.random.default_rng(most)
    readings = operator[:, [8, 27]].sum(axis=1) + sigma * world.normal(size=16)
    found = list_sets(scores(operator, readings, sigma, 1.0), fewest, most)
    kept = np.argsort(-found.chances)[:50]
    return found.sets[kept], found.chances[kept] / found.chances[kept].sum()


@pytest.mark.parametrize(("fewest", "most"), [(1, 1), (2, 2), (1, 2)])
@pytest.mark.parametrize("sigma", [3.0, 1.0, 0.3])
def test_no_possible_set_is_nearer(fewest: int, most: int, sigma: float) -> None:
    """Its stated error is its mean distance, and none of all possible sets has a smaller one."""
    sets, chances = possible(sigma, fewest, most)

    nearest = medoid(sets, chances, PLACES)

    stated = expected(nearest.cells, nearest.shares, sets, chances)
    assert nearest.expected_error == pytest.approx(stated, abs=1e-9)
    others = [
        expected(one[one >= 0], np.full((one >= 0).sum(), 1 / (one >= 0).sum()), sets, chances)
        for one in sets
    ]
    assert stated <= min(others) + 1e-9


def test_too_many_sets_are_not_written_out() -> None:
    """400 cells have ten million triples: they are refused with a way out."""
    found = scores(np.ones((1, 400)), np.ones(1), 1.0, 1.0)
    with pytest.raises(ValueError, match="join cells"):
        list_sets(found, 1, 3)
