"""The most probable map and its crowded cells: strength, evidence and doubt are honest."""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

from edge.core.records import Grid
from recovery.disk import Query, plan, smooth_map
from recovery.disk.average_map import average
from recovery.disk.channel import Channel, channel_of
from recovery.disk.crowded_map import find_crowded, fit, in_blocks
from recovery.disk.em import em, even, gain_of, log_likelihood
from recovery.disk.smooth_map import exponential, posterior


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
    found = smooth_map.prior(shape, order)
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
    found = posterior(channel, counts)
    precision = smooth_map.prior(found.lattice.shape, found.order).precision(
        found.strength, found.level
    )

    def lost(u: np.ndarray) -> float:
        mass = exponential(u).reshape(channel.rows, channel.columns)
        return float(u @ precision @ u) / 2 - log_likelihood(counts, channel.forward(mass))

    other = scipy.optimize.minimize(lost, np.zeros(found.u.size), method="BFGS").fun

    assert lost(found.u) <= other + 0.1


def test_the_strength_is_where_the_evidence_is_greatest() -> None:
    """A strength that is off by a factor must have less; the integral is done by the same law."""
    channel = disk((9, 1), 1)
    waves = np.array([[1.0, 4.0, 1.0, 1.0, 6.0, 5.0, 0.5, 3.0, 2.0]])
    counts = answered(channel, waves / waves.sum(), 30_000, 5)
    found = posterior(channel, counts)
    smooth = smooth_map.prior((1, 9), found.order)

    def evidence(strength: float) -> float:
        """Laplace's integral at a fixed strength, by scipy's optimum and a numeric Hessian."""
        precision = smooth.precision(strength, found.level)

        def height(u: np.ndarray) -> float:
            worth = log_likelihood(counts, channel.forward(exponential(u).reshape(1, 9)))
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


@pytest.mark.long
def test_a_coarse_lattice_gives_nearly_the_same_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large maps are drawn on a lattice: on one that is small enough for both, both agree."""
    channel = disk((20, 16), 6)
    counts = answered(channel, hill(channel), 50_000, 6)
    whole = posterior(channel, counts)
    monkeypatch.setattr(smooth_map, "_PLACES_MAX", 90)
    coarse = posterior(channel, counts)

    assert coarse.lattice.step == 2
    assert coarse.mass.shape == (16, 20)
    assert abs(coarse.mass - whole.mass).sum() / 2 < 0.02
    monkeypatch.undo()
    assert smooth_map.deviations(coarse).sum() == pytest.approx(
        smooth_map.deviations(posterior(channel, counts)).sum(), rel=0.2
    )


# Orders are compared by one likelihood, that of the cells, and left out where all is lost.


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
@pytest.mark.parametrize("places", [24 * 24, 90])
def test_each_order_has_the_cells_likelihood(monkeypatch: pytest.MonkeyPatch, places: int) -> None:
    """Also on a lattice, where they are fitted to blocks first, and not the best of them alone."""
    monkeypatch.setattr(smooth_map, "_PLACES_MAX", places)
    channel, counts = edged()
    best = posterior(channel, counts)

    assert best.lattice.block == (1 if places > 320 else 2)
    assert {best.order, *(one.order for one in best.rivals)} == set(smooth_map.ORDERS)
    for one in (best, *best.rivals):
        smooth = smooth_map.prior(one.lattice.shape, one.order)
        precision = smooth.precision(one.strength, one.level)
        worth = log_likelihood(counts, channel.forward(one.mass))
        assert one.height == pytest.approx(worth - one.u @ precision @ one.u / 2, abs=1e-6)
        whole = smooth.log_determinant(one.strength, one.level) / 2
        whole -= float(np.log(np.diag(one.factor)).sum())
        assert one.evidence == pytest.approx(one.height + whole, abs=1e-6)


@pytest.mark.long
def test_a_lattice_has_about_the_evidence_of_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all strengths, too: the blocks' own likelihood is thousands of nats from the cells'."""
    channel, counts = edged()
    found = []
    for places in (24 * 24, 90):
        monkeypatch.setattr(smooth_map, "_PLACES_MAX", places)
        best = posterior(channel, counts)
        found.append({one.order: one.overall for one in (best, *best.rivals)})

    assert found[1] == pytest.approx(found[0], abs=10)


@pytest.mark.parametrize("order", smooth_map.ORDERS)
@pytest.mark.parametrize("epsilon", [2, 5])
def test_no_step_leads_away_from_the_summit(order: int, epsilon: int) -> None:
    """To a lone cell the way is long, and whole steps overshoot: the truth must be no likelier."""
    planned = plan(Query(Grid((6, 5), 1000), (epsilon, 1), radius=1), [])
    assert planned is not None
    channel, mass = channel_of(planned), np.full((5, 6), 0.4 / 30)
    mass[0, 3] += 0.6
    counts = np.round(200_000 * channel.forward(mass))
    places, smooth = smooth_map.lattice(channel), smooth_map.prior((5, 6), order)
    seen = smooth_map.count_blocks(channel, counts, 1)
    found = smooth_map.fit(places, seen, smooth, np.zeros(30))
    true = np.log(mass).ravel() - np.log(mass).mean()
    bent = float(true @ smooth.precision(found.strength, found.level) @ true) / 2

    assert found.height >= log_likelihood(counts, channel.forward(mass)) - bent - 1e-6


# What is held before any answer: no direction is favoured, and a lattice is where it says.


@pytest.mark.parametrize("order", smooth_map.ORDERS)
def test_a_wave_is_as_rough_in_every_direction(order: int) -> None:
    """A power of the distance along a line, turned: its derivatives of that order add to one."""
    rough = smooth_map.prior((24, 24), order).rough
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
    places = smooth_map.lattice(channel_of(planned))
    slope = np.add.outer(0.7 * np.arange(shape[1]), -0.2 * np.arange(shape[0]))
    cells = in_blocks(np.ones_like(slope), places.step)
    means = in_blocks(slope, places.step) / cells

    assert places.step > 1
    assert places.spread(means.ravel()) == pytest.approx(slope)


# Crowded cells: that they are found, that their evidence is an integral, their doubt honest.


def crowd(channel: Channel, cells: dict[int, float]) -> np.ndarray:
    """So much in some cells, and the rest even."""
    mass = (1 - sum(cells.values())) * even(channel)
    for cell, share in cells.items():
        mass.flat[cell] += share
    return mass


@pytest.mark.parametrize(
    "cells", [{}, {33: 1.0}, {33: 0.5, 60: 0.5}, {5: 0.3, 6: 0.2, 40: 0.1}, {0: 0.4, 79: 0.1}]
)
def test_it_finds_who_stands_where(cells: dict[int, float]) -> None:
    """Next to each other, in corners, all of the people or some; and nobody where none crowd."""
    channel = disk((10, 8), 2, 3)
    found = find_crowded(
        channel, answered(channel, crowd(channel, cells), 500_000, 1), even(channel)
    )

    assert set(found.cells) == set(cells)
    assert found.mass == pytest.approx(crowd(channel, cells), abs=0.01)


def test_the_evidence_of_one_cell_is_its_integral() -> None:
    """Over its weight, by quadrature; a cell of N costs ln N, and that there is one ln 4."""
    channel = disk((5, 4), 1)
    counts = answered(channel, crowd(channel, {7: 0.4}), 3_000, 2)
    found = find_crowded(channel, counts, even(channel))
    unit = crowd(channel, {7: 1.0})
    laws = channel.forward(even(channel)), channel.forward(unit)

    def worth(share: float) -> float:
        return log_likelihood(counts, (1 - share) * laws[0] + share * laws[1])

    top = worth(found.weights[1])
    whole, _ = scipy.integrate.quad(lambda share: math.exp(worth(share) - top), 0, 1, points=[0.4])
    assert found.cells == (7,)
    assert found.evidence == pytest.approx(top + math.log(whole / 20 / 4), abs=0.05)


# Crowded cells against every cell and every weight that there may be, one by one.


def small(shape: tuple[int, int], epsilon: tuple[int, int], radius: int | None = 1) -> Channel:
    planned = plan(Query(Grid(shape, 1000), epsilon, radius=radius), [])
    assert planned is not None
    return channel_of(planned)


def counted(law: np.ndarray, reports: int, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).multinomial(reports, (law / law.sum()).ravel())
    return np.asarray(drawn.reshape(law.shape), dtype=np.float64)


def alone(channel: Channel) -> list[np.ndarray]:
    """The law of each cell."""
    shape = channel.rows * channel.columns, channel.rows, channel.columns
    return [channel.forward(one) for one in np.eye(shape[0]).reshape(shape)]


@pytest.mark.parametrize("seed", [1, 2, 7])
def test_one_cell_is_as_sure_as_the_sum_over_all_cells_says(seed: int) -> None:
    """Of few people, who may stand in another: evidence, place, spread, all by quadrature."""
    channel = small((5, 4), (2, 1))
    ground, each = channel.forward(even(channel)), alone(channel)
    counts = counted((ground + each[7]) / 2, 40, seed)
    found = find_crowded(channel, counts, even(channel))
    top = log_likelihood(counts, ground)

    def moment(power: int, law: np.ndarray) -> float:
        """Of the weight of one cell, even beforehand."""

        def worth(weight: float) -> float:
            mixed = log_likelihood(counts, (1 - weight) * ground + weight * law)
            return weight**power * math.exp(mixed - top)

        return float(scipy.integrate.quad(worth, 0, 1)[0])

    zeroth, first, second = (np.array([moment(k, law) for law in each]) for k in range(3))
    whole = zeroth.sum()
    # The share of a cell is (1 - w) / 20 of the ground, and w besides if it is the one.
    mean = (whole - first.sum()) / 20 + first
    square = (whole - 2 * first.sum() + second.sum()) / 400 + (first - second) / 10 + second
    variance = square / whole - (mean / whole) ** 2

    assert len(found.cells) == 1
    assert found.evidence - top == pytest.approx(math.log(whole / 20 / 4), abs=0.1)
    assert found.places[0] == pytest.approx(zeroth / whole, abs=0.1)
    assert found.variances.sum() == pytest.approx(variance.sum(), rel=0.3)


def test_the_evidence_of_two_cells_is_an_integral_over_their_simplex() -> None:
    """Whose even density is two, not one; and which two of twenty costs ln 190."""
    channel = small((5, 4), (2, 1))
    each = [channel.forward(even(channel)), *(alone(channel)[cell] for cell in (7, 13))]
    counts = counted(np.tensordot([0.5, 0.3, 0.2], each, 1), 3_000, 2)
    found = find_crowded(channel, counts, even(channel))

    def worth(one: float, other: float) -> float:
        return log_likelihood(counts, np.tensordot([1 - one - other, one, other], each, 1))

    top = worth(*found.weights[1:])
    whole, _ = scipy.integrate.dblquad(
        lambda other, one: 2 * math.exp(worth(one, other) - top), 0.1, 0.5, 0.05, 0.45, epsrel=1e-3
    )
    assert sorted(found.cells) == [7, 13]
    assert found.evidence == pytest.approx(top + math.log(whole / 190 / 8), abs=0.05)


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [(1, 2), (1, 1)])
@pytest.mark.parametrize("reports", [5, 20])
@pytest.mark.parametrize("seed", range(4))
def test_of_few_answers_there_is_no_more_evidence_than_likelihood(
    epsilon: tuple[int, int], reports: int, seed: int
) -> None:
    """An average over maps is at most their best; a share between nought and one has a sd of half.

    Both hold of whatever there is to know, and a bell wider than the simplex breaks either.
    """
    channel = small((10, 10), epsilon, None)
    counts = counted(channel.forward(even(channel)), reports, seed)
    most = em(channel, counts, gain=1e-3).log_likelihood
    found = find_crowded(channel, counts, even(channel))
    sd = average(channel, counts, gain_of(epsilon[0] / epsilon[1])).sd

    assert len(set(found.cells)) == len(found.cells)
    assert found.evidence <= most
    assert sd is not None
    assert sd.max() <= 0.5


# The likeliest weights of laws: as likely as a slower, other method makes them.


def problem(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Laws that are nearly alike, (answers, laws), and counts drawn of some of them."""
    world = np.random.default_rng(seed)
    laws = world.dirichlet(np.full(40, 3.0), size=count).T + 0.02
    laws /= laws.sum(axis=0)
    weights = np.zeros(count)
    weights[:2] = (0.7, 0.3) if count > 1 else 1.0
    return laws, world.multinomial(5_000, laws @ weights) + 1.0


@pytest.mark.parametrize("count", [1, 2, 5, 9])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_other_weights_are_likelier(count: int, seed: int) -> None:
    """Expectation maximisation, thousands of its steps, gets no higher."""
    laws, counts = problem(count, seed)
    found = fit(laws, counts, np.full(count, 1 / count))
    slow = np.full(count, 1 / count)
    for _ in range(5_000):
        slow *= laws.T @ (counts / (laws @ slow)) / counts.sum()

    def worth(weights: np.ndarray) -> float:
        return float(counts @ np.log(laws @ weights))

    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    assert worth(found) >= worth(slow) - 0.01
    # And what is left out would not be missed: no law has more than its share (Lindsay 1983).
    assert (laws.T @ (counts / (laws @ found)) <= counts.sum() + 0.5).all()
