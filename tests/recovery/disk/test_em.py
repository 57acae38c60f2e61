"""Expectation maximisation: what it converges to, when it stops, and what it refuses."""

import math

import cvxpy
import numpy as np
import pytest

from edge.core.records import Grid
from recovery.disk import Query, plan
from recovery.disk.channel import Channel, channel_of
from recovery.disk.em import Fit, em, em_fast, em_step, gain_of, log_likelihood, smooth_map


def disk(shape: tuple[int, int], radius: int, epsilon: tuple[int, int] = (7, 5)) -> Channel:
    planned = plan(Query(Grid(shape, 1000), epsilon, radius=radius), [])
    assert planned is not None
    return channel_of(planned)


def answered(channel: Channel, reports: int, seed: int = 3) -> np.ndarray:
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


@pytest.mark.parametrize("method", [em, em_fast])
@pytest.mark.parametrize("shape", [(4, 4), (6, 2), (9, 1), (1, 5)])
def test_without_a_stop_it_reaches_the_maximum(method: object, shape: tuple[int, int]) -> None:
    """Another program's maximum is the only judge of a formula that is merely plausible."""
    channel = disk(shape, 1)
    counts = answered(channel, 3_000)
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
    channel = disk(shape, radius)
    counts = answered(channel, 20_000).astype(float)
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
    channel, epsilon = disk((8, 8), 3), 1.4
    counts = answered(channel, 50_000)
    gain = gain_of(epsilon)
    found = em(channel, counts, gain=gain)
    worth = [
        em(channel, counts, gain=0, steps_max=found.steps - k).log_likelihood for k in (0, 1, 2)
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
    channel = disk(shape, radius, epsilon)
    counts = answered(channel, 300_000)
    gain = gain_of(epsilon[0] / epsilon[1])
    plain, fast = em(channel, counts, gain=gain), em_fast(channel, counts, gain=gain)
    maximum = em_fast(channel, counts, gain=1e-6, steps_max=100_000)

    assert abs(fast.mass - plain.mass).sum() / 2 < 2e-3
    assert (
        abs(maximum.mass - plain.mass).sum() / 2 > 2e-2
    )  # were the path walked on, it would show
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


@pytest.mark.parametrize("method", [em, em_fast])
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
    channel = disk((3, 3), 2)
    counts = np.ones(channel.support.shape) * channel.support
    if fault == "shape":
        counts = counts[1:]
    else:
        counts[0, 0 if fault == "stray" else 3] = {"stray": 1, "negative": -1, "nan": np.nan}[
            fault
        ]

    with pytest.raises(ValueError, match=word):
        method(channel, counts, gain=0.01)  # type: ignore[operator]
