"""What share a block may hold: by hand, by another solver, and as often as it says."""

import math

import numpy as np
import pytest
import scipy

from edge.core.records import Grid
from recovery.disk import Query, plan, profile
from recovery.disk import channel as channels
from recovery.disk.channel import Channel, channel_of
from recovery.disk.em import run_em_fast
from recovery.disk.profile import Profile, find_blocks
from recovery.maps.heatmap import BLANK, HATCHED, SOLID, Blocks


def channel_at(shape: tuple[int, int], epsilon: tuple[int, int], radius: int = 1) -> Channel:
    planned = plan(Query(Grid(shape, 0), epsilon, scheme="wave", radius=radius), [])
    assert planned is not None
    return channel_of(planned)


def answers(channel: Channel, truth: np.ndarray, reports: int, world: np.random.Generator):
    law = channel.forward(truth / truth.sum())
    return world.multinomial(reports, (law / law.sum()).ravel()).reshape(law.shape).astype(float)


def profile_of(channel: Channel, counts: np.ndarray, level: float = 0.9) -> Profile:
    return Profile(channel, counts, run_em_fast(channel, counts, gain=0.01).mass, level)


Q = 2.705543  # the quantile of chi-square with one degree of freedom at .9


def only(size: int, *cells: int) -> np.ndarray:
    block = np.zeros(size, dtype=bool)
    block[list(cells)] = True
    return block


@pytest.mark.parametrize(
    ("counts", "best", "loss", "ends", "gained"),
    [
        ((600, 400), 0.7, 0, (0.64904, 0.75096), 93.75),
        ((800, 200), 1, 13.3333, (0.99032, 1), 0),
        ((255, 745), 0.01, 0, (0, 0.05534), 0.1316),
    ],
)
def test_two_cells_are_as_by_hand(
    counts: tuple[int, int], best: float, loss: float, ends: tuple[float, float], gained: float
) -> None:
    """Three in four answer their own cell: with g = P f^ all is a square in one share."""
    two = Channel(1, 2, np.array([[0.5]]), 0.25, np.ones((1, 2), dtype=bool))
    found = Profile(two, np.array([counts], dtype=float), np.array([[best, 1 - best]]), 0.9)
    first, second = only(2, 0), only(2, 1)
    lesser = first if best < 0.5 else second

    assert found.best[0] == pytest.approx(best)
    assert found.loss == pytest.approx(loss, abs=1e-4)
    assert found.most(first, Q) == pytest.approx(ends[1], abs=1e-5)
    assert 1 - found.most(second, Q) == pytest.approx(ends[0], abs=1e-5)
    # Where nobody is in the lesser one, Q is this much more.
    assert found.most(~lesser, gained + 1e-3) == 1
    assert gained == 0 or found.most(~lesser, gained - 1e-3) < 1


def test_what_is_fitted_explains_as_much_of_chance() -> None:
    """Else forged answers hide in what a map of a hundred shares leaves: five deviations."""
    channel, world = channel_at((10, 10), (5, 1)), np.random.default_rng(4)
    truth = world.pareto(1.5, (10, 10))
    offs = [profile_of(channel, answers(channel, truth, 40_000, world)).off for _ in range(20)]

    assert abs(np.mean(offs)) < 1


def test_ends_are_those_of_another_solver() -> None:
    """Sequential quadratic programming on every share, of single cells and of a block."""
    channel = channel_at((5, 4), (2, 1))
    truth = np.random.default_rng(2).pareto(1, 20).reshape(4, 5)
    counts = answers(channel, truth, 2_000, np.random.default_rng(1))
    found, law = profile_of(channel, counts), channel.matrix()
    weights = channel.forward(run_em_fast(channel, counts, gain=0.01).mass).ravel()
    seen = channel.support.ravel()

    def loss(mass: np.ndarray) -> float:
        off = (counts.ravel() - 2_000 * law @ mass)[seen]
        return float((off * off / weights[seen]).sum() / 2_000)

    least = found.best
    assert loss(least) == pytest.approx(found.loss)
    bounds = [
        {"type": "eq", "fun": lambda mass: mass.sum() - 1},
        {"type": "ineq", "fun": lambda mass: found.loss + Q - loss(mass)},
    ]
    for cells in ((0,), (7,), (13,), (0, 1, 5, 6)):
        block = only(20, *cells)
        there = scipy.optimize.minimize(
            lambda mass, block=block: -mass[block].sum(),
            0.9 * least + 0.005,
            bounds=[(0, 1)] * 20,
            constraints=bounds,
            options={"maxiter": 500, "ftol": 1e-9},
        )
        assert found.most(block, Q) == pytest.approx(-there.fun, rel=0.02, abs=1e-3)
        assert found.most(block, Q) > -there.fun - 1e-5


def test_a_large_map_is_looked_at_in_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Filled as the map fills them: they hold the truth, and tell less than cells do."""
    channel = channel_at((9, 8), (3, 1), 2)
    truth = np.random.default_rng(3).pareto(1, (8, 9))
    truth /= truth.sum()
    counts = answers(channel, truth, 5_000, np.random.default_rng(4))
    small = profile_of(channel, counts)
    monkeypatch.setattr(profile, "_SQUARES_MAX", 20)
    monkeypatch.setattr(channels, "_CHANCES_MAX", 500)
    large = profile_of(channel, counts)
    blocks = find_blocks(large, truth)

    assert (large.step, large.shape) == (2, (4, 5))
    whole = np.zeros((8, 9), dtype=bool)
    whole[:4, :4] = True
    square = np.zeros((4, 5), dtype=bool)
    square[:2, :2] = True
    ends = np.array([small.interval(whole.ravel()), large.interval(square.ravel())])
    assert ends[1] == pytest.approx(ends[0], abs=0.05)
    cells = np.zeros((8, 9))
    for y, x, high, wide in blocks.boxes:
        cells[y : y + high, x : x + wide] += 1
    assert (cells == 1).all()


@pytest.mark.parametrize("epsilon", [(7, 5), (7, 2)])
def test_a_crowd_on_few_points_is_covered(epsilon: tuple[int, int]) -> None:
    """Nine in ten of the cells where people are, which a smooth map misses; a level too low does
    not reach it."""
    channel, world = channel_at((6, 6), epsilon), np.random.default_rng(5)
    held: dict[float, list[bool]] = {0.9: [], 0.3: []}
    for _ in range(12):
        truth = np.zeros(36)
        truth[world.choice(36, 8, replace=False)] = world.exponential(size=8)
        truth /= truth.sum()
        counts = answers(channel, truth.reshape(6, 6), 4_000, world)
        for level, hits in held.items():
            found = profile_of(channel, counts, level)
            for cell in np.flatnonzero(truth):
                low, high = found.interval(only(36, int(cell)))
                hits.append(bool(low - 1e-12 <= truth[cell] <= high + 1e-12))

    assert np.mean(held[0.9]) >= 0.88
    assert np.mean(held[0.3]) < 0.75


def test_nobody_is_seldom_found_where_nobody_is() -> None:
    """In half of the map, empty: each of its cells catches a little noise, and together they seem
    to be people unless it is counted how many there are."""
    channel, world = channel_at((6, 6), (3, 1)), np.random.default_rng(6)
    truth = np.zeros((6, 6))
    truth[:, :3] = world.pareto(1, (6, 3))
    half = np.zeros((6, 6), dtype=bool)
    half[:, 3:] = True
    wrong = [
        profile_of(channel, answers(channel, truth, 3_000, world)).occupied(half.ravel())
        for _ in range(40)
    ]

    assert np.mean(wrong) <= 0.15
    assert profile_of(channel, answers(channel, truth, 3_000, world)).occupied(~half.ravel())


# What is drawn.


def test_what_is_told_apart_is_drawn_apart() -> None:
    """A crowd in one cell is one block; what thirty people say is hatched."""
    channel, world = channel_at((9, 7), (4, 1)), np.random.default_rng(8)
    truth = np.ones((7, 9))
    truth[2, 4] = 90
    truth /= truth.sum()
    counts = answers(channel, truth, 30_000, world)
    mass = run_em_fast(channel, counts, gain=0.05).mass
    many = find_blocks(profile_of(channel, counts), mass)
    few = answers(channel, np.ones((7, 9)), 30, world)
    blind = find_blocks(profile_of(channel, few), run_em_fast(channel, few, gain=0.05).mass)

    cells = np.zeros((7, 9))
    for top, left, high, wide in many.boxes:
        cells[top : top + high, left : left + wide] += 1
    assert (cells == 1).all()
    at = [2, 4, 1, 1]
    (which,) = np.flatnonzero((many.boxes == at).all(axis=1))
    assert many.styles[which] == SOLID
    assert many.low[which] <= truth[2, 4] <= many.high[which]
    assert many.flat_mass.sum() == pytest.approx(1, abs=0.1)
    assert (blind.styles == HATCHED).mean() > 0.7
    assert len(blind.styles) < 10


def test_deviations_hold_what_a_block_may_hold() -> None:
    """A cell of a block of four may have all of it; a cell by itself keeps its own interval."""
    boxes = np.array([[0, 0, 2, 2], [0, 2, 1, 1], [1, 2, 1, 1]])
    shares, low, high = np.array([[0.4, 0.6, 0.0], [0.2, 0.5, 0], [0.5, 0.7, 0.1]])
    found = Blocks(0.9, boxes, shares, low, high)
    mass = np.array([[0.1, 0.1, 0.6], [0.1, 0.1, 0.0]])
    sd = found.compute_deviations(mass) * 1.644854

    assert found.styles.tolist() == [SOLID, SOLID, BLANK]
    assert sd == pytest.approx(np.array([[0.4, 0.4, 0.1], [0.4, 0.4, 0.1]]))
    with pytest.raises(ValueError, match="holds it"):
        Blocks(0.9, boxes, shares + 1, low, high)


def test_no_share_within_a_block_deviates_by_more_than_a_share_can() -> None:
    """A map that tells nothing; a cell by itself keeps its interval, for its share is measured."""
    boxes = np.array([[0, 0, 14, 15], *([14, column, 1, 1] for column in range(15))])
    low, high = np.zeros(16), np.array([1.0, *[0.25] * 15])
    found = Blocks(0.9, boxes, np.zeros(16), low, high)
    even = np.full((15, 15), 1 / 225)
    sd = found.compute_deviations(even)

    assert sd[:14] == pytest.approx(math.sqrt(1 / 225 * 224 / 225))
    assert sd[14] * 1.644854 == pytest.approx(0.25 - 1 / 225)
