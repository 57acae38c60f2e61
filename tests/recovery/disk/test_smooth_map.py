"""The most probable map: its strength and its evidence are honest."""

import math

import numpy as np
import pytest
import scipy.optimize

from edge.core.records import Grid
from recovery.disk import Query, plan, smooth_map
from recovery.disk.channel import Channel, channel_of, sum_answers, sum_blocks
from recovery.disk.em import log_likelihood
from recovery.disk.smooth_map import fit_posterior, softmax


def disk(shape: tuple[int, int], radius: int | None = None, epsilon: int = 2) -> Channel:
    planned = plan(Query(Grid(shape, 1000), (epsilon, 1), radius=radius), [])
    assert planned is not None
    return channel_of(planned)


def hill(channel: Channel) -> np.ndarray:
    """A round hill off the middle, a third of the grid wide."""
    y, x = np.indices((channel.rows, channel.columns))
    wide = max(channel.rows, channel.columns) / 5
    far = (y - 0.4 * channel.rows) ** 2 + (x - 0.6 * channel.columns) ** 2
    mass = np.exp(-far / 2 / wide**2)
    return np.asarray(mass / mass.sum())


def answered(channel: Channel, mass: np.ndarray, reports: int, seed: int) -> np.ndarray:
    law = channel.forward(mass)
    drawn = np.random.default_rng(seed).multinomial(reports, (law / law.sum()).ravel())
    return np.asarray(drawn.reshape(law.shape), dtype=np.float64)


@pytest.mark.parametrize("shape", [(6, 5), (9, 1), (1, 7), (2, 6), (2, 2)])
@pytest.mark.parametrize("order", smooth_map.ORDERS)
def test_what_a_prior_does_not_see_are_polynomials(shape: tuple[int, int], order: int) -> None:
    """Order 3 leaves the logarithm of a normal density alone, and nothing rougher."""
    found = smooth_map.make_prior(shape, order)
    y, x = np.indices(shape).reshape(2, -1) / max(shape)
    for i in range(4):
        for j in range(4):
            wave = x**j * y**i
            seen = float(wave @ found.rough @ wave)
            if i + j < order:
                assert seen == pytest.approx(0, abs=1e-9)
    values = np.linalg.eigvalsh(found.rough)
    positive = values[values > 1e-9 * max(values[-1], 1e-30)]
    assert len(positive) == found.rank
    assert np.log(positive).sum() == pytest.approx(found.log_volume, abs=1e-6)
    # Strength, level and the pin of the constant: as many directions as there are places.
    whole = np.linalg.slogdet(found.precision(3.0, 0.2))[1]
    assert found.log_determinant(3.0, 0.2) == pytest.approx(whole, abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("shape", [(4, 3), (8, 1)])
def test_no_other_map_is_more_probable(shape: tuple[int, int]) -> None:
    """Scipy climbs the same hill from elsewhere, without our derivatives, and gets no higher."""
    channel = disk(shape, 1)
    counts = answered(channel, hill(channel), 2_000, 4)
    found = fit_posterior(channel, counts)
    precision = smooth_map.make_prior(found.lattice.shape, found.order).precision(
        found.strength, found.level
    )

    def lost(u: np.ndarray) -> float:
        mass = softmax(u).reshape(channel.rows, channel.columns)
        return float(u @ precision @ u) / 2 - log_likelihood(counts, channel.forward(mass))

    other = scipy.optimize.minimize(lost, np.zeros(found.u.size), method="BFGS").fun

    assert lost(found.u) <= other + 0.1


def test_the_strength_is_where_the_evidence_is_greatest() -> None:
    """A strength that is off by a factor must have less; the integral is done by the same law."""
    channel = disk((9, 1), 1)
    waves = np.array([[1.0, 4.0, 1.0, 1.0, 6.0, 5.0, 0.5, 3.0, 2.0]])
    counts = answered(channel, waves / waves.sum(), 30_000, 5)
    found = fit_posterior(channel, counts)
    smooth = smooth_map.make_prior((1, 9), found.order)

    def evidence(strength: float) -> float:
        """Laplace's integral at a fixed strength, by scipy's optimum and a numeric Hessian."""
        precision = smooth.precision(strength, found.level)

        def height(u: np.ndarray) -> float:
            worth = log_likelihood(counts, channel.forward(softmax(u).reshape(1, 9)))
            return worth - float(u @ precision @ u) / 2

        best = scipy.optimize.minimize(lambda u: -height(u), found.u, method="BFGS").x
        step, size = 1e-3, len(best)
        eye = step * np.eye(size)
        curved = [
            [
                height(best + a + b) - height(best + a - b) - height(best - a + b)
                + height(best - a - b)
                for b in eye
            ]
            for a in eye
        ]  # fmt: skip
        bent = -np.array(curved) / 4 / step**2
        whole = smooth.log_determinant(strength, found.level) - np.linalg.slogdet(bent)[1]
        return height(best) + float(whole) / 2

    here = evidence(found.strength)

    assert here == pytest.approx(found.evidence, abs=0.5)
    assert here > evidence(found.strength / 20) + 0.5
    assert here > evidence(found.strength * 20) + 0.5


# Orders are compared by one likelihood, that of the cells.


def edged(seed: int = 6) -> tuple[Channel, np.ndarray]:
    """A hill on 20 x 16 cells with an edge through it, and 50 000 answers."""
    planned = plan(Query(Grid((20, 16), 1000), (2, 1), radius=6), [])
    assert planned is not None
    channel = channel_of(planned)
    y, x = np.indices((16, 20))
    mass = np.exp(-((y - 6) ** 2 + (x - 12) ** 2) / 24) * (1 + 3 * (x > 9))
    law = channel.forward(mass / mass.sum())
    drawn = np.random.default_rng(seed).multinomial(50_000, (law / law.sum()).ravel())
    return channel, np.asarray(drawn.reshape(law.shape), dtype=np.float64)


@pytest.mark.long
def test_a_lattice_has_about_the_evidence_of_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks' own likelihood is thousands of nats from the cells'."""
    channel, counts = edged()
    whole = fit_posterior(channel, counts)
    monkeypatch.setattr(smooth_map, "_PLACES_MAX", 90)
    coarse = fit_posterior(channel, counts)

    assert coarse.order == whole.order
    assert coarse.evidence == pytest.approx(whole.evidence, abs=10)


@pytest.mark.parametrize("order", smooth_map.ORDERS)
@pytest.mark.parametrize("epsilon", [2, 5])
def test_no_step_leads_away_from_the_summit(order: int, epsilon: int) -> None:
    """To a lone cell the way is long, and whole steps overshoot: the truth must be no likelier."""
    planned = plan(Query(Grid((6, 5), 1000), (epsilon, 1), radius=1), [])
    assert planned is not None
    channel, mass = channel_of(planned), np.full((5, 6), 0.4 / 30)
    mass[0, 3] += 0.6
    counts = np.round(200_000 * channel.forward(mass))
    places, smooth = smooth_map.make_lattice(channel), smooth_map.make_prior((5, 6), order)
    seen = sum_answers(channel, counts, 1)
    found = smooth_map.fit_order(places, seen, smooth, np.zeros(30))
    true = np.log(mass).ravel() - np.log(mass).mean()
    bent = float(true @ smooth.precision(found.strength, found.level) @ true) / 2

    assert found.height >= log_likelihood(counts, channel.forward(mass)) - bent - 1e-6


# What is held before any answer: no direction is favoured, and a lattice is where it says.


@pytest.mark.parametrize("order", smooth_map.ORDERS)
def test_a_wave_is_as_rough_in_every_direction(order: int) -> None:
    """A power of the distance along a line, turned: its derivatives of that order add to one."""
    rough = smooth_map.make_prior((24, 24), order).rough
    y, x = np.indices((24, 24)) / 24

    def seen(turn: float) -> float:
        wave = ((x * math.cos(turn) + y * math.sin(turn)) ** order).ravel()
        return float(wave @ rough @ wave)

    # But for the differences that the border has no room for, which are a few in a thousand.
    assert [seen(turn) for turn in (0.3, math.pi / 4, 2.0)] == pytest.approx(
        3 * [seen(0)], rel=5e-3
    )


@pytest.mark.parametrize("shape", [(20, 16), (19, 15), (17, 23)])
def test_a_slope_on_a_lattice_is_the_same_slope_in_the_cells(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]
) -> None:
    """The mean over a place's square of cells is what the place has, the smaller last ones too."""
    monkeypatch.setattr(smooth_map, "_PLACES_MAX", 90)
    planned = plan(Query(Grid(shape, 1000), (2, 1), radius=6), [])
    assert planned is not None
    places = smooth_map.make_lattice(channel_of(planned))
    slope = np.add.outer(0.7 * np.arange(shape[1]), -0.2 * np.arange(shape[0]))
    cells = sum_blocks(np.ones_like(slope), places.step)
    means = sum_blocks(slope, places.step) / cells

    assert places.step > 1
    assert places.spread(means.ravel()) == pytest.approx(slope)
