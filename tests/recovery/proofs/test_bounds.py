"""Theorem 9 in numbers, which no heat it speaks of exceeds; and the certified band."""

import math
from fractions import Fraction
from types import SimpleNamespace

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from physics.kernel import forward
from recovery.l1 import sketch
from recovery.proofs import certified
from recovery.proofs.bounds import corollary_10, find_weights, theorem_9
from recovery.proofs.certified import (
    Explaining,
    _prove,
    bound_distance,
    certify_band,
    find_directions,
)
from recovery.sparse import minimise_l1

# Theorem 9 in numbers: no heat it speaks of lies further, and it says when it says nothing.

CELLS, SENSORS = np.arange(1, 101) / 100, np.arange(1, 51) / 50


def earth_movers(p: np.ndarray, q: np.ndarray) -> float:
    """Return the distance between two heats on the hundred cells, each divided by its sum."""
    return float(np.abs(np.cumsum(p / p.sum() - q / q.sum())).sum() / 100)


def worst_heat(spread: float, radius: float, source: int) -> float:
    """Return the largest error of any heat that the theorem with one source speaks of."""
    operator = forward(CELLS, SENSORS, spread)
    share, scale = cvxpy.Variable(100), cvxpy.Variable()
    truth = np.eye(100)[source]
    # Truth and heat both lie within the radius of the readings: at most twice it apart.
    within = [
        share >= 0,
        cvxpy.sum(share) == 1,
        scale >= 1,
        cvxpy.norm(operator @ share - (operator @ truth) * scale) <= 2 * radius * scale,
    ]
    goal = cvxpy.Maximize(np.abs(CELLS - CELLS[source]) @ share)
    return float(cvxpy.Problem(goal, within).solve(solver=cvxpy.CLARABEL))


@pytest.mark.parametrize("spread", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("sigma", [1e-3, 1e-2, 5e-2])
@pytest.mark.parametrize("source", [28, 49])
def test_the_worst_heat_of_all_is_within_the_bound(
    spread: float, sigma: float, source: int
) -> None:
    """Found as a cone program; the bound is not idle either: a tenth of it is too little."""
    radius = sigma * math.sqrt(50)
    bound = theorem_9(CELLS, SENSORS, spread, radius, CELLS[source])
    worst = worst_heat(spread, radius, source)

    assert worst <= bound.distance + 1e-6
    assert worst > bound.distance / 10


@pytest.mark.parametrize(
    ("spread", "sigma", "sources"),
    [(0.05, 0.01, [0.42]), (0.001, 0.02, [0.25, 0.75]), (0.0005, 0.05, [0.21, 0.51, 0.81])],
)
def test_the_least_heat_is_within_the_bound(
    spread: float, sigma: float, sources: list[float]
) -> None:
    """Algorithm 1 itself, on readings whose noise leaves the truth within the radius."""
    world = np.random.default_rng(11)
    operator = forward(CELLS, SENSORS, spread)
    truth = np.isclose(CELLS[:, None], sources).any(axis=1).astype(float)
    radius = 1.1 * sigma * math.sqrt(50)
    bound = theorem_9(CELLS, SENSORS, spread, radius, sources)
    errors = []
    for _ in range(60):
        noise = sigma * world.normal(size=50)
        if np.linalg.norm(noise) <= radius:
            found = minimise_l1(operator, operator @ truth + noise, radius)
            errors.append(earth_movers(truth, found.heat))

    assert not bound.vacuous
    assert len(errors) > 30
    assert max(errors) <= bound.distance
    # The control: without the noise's share of the radius the bound would be false.
    without = theorem_9(CELLS, SENSORS, spread, 0.0, sources)
    assert max(errors) > without.distance


def test_a_vacuous_bound_says_so_and_why() -> None:
    """Too much noise, sources too near each other, a source at the end of the line."""
    loud = theorem_9(CELLS, SENSORS, 0.05, 30.0, 0.5)
    near = theorem_9(CELLS, SENSORS, 0.05, 0.01, [0.45, 0.55])
    end = theorem_9(CELLS, SENSORS, 0.05, 0.01, 0.01)

    for bound, why in ((loud, "the noise"), (near, "other sources"), (end, "one side")):
        assert bound.vacuous
        assert why in bound.why
        assert bound.distance == bound.printed == pytest.approx(0.99)
    assert theorem_9(CELLS, SENSORS, 0.05, 0.01 * math.sqrt(50), 0.5).why == ""


def test_the_corollary_is_the_theorem_at_the_noise_of_the_promise() -> None:
    """The printed inequality says something from epsilon 50 on at T = 0.05, and not at 29."""
    bounds = [corollary_10(CELLS, SENSORS, 0.05, 0.5, e, 0.1, printed_noise=True) for e in (1, 29)]
    loose, tight = corollary_10(CELLS, SENSORS, 0.05, 0.5, 50, 0.1, printed_noise=True), bounds[1]

    assert loose.printed < 0.99 == pytest.approx(tight.printed)
    assert bounds[0].distance >= tight.distance >= loose.distance
    assert corollary_10(CELLS, SENSORS, 0.05, 0.5, 1, 0.1).distance < bounds[0].distance


def test_the_weighted_reading_is_greatest_for_heat_at_the_source() -> None:
    """Lemma 14, for sensors that stand unevenly: the nearest pairs are taken, one left over."""
    sensors, source, spread = np.array([0.62, 0.38, 0.2, 0.58, 0.45, 0.31]), 0.5, 0.2
    weights = find_weights(sensors, source, spread)
    places = np.linspace(0, 1, 2001)

    assert weights.min() >= 0
    assert np.flatnonzero(weights).tolist() == [0, 1, 3, 4]  # 0.38 and 0.45, 0.58 and 0.62
    weighed = forward(places, sensors, spread).T @ weights
    assert places[weighed.argmax()] == pytest.approx(source, abs=1e-3)


# The certified band: equal to the printed programs, and right as often as it says.

seeds = st.integers(0, 2**32 - 1)


def operator(cells: int = 100, sensors: int = 50, spread: float = 0.05) -> np.ndarray:
    """Return the paper's operator on the unit interval."""
    return forward(np.arange(1, cells + 1) / cells, np.arange(1, sensors + 1) / sensors, spread)


def scene(
    world: np.random.Generator, matrix: np.ndarray, sources: int, sigma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return unit sources at random places, and their readings."""
    heat = np.zeros(matrix.shape[1])
    heat[world.choice(len(heat), sources, replace=False)] = 1
    return heat, matrix @ heat + sigma * world.normal(size=len(matrix))


def printed(matrix, readings, sigma, total, upper, level, point, basis):
    """Return the least and the largest share up to a point, by cvxpy in f and 1 / total."""
    share, scale = cvxpy.Variable(matrix.shape[1]), cvxpy.Variable()
    ball = sigma * math.sqrt(chi2.ppf(level, basis.shape[1]))
    within = [
        cvxpy.sum(share) == 1,
        share >= 0,
        share <= upper * scale,
        scale >= 1 / total[1],
        scale <= 1 / total[0],
        cvxpy.norm(basis.T @ (matrix @ share - readings * scale)) <= ball * scale,
    ]
    goal = cvxpy.sum(share[: point + 1])
    return [
        float(cvxpy.Problem(sense(goal), within).solve(solver=cvxpy.CLARABEL))
        for sense in (cvxpy.Minimize, cvxpy.Maximize)
    ]


@pytest.mark.parametrize("total", [(2.0, 2.0), (1.5, 3.0)], ids=["known", "range"])
@pytest.mark.parametrize("upper", [50.0, 0.4])
def test_the_band_is_what_the_programs_say(total: tuple[float, float], upper: float) -> None:
    """Solved everywhere it is the exact range of shares, and never a hair inside of it."""
    matrix, sigma = operator(24, 12), 0.2
    _, readings = scene(np.random.default_rng(8), matrix, 2, sigma)
    limits = np.full(24, upper)
    limits[[3, 4, 11]] = 0  # furniture
    found = certify_band(matrix, readings, sigma, total, limits, level=0.9, points=24)
    basis = find_directions(matrix[:, limits > 0], sigma, total)

    assert found.band is not None
    assert found.directions == basis.shape[1]
    for point in (2, 8, 11, 17):
        low, high = printed(matrix, readings, sigma, total, limits, 0.9, point, basis)
        assert found.band.low[point] == pytest.approx(low, abs=2e-6)
        assert found.band.high[point] == pytest.approx(high, abs=2e-6)
        assert found.band.low[point] <= low + 1e-7
        assert found.band.high[point] >= high - 1e-7


@pytest.mark.long
def test_with_many_cells_the_band_is_hardly_wider_and_still_proved() -> None:
    """The programs look at some of them only; the exact ends are never inside of the band."""
    matrix, sigma, cells = operator(700, 40, spread=0.01), 0.1, 700
    heat, readings = scene(np.random.default_rng(3), matrix, 2, sigma)
    found = certify_band(matrix, readings, sigma, 2.0, points=20)
    basis = find_directions(matrix, sigma, (2.0, 2.0))
    limits = np.full(cells, 2.0)

    for point in (184, 405):  # of the twenty that are solved for
        ends = printed(matrix, readings, sigma, (2.0, 2.0), limits, 0.9, point, basis)
        assert ends[0] - 2e-3 <= found.band.low[point] <= ends[0] + 1e-7
        assert ends[1] + 2e-3 >= found.band.high[point] >= ends[1] - 1e-7
    shares = np.cumsum(heat) / 2
    assert (found.band.low <= shares).all()
    assert (shares <= found.band.high).all()


@pytest.mark.parametrize("spread", [0.05, 1e-5], ids=["few directions", "a cell each"])
def test_of_more_sensors_than_cells_the_directions_are_those_of_the_whole(spread: float) -> None:
    """By the whole matrix's singular values: in both ways, the radius rests on orthogonality."""
    matrix, total = operator(60, 90, spread=spread), (1.0, 2.0)
    scenes = np.concatenate([matrix, 2 * matrix], axis=1)
    scenes -= scenes.mean(axis=1, keepdims=True)
    whole = np.linalg.svd(scenes, full_matrices=False)[0]
    assert (sketch(matrix) is None) == (spread < 0.01)

    for sigma, far in ((0.01, 1e-8), (1e-9, 1e-3)):
        basis = find_directions(matrix, sigma, total)
        reach = np.ptp(whole.T @ scenes, axis=1) / 2
        assert basis.shape[1] == np.count_nonzero(reach >= certified._WORTH * sigma)
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
        within = whole[:, : basis.shape[1]]
        np.testing.assert_allclose(basis @ basis.T, within @ within.T, atol=far)


def test_where_all_heat_may_be_before_a_place_no_program_beyond_is_solved(monkeypatch) -> None:
    """Nor where all may be after one, of those before: the band is that of all the programs."""
    world, matrix = np.random.default_rng(3), operator(60, 30)
    heat = np.zeros(60)
    heat[[20, 45]] = 1
    readings = matrix @ heat + 0.02 * world.normal(size=30)
    solved = []
    solver = certified._make_solver
    monkeypatch.setattr(certified, "_make_solver", lambda *given: counted(solver(*given), solved))
    asked = (matrix, readings, 0.02, (0.6, 4.0), np.ones(60))
    few = certified.certify_band(*asked).band
    count = len(solved)
    monkeypatch.setattr(certified, "_ALL", 2.0)
    every = certified.certify_band(*asked).band

    assert len(solved) - count == 50
    assert count < 40
    np.testing.assert_allclose(few.low, every.low, atol=1e-9)
    np.testing.assert_allclose(few.high, every.high, atol=1e-9)


def counted(solver, solved: list):
    """A solver that notes each program, for its own attributes cannot be replaced."""

    def solve():
        solved.append(1)
        return solver.solve()

    return SimpleNamespace(solve=solve, update=solver.update)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seeds)
def test_any_multipliers_prove_a_bound(seed: int) -> None:
    """The band rests on weak duality, not on the solver: random multipliers are right too."""
    world = np.random.default_rng(seed)
    heat = world.uniform(0, 1, 15) * (world.uniform(size=15) < 0.5) + 1e-3
    small = world.normal(size=(3, 15))
    total = (float(heat.sum()) * 0.8, float(heat.sum()) * 1.1)
    noise = world.normal(size=3)
    heats = Explaining(
        small, small @ heat + noise, float(np.linalg.norm(noise)), np.full(15, 1.0), total
    )
    nu, mu = world.normal(size=(2, 3)) * world.uniform(0, 1), world.normal(size=2)
    shares = np.cumsum(heat) / heat.sum()

    assert (_prove(heats, nu, mu, last=False) >= shares - 1e-12).all()
    assert (_prove(heats, nu, mu, last=True) >= 1 - shares - 1e-12).all()


def test_where_products_cancel_the_roundings_are_still_allowed_for() -> None:
    """In exact fractions: sums of large numbers that nearly cancel are bounded all the same."""
    world = np.random.default_rng(0)
    for _ in range(60):
        small = 1 + 1e-9 * world.normal(size=(2, 6))
        nu = 10 ** world.uniform(3, 13) * np.array([[1.0, -1.0 - 1e-10 * world.normal()]])
        readings, mu = np.full(2, 1e-7) * world.normal(), world.normal(size=1)
        heats = Explaining(small, readings, 1e-9, np.ones(6), (1.0, 1.0))
        bound = _prove(heats, nu, mu, last=False)
        row = [Fraction(float(one)) for one in nu[0]]
        priced = [
            sum(a * Fraction(float(b)) for a, b in zip(row, column, strict=True))
            for column in small.T
        ]
        norm = math.hypot(*nu[0]) * (1 - 1e-15)
        rest = sum(a * Fraction(float(b)) for a, b in zip(row, readings, strict=True))
        rest += Fraction(1e-9) * Fraction(norm)
        free = Fraction(float(mu[0]))
        for point in range(6):
            worth = [(cell <= point) - price for cell, price in enumerate(priced)]
            exact = rest + min(max(worth), free + sum(max(Fraction(0), w - free) for w in worth))
            assert Fraction(float(bound[point])) >= exact


def coverage(stated: float, sources: int, runs: int) -> float:
    """Return how often the band of a stated deviation holds where the true one is 0.17."""
    world = np.random.default_rng(17)
    matrix, sigma = operator(), 0.17
    held = 0
    for _ in range(runs):
        heat, readings = scene(world, matrix, sources, sigma)
        band = certify_band(matrix, readings, stated, float(sources), points=12).band
        if band is not None:
            shares = np.cumsum(heat) / sources
            held += bool((band.low <= shares + 1e-9).all() and (shares <= band.high + 1e-9).all())
    return held / runs


@pytest.mark.long
@pytest.mark.parametrize(("sources", "runs"), [(1, 240), (3, 100)])
def test_the_band_holds_at_least_as_often_as_it_says(sources: int, runs: int) -> None:
    """Nine in ten over the noise, at all points at once."""
    assert coverage(0.17, sources, runs) >= 0.9


def test_the_certified_distance_is_the_farthest_of_all_that_the_band_holds() -> None:
    """Not less than to either edge, not more than to both, and the truth is within."""
    matrix, sigma, places = operator(24, 12), 0.2, np.cumsum(np.linspace(1, 2, 24))
    heat, readings = scene(np.random.default_rng(4), matrix, 2, sigma)
    band = certify_band(matrix, readings, sigma, 2.0).band
    guess = np.random.default_rng(5).uniform(0, 1, 24)
    share = np.cumsum(guess) / guess.sum()

    limit = bound_distance(band, guess, places)
    ends = [np.abs(share - edge)[:-1] @ np.diff(places) for edge in (band.low, band.high)]
    truth = np.abs(share - np.cumsum(heat) / 2)[:-1] @ np.diff(places)
    assert max(ends) <= limit <= sum(ends) + 1e-9
    assert truth <= limit
    with pytest.raises(ValueError, match="the area between them"):
        bound_distance(band, guess[1:], places)


def test_a_solver_at_odds_with_itself_leaves_all_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """It calls infeasible what the nearest heat explains: then nothing is claimed."""
    matrix = operator(24, 12)
    monkeypatch.setattr(certified, "bound_shares", lambda *_: None)
    found = certify_band(matrix, matrix[:, 3], 0.1, 1.0)

    assert found.status.startswith("certified: nothing")
    assert certify_band(matrix, matrix[:, 3] - 9, 0.1, 1.0).status.startswith("infeasible")


def test_the_distance_that_is_named_is_the_least() -> None:
    """By cvxpy, for a total that is known to lie between two numbers."""
    matrix, readings = operator(20, 10), np.full(10, 9.0)
    found = certify_band(matrix, readings, 0.1, (1.0, 2.0), upper=0.7)
    basis = find_directions(matrix, 0.1, (1.0, 2.0))
    heat = cvxpy.Variable(20)
    far = cvxpy.norm(basis.T @ (matrix @ heat - readings))
    within = [heat >= 0, heat <= 0.7, cvxpy.sum(heat) >= 1, cvxpy.sum(heat) <= 2]
    least = cvxpy.Problem(cvxpy.Minimize(far), within).solve(solver=cvxpy.CLARABEL) / 0.1

    assert found.band is None
    assert f"than {least:.2f} deviations" in found.status
