"""Estimators of places: what expectation maximisation converges to, and the default."""

import itertools
import math

import cvxpy
import numpy as np
import pytest

from edge.core.records import Grid
from physics.crowds.disk import count_many
from recovery.disk import Query, plan
from recovery.disk.channel import Channel, channel_of
from recovery.disk.em import (
    Fit,
    em_step,
    find_least_gain,
    log_likelihood,
    run_em,
    run_em_fast,
    smooth_map,
)
from recovery.disk.estimators import estimate, estimate_w2, measure_misfit
from recovery.distance import wasserstein2

# Expectation maximisation: what it converges to, when it stops, and what it refuses.


def planned_channel(
    shape: tuple[int, int], radius: int, epsilon: tuple[int, int] = (7, 5)
) -> Channel:
    planned = plan(Query(Grid(shape, 1000), epsilon, radius=radius), [])
    assert planned is not None
    return channel_of(planned)


def answers_on_a_slope(channel: Channel, reports: int, seed: int = 3) -> np.ndarray:
    """What so many users on a slope answer."""
    world = np.random.default_rng(seed)
    slope = 1.0 + np.add.outer(np.arange(channel.rows), 3 * np.arange(channel.columns))
    law = channel.forward(slope / slope.sum())
    drawn = world.multinomial(reports, (law / law.sum()).ravel())
    return np.asarray(drawn.reshape(law.shape))


def best_by_cone(channel: Channel, counts: np.ndarray) -> float:
    """The greatest log-likelihood there is, by an interior point method on the whole matrix."""
    mass = cvxpy.Variable(channel.rows * channel.columns, nonneg=True)
    some = counts.ravel() > 0
    law = channel.matrix()[some] @ mass
    worth = cvxpy.sum(cvxpy.multiply(counts.ravel()[some], cvxpy.log(law)))
    problem = cvxpy.Problem(cvxpy.Maximize(worth), [cvxpy.sum(mass) == 1])
    problem.solve(solver=cvxpy.CLARABEL)
    return log_likelihood(
        counts.astype(float),
        channel.forward(np.maximum(mass.value, 0).reshape(channel.rows, channel.columns)),
    )


@pytest.mark.parametrize("method", [run_em, run_em_fast])
@pytest.mark.parametrize("shape", [(4, 4), (6, 2), (9, 1), (1, 5)])
def test_without_a_stop_it_reaches_the_maximum(method: object, shape: tuple[int, int]) -> None:
    """Another program's maximum is the only judge of a formula that is merely plausible."""
    channel = planned_channel(shape, 1)
    counts = answers_on_a_slope(channel, 3_000)
    found: Fit = method(channel, counts, gain=1e-7, steps_max=200_000)  # type: ignore[operator]

    assert found.status == "optimal"
    assert found.log_likelihood == pytest.approx(best_by_cone(channel, counts), abs=2e-3)


@pytest.mark.parametrize(
    ("shape", "radius"), [((5, 5), 2), ((8, 3), 2), ((40, 40), 2), ((40, 40), 4)]
)
def test_the_likelihood_never_falls_and_the_mass_stays_one(
    shape: tuple[int, int], radius: int
) -> None:
    """Either fault comes from an adjoint that is not one: of a matrix or of transforms."""
    channel = planned_channel(shape, radius)
    counts = answers_on_a_slope(channel, 20_000).astype(float)
    mass = np.full((channel.rows, channel.columns), 1 / (channel.rows * channel.columns))
    before = -np.inf
    for _ in range(50):
        law = channel.forward(mass)
        worth = log_likelihood(counts, law)
        assert worth >= before - 1e-9 * abs(worth)
        before = worth
        # Each answer is shared out among the cells, whole, before any division.
        given = mass * channel.adjoint(np.divide(counts, law, where=counts > 0, out=0 * law))
        assert given.sum() == pytest.approx(counts.sum())
        mass = em_step(channel, counts, mass, law)
        assert mass.sum() == pytest.approx(1)


def test_it_stops_at_the_first_step_that_gains_less() -> None:
    """The stopping rule is the printed method's only regulariser."""
    channel, epsilon = planned_channel((8, 8), 3), 1.4
    counts = answers_on_a_slope(channel, 50_000)
    gain = find_least_gain(epsilon)
    found = run_em(channel, counts, gain=gain)
    worth = [
        run_em(channel, counts, gain=0, steps_max=found.steps - k).log_likelihood
        for k in (0, 1, 2)
    ]

    assert gain == pytest.approx(1e-3 * math.exp(1.4))
    assert found.log_likelihood == worth[0]
    assert worth[0] - worth[1] < gain <= worth[1] - worth[2]


@pytest.mark.long
@pytest.mark.parametrize(
    ("shape", "radius", "epsilon"), [((15, 15), 10, (7, 5)), ((12, 7), 2, (7, 2))]
)
def test_the_flow_ends_where_the_printed_method_ends(
    shape: tuple[int, int], radius: int, epsilon: tuple[int, int]
) -> None:
    """An acceleration that goes further along the path gives a rougher map, not a better one."""
    channel = planned_channel(shape, radius, epsilon)
    counts = answers_on_a_slope(channel, 300_000)
    gain = find_least_gain(epsilon[0] / epsilon[1])
    plain, fast = run_em(channel, counts, gain=gain), run_em_fast(channel, counts, gain=gain)
    maximum = run_em_fast(channel, counts, gain=1e-6, steps_max=100_000)

    assert abs(fast.mass - plain.mass).sum() / 2 < 2e-3
    # Were the path walked on, it would show
    assert abs(maximum.mass - plain.mass).sum() / 2 > 2e-2
    assert fast.steps < plain.steps / 2


def test_smoothing_keeps_the_mass_and_repeats_the_edges() -> None:
    """By hand: (1, 2, 1) / 4 of a corner leaves nine sixteenths there."""
    corner = np.zeros((3, 4))
    corner[0, 0] = 16.0

    after = smooth_map(corner)

    assert after[:2, :2].tolist() == [[9.0, 3.0], [3.0, 1.0]]
    assert after.sum() == 16.0
    assert smooth_map(np.array([[8.0, 0.0, 0.0]])).tolist() == [[6.0, 2.0, 0.0]]
    assert smooth_map(np.array([[8.0]])).tolist() == [[8.0]]


@pytest.mark.parametrize("method", [run_em, run_em_fast])
@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ("shape", "another round"),
        ("stray", "never ever|ever answered"),
        ("negative", "negative"),
        ("nan", "finite"),
    ],
)
def test_counts_that_no_answers_give_are_refused(method: object, fault: str, word: str) -> None:
    """Another round's counts are the usual mistake, and give a map that looks right."""
    channel = planned_channel((3, 3), 2)
    counts = np.ones(channel.support.shape) * channel.support
    if fault == "shape":
        counts = counts[1:]
    else:
        counts[0, 0 if fault == "stray" else 3] = {"stray": 1, "negative": -1, "nan": np.nan}[
            fault
        ]

    with pytest.raises(ValueError, match=word):
        method(channel, counts, gain=0.01)  # type: ignore[operator]


# Which map is drawn, how far it says it is off, and how badly it fits.


def disk(shape: tuple[int, int], radius: int = 2) -> Channel:
    planned = plan(Query(Grid(shape, 1000), (2, 1), radius=radius), [])
    assert planned is not None
    return channel_of(planned)


def test_no_other_name_and_no_other_epsilon() -> None:
    """A name that is mistyped must not become the default."""
    channel = disk((6, 5))
    for name, epsilon in (("EM", 1.0), ("em", 0.0), ("em", float("nan")), ("auto", float("inf"))):
        with pytest.raises(ValueError, match="must be"):
            estimate(name, channel, np.zeros(channel.support.shape), epsilon)


@pytest.mark.long
def test_where_no_smooth_map_fits_the_answers_are_believed() -> None:
    """Crowded cells lie between the places of a lattice: then there is EM."""
    planned = plan(Query(Grid((32, 32), 0), (5, 1), scheme="wave", radius=4), [])
    assert planned is not None
    channel, world = channel_of(planned), np.random.default_rng(9)
    people = np.zeros((32, 32), dtype=np.int64)
    people.flat[world.choice(people.size, 90, replace=False)] = 1_000_000 // 90
    counts = count_many(planned, people, world).astype(float)
    found = estimate("auto", channel, counts, 5.0)

    assert "no smooth map" in found.why
    assert (found.mass == estimate("em", channel, counts, 5.0).mass).all()
    assert abs(measure_misfit(channel, counts, channel.forward(people / people.sum()))) < 4


# The default, between three maps.


def answered(channel: Channel, truth: np.ndarray, reports: int, seed: int = 3) -> np.ndarray:
    law = channel.forward(truth / truth.sum())
    drawn = np.random.default_rng(seed).multinomial(reports, (law / law.sum()).ravel())
    return np.asarray(drawn.reshape(law.shape), dtype=float)


def test_smoothed_noise_is_drawn_where_nothing_is_likelier() -> None:
    """Of an even crowd at small epsilon; a crowd in one corner is not told from noise so."""
    channel, corner = disk((6, 5)), np.ones((5, 6))
    few = answered(channel, corner, 300)
    corner[0, 0] = 40
    many = answered(channel, corner, 20_000)

    assert (
        estimate("auto", channel, few, 2.0).mass == estimate("ems", channel, few, 2.0).mass
    ).all()
    parts = estimate("auto", channel, many, 2.0)
    assert "25% the map of EM" in parts.why
    assert parts.mass[0, 0] > 2 * estimate("ems", channel, many, 2.0).mass[0, 0]


@pytest.mark.parametrize("name", ["auto", "em"])
def test_a_map_is_as_far_off_as_it_says(name: str) -> None:
    """Within half as much again over some runs, of a crowd that nothing is told of; four times the
    people are known better."""
    channel, truth = disk((6, 5)), np.random.default_rng(4).pareto(1, (5, 6))
    truth /= truth.sum()
    really, said = [], []
    for seed in range(5):
        counts = answered(channel, truth, 4_000, seed)
        mass = estimate(name, channel, counts, 2.0).mass
        really.append(wasserstein2(mass, truth, normalise=True))
        said.append(estimate_w2(name, channel, counts, 2.0, mass))
    ratio = np.mean(said) / np.mean(really)

    assert 1 / 1.5 < ratio < 1.5
    mass = estimate(name, channel, 16 * counts, 2.0).mass
    assert estimate_w2(name, channel, 16 * counts, 2.0, mass) < 0.7 * np.mean(said)
    assert estimate_w2(name, channel, 0 * counts, 2.0, truth) is None


@pytest.mark.parametrize("people", [20, 30_000])
def test_a_map_of_an_even_crowd_does_not_say_how_far_off_it_is(people: int) -> None:
    """Whatever it takes for people is noise; a crowd that leans to one side is told from it."""
    channel, even = disk((6, 5)), np.full((5, 6), 1 / 30)
    leaning = even * np.linspace(0.2, 1.8, 6)
    said = [
        [
            estimate_w2("em", channel, answered(channel, truth, people, seed), 2.0, truth)
            for seed in range(6)
        ]
        for truth in (even, leaning)
    ]

    assert said[0] == [None] * 6
    assert (said[1].count(None) < 3) == (people > 1000)


# How badly a map fits: the chi-square of every outcome that there may be, by its chance.


def line(cells: int, epsilon: tuple[int, int]) -> Channel:
    """As many answers as cells."""
    planned = plan(Query(Grid((cells, 1), 0), epsilon, scheme="krr"), [])
    assert planned is not None
    return channel_of(planned)


@pytest.mark.parametrize("reports", [1, 2, 5])
@pytest.mark.parametrize("cells", [2, 4])
def test_its_mean_is_nought_and_its_variance_one(cells: int, reports: int) -> None:
    """However few the answers are: enumerated, with the multinomial's chances."""
    channel = line(cells, (2, 1))
    mass = np.arange(1.0, cells + 1)[None, :] ** 2
    mass /= mass.sum()
    law = channel.forward(mass).ravel()
    first = second = whole = 0.0
    for found in itertools.product(range(reports + 1), repeat=cells):
        if sum(found) != reports:
            continue
        ways = math.factorial(reports) / math.prod(math.factorial(one) for one in found)
        chance = ways * float(np.prod(law ** np.array(found)))
        off = measure_misfit(channel, np.array(found, dtype=float)[None, :], law[None, :])
        first, second, whole = first + chance * off, second + chance * off**2, whole + chance

    assert whole == pytest.approx(1)
    assert first == pytest.approx(0, abs=1e-9)
    assert second == pytest.approx(1)
