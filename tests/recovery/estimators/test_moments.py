"""Estimators that know the prior by its moments, against enumeration and against cvxpy."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import cvxpy
import numpy as np
import pytest

from recovery.estimators import atoms
from recovery.estimators.atoms import estimate_by_entropy
from recovery.estimators.convex import small
from recovery.estimators.record import Prior, moments


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
    "prior",
    [Prior(2, 2), Prior(0, 3), Prior(1, 2, 2.0, 0.5), Prior(2, 3, 1.5, None), Prior(1, 1)],
)
def test_the_moments_are_those_of_every_scene_enumerated(prior: Prior) -> None:
    """Mean, square and product, for equal powers, unequal ones, and either."""
    weights, heats = map(np.array, zip(*possible(prior, 5), strict=True))
    second = (weights[:, None] * heats).T @ heats
    found = moments(prior, 5)

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

        assert atoms.linear(seen, small(seen)) == pytest.approx(best, abs=1e-9)


def test_atoms_stand_where_the_gathered_heat_first_passes_their_level(line) -> None:
    """Heat below nothing takes back what was passed, and moves no atom."""
    _, seen = line(1, cells=5, sensors=5)
    gathered = atoms.atoms(seen, np.array([0.6, 0.6, -0.8, 0.6, 1.0]))

    assert gathered == pytest.approx([1.0, 0.0, 0.0, 0.0, 1.0])


def test_an_unknown_number_is_told_by_the_total(line) -> None:
    """With little noise the total heat is known, so the number is."""
    for sources in (1, 2, 3, 4):
        heat, seen = line(sources, sources, sigma=0.02)
        seen = replace(seen, prior=Prior(0, 6))
        found = estimate_by_entropy(seen).heat
        assert np.count_nonzero(found) >= sources - 1
        assert found.sum() == pytest.approx(sources, abs=0.2)
        assert heat.sum() == sources


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
            made = small(seen)
            shares, gap = atoms.least_surprise(
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
