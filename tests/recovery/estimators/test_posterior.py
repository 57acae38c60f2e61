"""The posterior's map: right as often as it says, and nearer than the least heat."""

from dataclasses import replace

import numpy as np
import pytest

from physics.kernel import forward
from recovery.distance import earth_movers
from recovery.estimators.posterior import estimate
from recovery.estimators.record import Prior, Seen
from recovery.sparse import minimise_l1

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


@pytest.mark.long
def test_a_plane_is_twice_as_near_as_the_least_heat() -> None:
    """The same readings, at epsilon 4 with exact noise; half a cell's side is 0.025."""
    ours, least = [], []
    for trial in range(10):
        seen, heat = plane(1.2, trial, Prior(2, 2))
        found = minimise_l1(seen.operator, seen.readings, 12.0).heat
        found[found < 1e-3 * found.max()] = 0
        truth = heat.reshape(20, 20)
        ours.append(earth_movers(estimate(seen).heat.reshape(20, 20), truth, normalise=True))
        least.append(earth_movers(found.reshape(20, 20), truth, normalise=True))

    assert np.mean(ours) < np.mean(least) / 2
    assert np.mean(ours) < 0.07


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
        assert sure is not None
        assert sure.band is not None
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


def test_a_wrong_noise_is_not_right_as_often() -> None:
    """Readings blurred twice as much as was said: the map's error is larger than it says."""
    said = seen_to_be = 0.0
    for trial in range(40):
        seen, heat = line(2, 0.6, trial, Prior(2, 2))
        found = estimate(replace(seen, sigma=0.3))
        assert found.credible is not None
        said += found.credible.expected_error
        seen_to_be += earth_movers(found.heat, heat, normalise=True)

    assert seen_to_be > 1.25 * said


def test_the_heat_is_of_whole_sources_in_open_cells() -> None:
    """Known heat and furniture: all of the heat, and none where nothing can be."""
    prior = Prior(2, 2, warmest=3.0, coolest=3.0)
    seen, _ = line(2, 0.3, 5, prior)
    allowed = np.arange(100) % 7 != 3

    found = estimate(replace(seen, open=allowed))

    assert found.status == "optimal"
    assert found.heat.sum() == pytest.approx(6.0)
    assert not found.heat[~allowed].any()
    assert found.credible is not None
    assert not found.credible.present[0, ~allowed].any()
    assert found.credible.numbers == pytest.approx([0, 0, 1])
    assert found.residual == pytest.approx(np.linalg.norm(PAPER @ found.heat - seen.readings))
