"""Which map is drawn, how far it says it is off, and how badly it fits."""

import itertools
import math

import numpy as np
import pytest

from edge.core.records import Grid
from physics.crowds.disk import count_many
from recovery.disk import Query, plan
from recovery.disk.channel import Channel, channel_of
from recovery.disk.estimators import ESTIMATORS, estimate, expected_w2, misfit
from recovery.distance import wasserstein2


def disk(shape: tuple[int, int], radius: int = 2) -> Channel:
    planned = plan(Query(Grid(shape, 1000), (2, 1), radius=radius), [])
    assert planned is not None
    return channel_of(planned)


@pytest.mark.long
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("shape", [(6, 5), (9, 1), (1, 4), (1, 1)])
def test_every_estimator_draws_a_map_of_every_shape(name: str, shape: tuple[int, int]) -> None:
    """By its name, of a slope that any of them must find."""
    channel = disk(shape, 1)
    slope = 1.0 + np.add.outer(np.arange(channel.rows), 2 * np.arange(channel.columns))
    slope /= slope.sum()
    found = estimate(name, channel, np.round(1e5 * channel.forward(slope)), 2.0)

    assert found.mass.shape == slope.shape
    assert found.mass.sum() == pytest.approx(1)
    assert found.status == "optimal"
    assert abs(found.mass - slope).sum() / 2 < (0.3 if name == "ems" else 0.06)


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
    assert abs(misfit(channel, counts, channel.forward(people / people.sum()))) < 4


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
        said.append(expected_w2(name, channel, counts, 2.0, mass))
    ratio = np.mean(said) / np.mean(really)

    assert 1 / 1.5 < ratio < 1.5
    mass = estimate(name, channel, 16 * counts, 2.0).mass
    assert expected_w2(name, channel, 16 * counts, 2.0, mass) < 0.7 * np.mean(said)
    assert expected_w2(name, channel, 0 * counts, 2.0, truth) is None


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
        off = misfit(channel, np.array(found, dtype=float)[None, :], law[None, :])
        first, second, whole = first + chance * off, second + chance * off**2, whole + chance

    assert whole == pytest.approx(1)
    assert first == pytest.approx(0, abs=1e-9)
    assert second == pytest.approx(1)
