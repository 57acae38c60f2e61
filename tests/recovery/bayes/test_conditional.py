"""Many posteriors made one: each has the say that its chance gives it."""

from dataclasses import replace

import numpy as np
import pytest

from physics.kernel import forward
from recovery.bayes.chain import Draws
from recovery.bayes.exact import Exact
from recovery.bayes.unknown_physics import (
    Conditional,
    conditional,
    curves,
    mixed,
    pooled,
    together,
)
from recovery.estimators.record import Prior, Seen

CELLS, SENSORS = np.arange(1, 21) / 20, np.arange(1, 13) / 12
PRIOR = Prior(0, 3)


def parts(count: int) -> tuple[Seen, list[Conditional], np.ndarray]:
    """The same readings at so many spreads, some much likelier than others."""
    spreads = np.geomspace(0.02, 0.1, count)
    noise = np.random.default_rng(4).normal(size=12)
    readings = forward(CELLS, SENSORS, 0.05)[:, [4, 13]].sum(axis=1) + 0.8 * noise
    given = Seen(forward(CELLS, SENSORS, 0.05), readings, 0.8, CELLS[:, None], (1, 20), PRIOR)
    made = [conditional(replace(given, operator=forward(CELLS, SENSORS, s))) for s in spreads]
    chances = np.linspace(1, 4, count)
    return given, made, chances / chances.sum()


@pytest.mark.parametrize("count", [1, 2, 60])
def test_curves_of_all_parts_have_the_chances_of_all_parts(count: int) -> None:
    """By the mixture's own chances of the first, second and third source in each cell."""
    given, made, chances = parts(count)
    exact = mixed([part.posterior for part in made if isinstance(part.posterior, Exact)], chances)

    found = curves(given, made, chances)

    assert len(found) == 320
    some = 1 - exact.numbers[0]
    assert np.abs(found.mean(axis=0) - np.cumsum(exact.mean_measure)).max() < 0.02
    full = sum(exact.numbers[k] * np.cumsum(exact.orders[k][-1]) for k in (1, 2, 3)) / some
    assert np.abs((found > 1 - 1e-9).mean(axis=0) - full).max() < 0.04
    empty = sum(exact.numbers[k] * np.cumsum(exact.orders[k][0]) for k in (1, 2, 3)) / some
    assert np.abs((found > 1e-9).mean(axis=0) - empty).max() < 0.04


def test_the_band_of_all_parts_holds_whole_curves_of_each() -> None:
    """Nine in ten of the curves that stand for the mixture, as near as few shares allow."""
    given, made, chances = parts(60)
    credible = together(given, made, chances).credible

    assert credible is not None
    assert credible.band is not None
    low, high = credible.band.low - 1e-9, credible.band.high + 1e-9
    inside = ((low <= curves(given, made, chances)) & (curves(given, made, chances) <= high)).all(
        1
    )
    assert inside.mean() == pytest.approx(0.9, abs=0.03)


def test_certainly_nothing_is_an_empty_map() -> None:
    """No curve stands for what has none."""
    given, _, _ = parts(1)
    given = replace(given, prior=Prior(0, 2), readings=np.zeros(12), sigma=1e-3)
    found = together(given, [conditional(given)], np.ones(1))

    assert found.status.startswith("no estimate")


@pytest.mark.parametrize("chances", [(0.5, 0.3, 0.2), (0.98, 0.01, 0.01), (1 / 3, 1 / 3, 1 / 3)])
def test_draws_of_each_part_are_as_many_as_its_chance_and_none_is_there_twice(
    chances: tuple[float, ...],
) -> None:
    """A draw that is there twice is its own neighbour, and the band would be too narrow."""
    many = [
        Draws(np.full((50, 1), place), np.arange(1, 51)[:, None] * 1.0, 0.0) for place in range(3)
    ]

    made = pooled(many, np.array(chances))

    shares = np.bincount(made.cells[:, 0], minlength=3) / len(made.cells)
    assert shares == pytest.approx(chances, abs=1.5 / len(made.cells))
    assert len(made.cells) >= 50
    for place in range(3):
        powers = made.powers[made.cells[:, 0] == place]
        assert len(np.unique(powers)) == len(powers)
