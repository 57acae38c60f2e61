"""Theorem 9 in numbers: no heat it speaks of lies further, and it says when it says nothing."""

import math

import cvxpy
import numpy as np
import pytest
from scipy.optimize import linprog

from physics.kernel import forward
from recovery.proofs.bounds import corollary_10, farthest, theorem_9, weights_at
from recovery.sparse import minimise_l1

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


@pytest.mark.parametrize(("sigma", "published"), [(1e-4, 0.017), (1e-3, 0.093), (1e-2, 0.722)])
def test_the_papers_own_inequality_is_no_worse_than_its_first_reckoning(
    sigma: float, published: float
) -> None:
    """One source, T = 0.05, summed exactly; and the linear program is sharper still."""
    bound = theorem_9(CELLS, SENSORS, 0.05, sigma * math.sqrt(50), 0.5)

    assert published / 2 < bound.printed < published
    assert bound.distance < bound.printed


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
    weights = weights_at(sensors, source, spread)
    places = np.linspace(0, 1, 2001)

    assert weights is not None
    assert weights.min() >= 0
    assert np.flatnonzero(weights).tolist() == [0, 1, 3, 4]  # 0.38 and 0.45, 0.58 and 0.62
    weighed = forward(places, sensors, spread).T @ weights
    assert places[weighed.argmax()] == pytest.approx(source, abs=1e-3)


@pytest.mark.parametrize(("spread", "between"), [(0.001, 0.4), (0.002, 0.5)])
@pytest.mark.parametrize("sigma", [0.0, 1e-3, 1e-2])
def test_the_worst_heat_of_two_sources_is_within_the_bound(
    spread: float, between: float, sigma: float
) -> None:
    """No nearer than the way to the nearest source, nor than the middle has moved, by cvxpy."""
    at = [0.5 - between / 2, 0.5 + between / 2]
    operator, radius = forward(CELLS, SENSORS, spread), sigma * math.sqrt(50)
    truth = np.isclose(CELLS[:, None], at).any(axis=1).astype(float)
    bound = theorem_9(CELLS, SENSORS, spread, radius, at)
    away = np.abs(CELLS[:, None] - at).min(axis=1)
    for goal in (away, CELLS - 0.5, 0.5 - CELLS):
        share, scale = cvxpy.Variable(100), cvxpy.Variable()
        far = cvxpy.norm(operator @ share - (operator @ truth) * scale)
        within = [share >= 0, cvxpy.sum(share) == 1, scale >= 0.5, far <= 2 * radius * scale]
        problem = cvxpy.Problem(cvxpy.Maximize(goal @ share), within)
        assert problem.solve(solver=cvxpy.CLARABEL) <= bound.distance + 1e-6
    assert not bound.vacuous


def test_the_farthest_shares_are_those_of_the_linear_program() -> None:
    """By HiGHS, on random prices and distances."""
    world = np.random.default_rng(6)
    for _ in range(25):
        missing, away = world.uniform(0.01, 1, 12), world.uniform(0, 1, 12)
        missing[0] = away[0] = 0.0  # the cell of the source itself
        budget = float(world.uniform(0, 0.6))
        found = linprog(-away, A_ub=[missing], b_ub=[budget], A_eq=[np.ones(12)], b_eq=[1.0])

        assert farthest(budget, missing, away) == pytest.approx(-found.fun, abs=1e-9)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"spread": 0.0}, "how blurred"),
        ({"radius": -1.0}, "at least 0"),
        ({"sources": [0.5, 0.5]}, "must all differ"),
        ({"sources": 1.01}, "must be between the cells"),
        ({"sources": 0.7, "cells": CELLS[:50]}, "must be between the cells"),
        ({"sensors": [0.1, math.nan]}, "not finite"),
        ({"cells": np.zeros((3, 2))}, "along a line"),
    ],
)
def test_what_the_theorem_does_not_speak_of_is_refused(
    change: dict[str, object], complaint: str
) -> None:
    """Each with what was given and what to do."""
    given = {"cells": CELLS, "sensors": SENSORS, "spread": 0.05, "radius": 0.1, "sources": 0.5}

    with pytest.raises(ValueError, match=complaint):
        theorem_9(**{**given, **change})  # type: ignore[arg-type]


def test_a_failure_without_meaning_is_refused() -> None:
    """A chance of one would make the radius nothing."""
    with pytest.raises(ValueError, match="one in twenty"):
        corollary_10(CELLS, SENSORS, 0.05, 0.5, 1, 0.1, failure=1.0)
