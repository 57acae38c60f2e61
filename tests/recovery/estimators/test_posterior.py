"""The posterior and its moments as estimators: what they show, and of what they know nothing."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import cvxpy
import numpy as np
import pytest

from physics.kernel import forward
from recovery.distance import earth_movers
from recovery.estimators import atoms
from recovery.estimators.convex import reduce_problem
from recovery.estimators.posterior import estimate
from recovery.estimators.record import Prior, Seen, compute_moments

# The posterior's map: right as often as it says, and nearer than the least heat.

LINE = np.arange(1, 101)[:, None] / 100
PAPER = forward(LINE[:, 0], np.arange(1, 51) / 50, 0.05)


def line(number: int, sigma: float, trial: int, prior: Prior) -> tuple[Seen, np.ndarray]:
    """Blurred readings of so many sources along the paper's line, and the truth."""
    world = np.random.default_rng([number, trial])
    heat = np.zeros(100)
    heat[world.choice(100, number, replace=False)] = prior.warmest
    readings = PAPER @ heat + sigma * world.normal(size=50)
    return Seen(PAPER, readings, sigma, LINE, (1, 100), prior), heat


def plane(sigma: float, trial: int, prior: Prior) -> tuple[Seen, np.ndarray]:
    """Two sources on 20 x 20 cells, read at 10 x 10 places; and the truth."""
    world = np.random.default_rng(trial)
    cells = np.arange(1, 21) / 20
    one = forward(cells, np.arange(1, 11) / 10, 0.02)
    operator = np.kron(one, one)
    heat = np.zeros(400)
    heat[world.choice(400, 2, replace=False)] = 1
    places = np.stack([np.tile(cells, 20), np.repeat(cells, 20)], axis=1)
    readings = operator @ heat + sigma * world.normal(size=100)
    return Seen(operator, readings, sigma, places, (20, 20), prior), heat


def test_it_is_right_as_often_as_it_says() -> None:
    """Over scenes of the prior: cells, numbers, the band and the error, each on average."""
    cells = 25
    operator = forward(np.arange(cells) / cells, np.arange(12) / 12, 0.05)
    places = np.arange(cells)[:, None] / cells
    world = np.random.default_rng(0)
    said = {"band": 0.0, "error": 0.0, "number": 0.0, "cell": 0.0}
    seen_to_be = dict.fromkeys(said, 0.0)
    runs = 250
    within = []
    for _ in range(runs):
        number = int(world.integers(1, 4))
        heat = np.zeros(cells)
        heat[world.choice(cells, number, replace=False)] = 1
        readings = operator @ heat + 0.3 * world.normal(size=12)
        found = estimate(Seen(operator, readings, 0.3, places, (1, cells), Prior(1, 3)))
        sure = found.credible
        upto = np.cumsum(heat) / number
        inside = (sure.band.low - 1e-9 <= upto) & (upto <= sure.band.high + 1e-9)
        within.append(inside.all())
        seen_to_be["error"] += earth_movers(found.heat, heat, normalise=True)
        said["error"] += sure.expected_error
        seen_to_be["number"] += float(np.argmax(sure.numbers) == number)
        said["number"] += sure.numbers.max()
        likely = np.argsort(-sure.present.ravel())[:4]
        seen_to_be["cell"] += heat[likely].sum()
        said["cell"] += sure.present.ravel()[likely].sum()

    assert np.mean(within) == pytest.approx(0.9, abs=0.04)
    assert seen_to_be["error"] == pytest.approx(said["error"], rel=0.12)
    assert seen_to_be["number"] == pytest.approx(said["number"], rel=0.08)
    assert seen_to_be["cell"] == pytest.approx(said["cell"], rel=0.12)


def test_the_heat_is_of_whole_sources_in_open_cells() -> None:
    """Known heat and furniture: all of the heat, and none where nothing can be."""
    prior = Prior(2, 2, warmest=3.0, coolest=3.0)
    seen, _ = line(2, 0.3, 5, prior)
    allowed = np.arange(100) % 7 != 3

    found = estimate(replace(seen, open=allowed))

    assert found.status == "optimal"
    assert found.heat.sum() == pytest.approx(6.0)
    assert not found.heat[~allowed].any()
    assert not found.credible.present[0, ~allowed].any()
    assert found.credible.numbers == pytest.approx([0, 0, 1])
    assert found.residual == pytest.approx(np.linalg.norm(PAPER @ found.heat - seen.readings))


# Estimators that know the prior by its moments, against enumeration and against cvxpy.


def possible(prior: Prior, cells: int) -> Iterator[tuple[float, np.ndarray]]:
    """Every scene that the prior holds possible, with its chance; powers by their quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(2)  # exact for squares
    models = [prior.coolest] if prior.coolest is not None else [prior.warmest, 0.3 * prior.warmest]
    numbers = range(prior.fewest, prior.most + 1)
    for low in models:
        powers = (low + prior.warmest) / 2 + (prior.warmest - low) / 2 * nodes
        for number in numbers:
            sets = list(combinations(range(cells), number))
            for chosen in sets:
                for index in np.ndindex(*(2,) * number):
                    heat = np.zeros(cells)
                    heat[list(chosen)] = powers[list(index)]
                    chance = np.prod(weights[list(index)] / 2)
                    yield chance / len(models) / len(numbers) / len(sets), heat


@pytest.mark.parametrize(
    "prior", [Prior(2, 2), Prior(0, 3), Prior(1, 2, 2.0, 0.5), Prior(2, 3, 1.5, None), Prior(1, 1)]
)
def test_the_moments_are_those_of_every_scene_enumerated(prior: Prior) -> None:
    """Mean, square and product, for equal powers, unequal ones, and either."""
    weights, heats = map(np.array, zip(*possible(prior, 5), strict=True))
    second = (weights[:, None] * heats).T @ heats
    found = compute_moments(prior, 5)

    assert weights.sum() == pytest.approx(1)
    assert weights @ heats == pytest.approx(np.full(5, found.mean))
    assert np.diag(second) == pytest.approx(np.full(5, found.square))
    assert second[np.triu_indices(5, 1)] == pytest.approx(np.full(10, found.product))


@pytest.mark.parametrize("prior", [Prior(2, 2), Prior(0, 3), Prior(1, 2, 2.0, 0.5)])
def test_no_other_linear_estimate_has_a_smaller_error(line, plane, prior: Prior) -> None:
    """The normal equations of the least mean square, from scenes enumerated."""
    for seen in (line(1, cells=8, sensors=6, furniture=True)[1], plane(1, side=3)[1]):
        seen = replace(seen, prior=prior)
        free = np.flatnonzero(np.ones(seen.operator.shape[1]) if seen.open is None else seen.open)
        weights, heats = map(np.array, zip(*possible(prior, len(free)), strict=True))
        warmth = heats @ seen.operator[:, free].T
        mean, expected = weights @ heats, weights @ warmth
        both = (weights[:, None] * (heats - mean)).T @ (warmth - expected)
        second = (weights[:, None] * (warmth - expected)).T @ (warmth - expected)
        second += seen.sigma**2 * np.eye(len(second))
        best = mean + both @ np.linalg.solve(second, seen.readings - expected)

        assert atoms.estimate_linear(seen, reduce_problem(seen)) == pytest.approx(best, abs=1e-9)


def test_atoms_stand_where_the_gathered_heat_first_passes_their_level(line) -> None:
    """Heat below nothing takes back what was passed, and moves no atom."""
    _, seen = line(1, cells=5, sensors=5)
    gathered = atoms.gather_at_quantiles(seen, np.array([0.6, 0.6, -0.8, 0.6, 1.0]))

    assert gathered == pytest.approx([1.0, 0.0, 0.0, 0.0, 1.0])


def surprise_of(heat: np.ndarray, operator: np.ndarray, readings: np.ndarray) -> float:
    heat = np.maximum(heat, 1e-300)
    misfit = operator @ heat - readings
    return misfit @ misfit / 2 + heat @ np.log(heat * len(heat) / heat.sum())


def test_the_surprise_is_the_least_that_cvxpy_finds(line, plane) -> None:
    """The whole program, from readings and cells as they come, in the exponential cone."""
    for seed in (1, 2, 3):
        for seen in (
            line(seed, 3, sigma=0.3, furniture=True)[1],
            line(seed, 1, sigma=0.05)[1],
            plane(seed, furniture=True)[1],
        ):
            free = slice(None) if seen.open is None else seen.open
            columns = seen.operator[:, free] / seen.sigma
            number, cells = seen.prior.most, columns.shape[1]
            made = reduce_problem(seen)
            shares, gap = atoms.minimise_surprise(
                made.operator / seen.sigma, made.readings / seen.sigma, number
            )
            heat = cvxpy.Variable(cells)
            misfit = cvxpy.sum_squares(columns @ heat - seen.readings / seen.sigma) / 2
            surprise = misfit + cvxpy.sum(cvxpy.rel_entr(heat, np.full(cells, number / cells)))
            problem = cvxpy.Problem(cvxpy.Minimize(surprise), [cvxpy.sum(heat) == number])
            problem.solve(solver=cvxpy.CLARABEL)

            best = surprise_of(heat.value, columns, seen.readings / seen.sigma)
            ours = surprise_of(shares, columns, seen.readings / seen.sigma)
            assert ours == pytest.approx(best, rel=1e-6)
            assert gap == pytest.approx(0, abs=1e-9)
            assert shares == pytest.approx(heat.value, abs=1e-3)
