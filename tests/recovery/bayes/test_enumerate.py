"""A posterior that is written out whole, and what is held against it."""

import itertools
import math
from dataclasses import dataclass
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray

from physics.kernel import forward
from recovery.bayes.exact import exact_posterior, scores
from recovery.estimators.record import Seen

# The posterior of a few sources by looking at every scene there is: the oracle of samplers.

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Everything:
    """What all scenes together say: chances of numbers and of cells, mean shares, evidence."""

    numbers: Floats
    present: Floats
    mean_share: Floats
    log_evidence: float


def brute_force(seen: Seen, low: float, points: int = 1) -> Everything:
    """Weigh every set of open cells, with powers at the middles of so many even intervals."""
    cells = seen.operator.shape[1]
    found = range(cells) if seen.open is None else np.flatnonzero(seen.open)
    prior = seen.prior
    steps = low + (prior.warmest - low) * (np.arange(points) + 0.5) / points
    logs, shares, present, numbers = [], [], [], []
    for number in range(prior.fewest, prior.most + 1):
        heats = np.array(list(product(steps, repeat=number))).reshape(points**number, number)
        weight = -np.log(prior.most - prior.fewest + 1) - np.log(comb(len(found), number))
        for some in combinations(found, number):
            left = seen.readings - heats @ seen.operator[:, list(some)].T
            fit = -0.5 * np.square(left).sum(axis=1) / seen.sigma**2
            top = fit.max()
            chance = np.exp(fit - top)
            logs.append(top + np.log(chance.mean()) + weight)
            heat = np.zeros(cells)
            if number:
                heat[list(some)] = chance @ (heats / heats.sum(axis=1, keepdims=True))
                heat /= chance.sum()
            shares.append(np.cumsum(heat))
            numbers.append(number)
            present.append(np.isin(np.arange(cells), some))
    weights = np.exp(np.array(logs) - max(logs))
    total = weights.sum()
    weights /= total
    return Everything(
        np.bincount(numbers, weights, prior.most + 1),
        weights @ np.array(present, dtype=float),
        weights @ np.array(shares),
        float(max(logs) + np.log(total)),
    )


# The exact posterior along a line, against every set weighed by itself.

CELLS = 13
SENSORS = np.arange(1, 11) / 10


def scene(
    number: int, sigma: float, spread: float = 0.05, heat: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """An operator and its blurred readings of so many sources."""
    world = np.random.default_rng([number, int(1000 * sigma)])
    operator = forward(np.arange(1, CELLS + 1) / CELLS, SENSORS, spread)
    there = world.choice(CELLS, number, replace=False)
    return operator, heat * operator[:, there].sum(axis=1) + sigma * world.normal(size=10)


def brute(
    operator: np.ndarray,
    readings: np.ndarray,
    sigma: float,
    numbers: range,
    heat: float = 1.0,
    open_cells: list[int] | None = None,
) -> tuple[dict[tuple[int, ...], float], float]:
    """The chance of every set by the normal density itself, and the evidence's logarithm."""
    cells = range(operator.shape[1]) if open_cells is None else open_cells
    logs = {}
    for number in numbers:
        sets = list(itertools.combinations(cells, number))
        for one in sets:
            off = readings - heat * operator[:, list(one)].sum(axis=1)
            log = -((off @ off) - readings @ readings) / (2 * sigma**2)
            logs[one] = log - math.log(len(sets)) - math.log(len(numbers))
    highest = max(logs.values())
    total = sum(math.exp(log - highest) for log in logs.values())
    chances = {one: math.exp(log - highest) / total for one, log in logs.items()}
    return chances, highest + math.log(total)


def orders_of(chances: dict[tuple[int, ...], float], number: int) -> np.ndarray:
    """Where the first, second, ... of so many sources is."""
    orders = np.zeros((number, CELLS))
    for one, chance in chances.items():
        if len(one) == number:
            orders[range(number), list(one)] += chance
    return orders / max(orders[:1].sum(), 1e-300)


@pytest.mark.parametrize("sigma", [10, 0.7, 0.17, 0.07, 0.02, 0.002])
@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_every_set_is_weighed(number: int, sigma: float) -> None:
    """In all noise: the sums by products, by tables, and with hopeless sets passed over."""
    operator, readings = scene(number, sigma)
    chances, evidence = brute(operator, readings, sigma, range(number, number + 1))

    exact = exact_posterior(scores(operator, readings, sigma, 1.0), number, number)

    assert exact.orders[number] == pytest.approx(orders_of(chances, number), abs=1e-9)
    assert exact.log_evidence == pytest.approx(evidence, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("sigma", [2.0, 0.3, 0.05])
def test_an_unknown_number_is_weighed_too(sigma: float) -> None:
    """None to four, each as likely as any other before the readings."""
    operator, readings = scene(2, sigma)
    chances, evidence = brute(operator, readings, sigma, range(5))
    numbers = [sum(c for one, c in chances.items() if len(one) == k) for k in range(5)]
    present = [sum(c for one, c in chances.items() if cell in one) for cell in range(CELLS)]

    exact = exact_posterior(scores(operator, readings, sigma, 1.0), 0, 4)

    assert exact.numbers == pytest.approx(numbers, abs=1e-10)
    assert exact.present == pytest.approx(present, abs=1e-10)
    assert exact.log_evidence == pytest.approx(evidence, rel=1e-10)


def test_hopeless_readings_do_not_overflow() -> None:
    """Readings that no scene explains, of sensors that hardly feel one another's cells."""
    operator = forward(np.arange(1, CELLS + 1) / CELLS, SENSORS, 1e-4)
    readings = np.where(np.arange(10) == 4, 400.0, -300.0)
    chances, evidence = brute(operator, readings, 1.0, range(4, 5))

    exact = exact_posterior(scores(operator, readings, 1.0, 1.0), 4, 4)

    assert exact.orders[4] == pytest.approx(orders_of(chances, 4), abs=1e-9)
    assert exact.log_evidence == pytest.approx(evidence, rel=1e-9)


def test_fewer_open_cells_than_sources_leave_fewer_sources() -> None:
    """Two open cells hold no three sources; and where there must be three, that is said."""
    operator, readings = scene(1, 0.3)
    allowed = np.arange(CELLS) < 2

    exact = exact_posterior(scores(operator, readings, 0.3, 1.0), 1, 4, allowed)

    assert len(exact.numbers) == 3
    with pytest.raises(ValueError, match="3 to 2 sources in 2 open cells"):
        exact_posterior(scores(operator, readings, 0.3, 1.0), 3, 4, allowed)
