"""Chances in squares: the same as of every cell, one by one."""

import math

import numpy as np
import pytest
import scipy.integrate

from edge.core.records import Grid
from physics.crowds.disk import count_many
from recovery.disk import Query, plan, smooth_map
from recovery.disk.average_map import average, flatten, kinds, mean, mend, misfit
from recovery.disk.channel import Channel, channel_of
from recovery.disk.crowded_map import Crowded, block_chances, in_blocks
from recovery.disk.em import em_step, gain_of, log_likelihood
from recovery.disk.estimators import estimate
from recovery.disk.smooth_map import Posterior
from recovery.distance import wasserstein2

# The map to expect: chances of kinds are what evidence makes them, and the mean is better.


def answered(
    people: np.ndarray, epsilon: tuple[int, int], seed: int, scheme: str = "dam"
) -> tuple[np.ndarray, Channel, np.ndarray]:
    """The users' shares, the channel, and the answers."""
    rows, columns = people.shape
    planned = plan(Query(Grid((columns, rows), 0), epsilon, scheme=scheme), [])  # type: ignore[arg-type]
    assert planned is not None
    counts = count_many(planned, people, np.random.default_rng(seed)).astype(float)
    return people / people.sum(), channel_of(planned), counts


def lone(side: int, users: int) -> np.ndarray:
    people = np.zeros((side, side), dtype=np.int64)
    people[side // 3, side // 2] = users
    return people


def off(name: str, people: np.ndarray, epsilon: tuple[int, int]) -> float:
    """Mean W2 over three runs."""
    found = []
    for seed in range(3):
        truth, channel, counts = answered(people, epsilon, seed)
        fit = estimate(name, channel, counts, epsilon[0] / epsilon[1])
        found.append(wasserstein2(fit.mass, truth, normalise=True))
    return float(np.mean(found))


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [(7, 10), (7, 2)])
def test_a_lone_cell_is_found_where_a_smooth_map_has_none(epsilon: tuple[int, int]) -> None:
    """Everybody in one place: what `auto` is for must not be worse than what it replaces."""
    people = lone(10, 200_000)

    assert off("auto", people, epsilon) < 1.05 * off("em", people, epsilon)


def test_an_even_crowd_is_even() -> None:
    """Where nothing is to be seen nothing is drawn: EM draws its noise, and so would tilts."""
    people = np.full((5, 5), 12_000)

    assert off("auto", people, (7, 10)) < 0.6 * off("em", people, (7, 10))


def test_chances_are_those_of_evidence_and_doubt_flattens_them() -> None:
    """They add to one, the mean is of the same parts, and the deviations hold their distances."""
    people = np.random.default_rng(4).multinomial(900, np.full(36, 1 / 36)).reshape(6, 6)
    people[2, 3] += 200
    _, channel, counts = answered(people, (3, 2), 1)
    found = kinds(channel, counts)
    chances, doubt = [kind.chance for kind in found], flatten(found)
    expected = sum(kind.chance * kind.mass for kind in found)
    apart = sum(
        one * np.square(kind.mass - expected) for one, kind in zip(doubt, found, strict=True)
    )
    fit = average(channel, counts, gain_of(1.5))

    assert sum(chances) == pytest.approx(1)
    assert mean(found) == pytest.approx(expected)
    assert max(doubt) < max(chances)
    assert doubt.sum() == pytest.approx(1)
    assert fit.sd is not None
    assert (fit.sd**2 >= 0.999 * apart).all()
    assert max(found, key=lambda kind: kind.chance).name in fit.why


def test_a_map_that_does_not_fit_is_mended_no_further_than_it_must() -> None:
    """The likelihood rises on the way, and what fits already stays as it is."""
    people = np.random.default_rng(5).multinomial(60_000, np.r_[1:37] / 666).reshape(6, 6)
    truth, channel, counts = answered(people, (3, 1), 3)
    wrong = 0.94 * truth + 0.06 * np.roll(truth, 2, axis=0)
    mended_map, steps = mend(channel, counts, wrong, 0.0)
    again, none = mend(channel, counts, mended_map, 0.0)

    assert 2 < misfit(channel, counts, wrong) <= 5
    assert steps > 1
    assert misfit(channel, counts, mended_map) <= 0
    short = wrong
    for _ in range(steps - 1):
        short = em_step(channel, counts, short, channel.forward(short))
    assert misfit(channel, counts, short) > 0
    assert log_likelihood(counts, channel.forward(mended_map)) > log_likelihood(
        counts, channel.forward(wrong)
    )
    assert none == 0
    assert (again == mended_map).all()
    assert mend(channel, counts, np.roll(truth, 3, axis=1), 0.0)[1] == 0  # beyond mending


@pytest.mark.parametrize("shape", [(12, 9), (7, 7), (5, 1), (3, 11)])
@pytest.mark.parametrize(("step", "block"), [(1, 2), (2, 2), (3, 2), (4, 5), (20, 3)])
@pytest.mark.parametrize("radius", [0, 1, 4])
def test_it_is_the_law_of_a_square_summed(
    shape: tuple[int, int], step: int, block: int, radius: int
) -> None:
    """Against the channel's own law, square by square; the last ones are smaller than a step."""
    planned = plan(Query(Grid(shape, 0), (3, 2), radius=radius), [])
    assert planned is not None
    channel = channel_of(planned)
    tops, lefts = np.arange(0, channel.rows, step), np.arange(0, channel.columns, step)
    found = block_chances(channel, tops, lefts, step, block)
    kept = in_blocks(channel.support.astype(float), block).ravel() > 0

    assert found.sum(axis=0) == pytest.approx(1)
    for place, (y, x) in enumerate((y, x) for y in tops for x in lefts):
        mass = np.zeros((channel.rows, channel.columns))
        mass[y : y + step, x : x + step] = 1
        law = in_blocks(channel.forward(mass / mass.sum()), block).ravel()[kept]
        assert found[:, place] == pytest.approx(law, abs=1e-12)


# What kinds of map are weighed by, and what their mean's deviations hold, done the long way.


def foot(epsilon: int, radius: int, reports: int, share: float) -> tuple[Channel, np.ndarray]:
    """A hill on 12 x 10 cells, and a crowded cell at its foot."""
    planned = plan(Query(Grid((12, 10), 1000), (epsilon, 1), radius=radius), [])
    assert planned is not None
    channel = channel_of(planned)
    y, x = np.indices((10, 12))
    hill = np.exp(-((y - 4) ** 2 + (x - 6) ** 2) / 18)
    mass = (1 - share) * hill / hill.sum()
    mass.flat[88] += share
    law = channel.forward(mass)
    drawn = np.random.default_rng(2).multinomial(reports, (law / law.sum()).ravel())
    return channel, np.asarray(drawn.reshape(law.shape), dtype=np.float64)


@pytest.mark.long
def test_a_crowded_cell_on_a_smooth_map_is_weighed_against_that_map(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By Bayes's factor: one integral over its weight, for one of 120 cells and a quarter."""
    channel, counts = foot(4, 1, 10_000, 0.03)
    monkeypatch.setattr(smooth_map, "ORDERS", (3,))  # the others would draw the cell themselves
    best, few, rough = kinds(channel, counts)
    assert isinstance(best.found, Posterior)
    assert isinstance(few.found, Crowded)
    assert isinstance(rough.found, Crowded)
    assert rough.found.cells == (88,)
    unit = np.zeros(best.mass.shape)
    unit.flat[88] = 1
    ground, alone = channel.forward(best.mass), channel.forward(unit)
    known = log_likelihood(counts, ground)

    def worth(weight: float) -> float:
        return log_likelihood(counts, (1 - weight) * ground + weight * alone) - known

    factor, _ = scipy.integrate.quad(lambda weight: math.exp(worth(weight)), 0, 0.2)
    assert rough.chance / best.chance == pytest.approx(factor / 120 / 4, rel=0.1)
    # One order of three has a third of what is held of smooth maps.
    wanted = few.found.evidence - best.found.overall + math.log(3)
    assert math.log(few.chance / best.chance) == pytest.approx(wanted)


def test_deviations_hold_the_users_own_scatter_and_what_was_mended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whose answer it is by Bayes, by cell; how far it was moved; what kinds leave open."""
    monkeypatch.setattr(smooth_map, "_PLACES_MAX", 40)
    channel, counts = foot(3, 2, 30_000, 0.1)
    found = kinds(channel, counts)
    expected = mean(found)
    before, steps = mend(channel, counts, expected, gain_of(3))
    joint = channel.matrix() * before.ravel()
    whose = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    total = counts.ravel() @ (whose * (1 - whose)) / counts.sum() ** 2
    total += np.square(before - expected).ravel()
    for kind, chance in zip(found, flatten(found), strict=True):
        total += chance * (kind.variances + np.square(kind.mass - expected)).ravel()
    fit = average(channel, counts, gain_of(3))

    assert steps > 0
    assert fit.sd is not None
    assert fit.mass.ravel() == pytest.approx(counts.ravel() @ whose / counts.sum())
    assert fit.sd.ravel() ** 2 == pytest.approx(total, rel=2e-3)
