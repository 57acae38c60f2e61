"""The estimators that are convex programs, against cvxpy and against what they promise."""

from dataclasses import replace

import cvxpy
import numpy as np
import pytest
from scipy.optimize import lsq_linear

from recovery.estimators import convex
from recovery.estimators.convex import estimate_as_printed, estimate_by_lasso, fit_bounded

SEEDS = (1, 2, 3)


def least(seen, price=0.0):
    """The least objective as cvxpy finds it, from the readings and cells as they come."""
    free = np.ones(seen.operator.shape[1], dtype=bool) if seen.open is None else seen.open
    heat = cvxpy.Variable(seen.operator.shape[1])
    cost = cvxpy.sum_squares(seen.operator @ heat - seen.readings) / 2 + price * cvxpy.sum(heat)
    bounds = [heat >= 0, heat <= seen.upper * free]
    problem = cvxpy.Problem(cvxpy.Minimize(cost), bounds)
    problem.solve(solver=cvxpy.CLARABEL)
    return problem.value


def objective(seen, found, price=0.0):
    heat = found.heat
    misfit = np.sum((seen.operator @ heat - seen.readings) ** 2) / 2
    return misfit + price * heat.sum()


def scenes(line, plane):
    """Line and plane, with furniture and without, at little noise and much."""
    for seed in SEEDS:
        yield line(seed, sigma=0.05)[1]
        yield line(seed, sources=3, sigma=0.6, furniture=True)[1]
        yield plane(seed)[1]
        yield plane(seed, furniture=True)[1]


def test_the_lasso_is_cvxpys(line, plane) -> None:
    """Same objective, nothing on the furniture, and a gap that is true."""
    for seen in scenes(line, plane):
        price = (
            seen.sigma
            * np.linalg.norm(
                seen.operator[:, slice(None) if seen.open is None else seen.open], axis=0
            ).max()
        )
        found = estimate_by_lasso(seen)
        value = least(seen, price)

        assert found.status == "optimal"
        assert objective(seen, found, price) == pytest.approx(value, rel=1e-6)
        assert objective(seen, found, price) <= value + found.gap + 1e-6 * value
        assert found.heat.min() >= 0
        assert seen.open is None or not found.heat[~seen.open].any()


def test_the_printed_radius_leaves_nothing_in_a_third_of_the_runs(line) -> None:
    """And says so; the quantile's fails as seldom as it is told to."""
    seen = [line(seed, sigma=0.3)[1] for seed in range(60)]
    printed = [estimate_as_printed(one).status.split(":")[0] for one in seen]
    repaired = [convex.estimate_by_l1(one).status.split(":")[0] for one in seen]

    assert 10 <= printed.count("infeasible") <= 30
    assert repaired.count("infeasible") <= 6


def test_silence_is_no_estimate(line) -> None:
    """Readings of nothing but nought have no heat, and no estimator fails on them."""
    _, seen = line(1)
    silent = replace(seen, readings=np.zeros(len(seen.readings)))
    for estimate in (estimate_by_lasso, convex.estimate_by_l1, estimate_as_printed):
        found = estimate(silent)

        assert found.status.startswith("no estimate")
        assert not found.heat.any()


def test_a_solver_that_gives_up_is_not_believed(line, monkeypatch) -> None:
    """The gap is our own, so heat that is not the least says so."""
    _, seen = line(1)

    def worse(operator: np.ndarray, *_) -> np.ndarray:
        return np.full(operator.shape[1], 0.05)

    monkeypatch.setattr(convex, "fit_bounded", worse)
    assert estimate_by_lasso(seen).status.startswith("inaccurate")


@pytest.mark.long
def test_the_active_set_is_exact_and_scipys(line, plane) -> None:
    """Bounds that bind, prices and none, more cells than directions: scipy's own active set."""
    for seed in range(8):
        for seen in (line(seed, 3, sigma=0.3)[1], line(seed, sigma=0.01)[1], plane(seed)[1]):
            for upper in (0.2, 1.0, 50.0):
                heat = fit_bounded(seen.operator, seen.readings, upper, 0.0)
                other = lsq_linear(seen.operator, seen.readings, (0, upper), "bvls", tol=1e-14)
                least = np.sum((seen.operator @ heat - seen.readings) ** 2) / 2

                assert heat.min() >= 0
                assert heat.max() <= upper
                assert least <= other.cost + 1e-9 * seen.readings @ seen.readings
                for price in (0.1, 3.0):
                    heat = fit_bounded(seen.operator, seen.readings, upper, price)
                    pull = seen.operator.T @ (seen.readings - seen.operator @ heat) - price
                    scale = 1e-9 * np.abs(seen.operator.T @ seen.readings).max()
                    assert pull[heat < upper].max() <= scale
                    assert heat.max() == 0 or pull[heat > 0].min() >= -scale
