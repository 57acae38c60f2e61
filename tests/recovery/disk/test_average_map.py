"""Chances in squares: the same as of every cell, one by one."""

import math

import numpy as np
import pytest
import scipy.integrate

from edge.records import Grid
from physics.crowds.disk import count_many
from recovery.disk import Query, average_map, plan, smooth_map
from recovery.disk.average_map import averaged, doubted, kinds, mean, mended, misfit
from recovery.disk.channel import Channel, channel_of
from recovery.disk.crowded_map import Crowded, block_chances, in_blocks
from recovery.disk.em import em, gain_of, log_likelihood
from recovery.disk.estimators import estimate
from recovery.disk.smooth_map import Posterior, exponential
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
    chances, doubt = [kind.chance for kind in found], doubted(found)
    expected = sum(kind.chance * kind.mass for kind in found)
    apart = sum(
        one * np.square(kind.mass - expected) for one, kind in zip(doubt, found, strict=True)
    )
    fit = averaged(channel, counts, gain_of(1.5))

    assert sum(chances) == pytest.approx(1)
    assert mean(found) == pytest.approx(expected)
    assert max(doubt) < max(chances)
    assert doubt.sum() == pytest.approx(1)
    assert fit.sd is not None
    assert (fit.sd**2 >= 0.999 * apart).all()
    assert max(found, key=lambda kind: kind.chance).name in fit.why


def test_the_chance_of_a_strength_is_integrated() -> None:
    """Against quadrature over ln strength of the evidence at each, with what was held of it."""
    _, channel, counts = answered(
        np.random.default_rng(1).multinomial(20_000, np.r_[1:10] / 45)[None, :], (3, 1), 2, "wave"
    )
    places, smooth = smooth_map.lattice(channel), smooth_map.prior((1, 9), 1)
    seen = smooth_map.blocked(channel, counts, 1)
    found = smooth_map.fitted(places, seen, smooth, np.zeros(9))
    scale = smooth_map._ROUGHNESS

    def held(log_strength: float) -> float:
        """Evidence at a strength, by Newton from the best map; times what is held of it."""
        strength, u = math.exp(log_strength), found.u
        precision = smooth.precision(strength, found.level)
        for _ in range(60):
            mass = smooth_map.exponential(u)
            law = places.chances @ mass
            weighed = places.chances * mass / np.sqrt(law)[:, None]
            shown = seen.sum() * (weighed.T @ weighed - np.outer(mass, mass))
            uphill = mass * (places.chances.T @ (seen / law) - seen.sum()) - precision @ u
            u = u + np.linalg.solve(shown + precision, uphill)
        worth = log_likelihood(seen, places.chances @ smooth_map.exponential(u))
        whole = np.linalg.slogdet(precision)[1] - np.linalg.slogdet(shown + precision)[1]
        x = strength * scale
        density = math.sqrt(x) * math.exp(-x / 2) / math.sqrt(2 * math.pi)
        return density * math.exp(worth - u @ precision @ u / 2 + whole / 2 - found.evidence)

    middle = math.log(found.strength)
    whole, _ = scipy.integrate.quad(held, middle - 6, middle + 6, limit=60)
    assert found.overall - found.evidence == pytest.approx(math.log(whole), abs=0.4)


@pytest.mark.long
def test_deviations_of_an_edge_and_of_a_square_are_nearly_honest() -> None:
    """What looks like a hill and is none: sure by the chances as they are, it would be far off."""
    half = np.zeros((10, 10), dtype=np.int64)
    half[:5] = 6_000
    told, alone = [], []
    for seed in range(3):
        truth, channel, counts = answered(half, (7, 10), seed)
        fit = averaged(channel, counts, gain_of(0.7))
        assert fit.sd is not None
        told.append((fit.mass - truth) / fit.sd)
        best = max(kinds(channel, counts), key=lambda kind: kind.chance)
        alone.append((fit.mass - truth) / np.sqrt(best.variances))

    assert np.sqrt(np.square(told).mean()) < 2.5
    assert np.sqrt(np.square(alone).mean()) > 4


def test_a_map_that_does_not_fit_is_mended_no_further_than_it_must() -> None:
    """The likelihood rises on the way, and what fits already stays as it is."""
    people = np.random.default_rng(5).multinomial(60_000, np.r_[1:37] / 666).reshape(6, 6)
    truth, channel, counts = answered(people, (3, 1), 3)
    wrong = 0.94 * truth + 0.06 * np.roll(truth, 2, axis=0)
    mended_map, steps = mended(channel, counts, wrong, 0.0)
    again, none = mended(channel, counts, mended_map, 0.0)

    assert 2 < misfit(channel, counts, wrong) <= 5
    assert steps > 1
    assert misfit(channel, counts, mended_map) <= 0
    short = em(channel, counts, gain=0.0, start=wrong, steps_max=steps - 1).mass
    assert misfit(channel, counts, short) > 0
    assert log_likelihood(counts, channel.forward(mended_map)) > log_likelihood(
        counts, channel.forward(wrong)
    )
    assert none == 0
    assert (again == mended_map).all()
    assert mended(channel, counts, np.roll(truth, 3, axis=1), 0.0)[1] == 0  # beyond mending


def test_nobody_and_few_say_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answers are an even map; and kinds without a chance cost no deviations."""
    people = lone(6, 40)
    _, channel, counts = answered(people, (1, 1), 4)
    monkeypatch.setattr(average_map, "NO_CHANCE", 2.0)
    fit = averaged(channel, counts, gain_of(1))

    assert averaged(channel, 0 * counts, 1.0).status.startswith("nobody answered")
    assert fit.mass.max() < 0.5
    assert fit.sd is not None
    with pytest.raises(ValueError, match="shape"):
        averaged(channel, counts[1:], 1.0)


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


def foot_of_a_hill(reports: int, share: float, seed: int) -> tuple[Channel, np.ndarray]:
    """A hill on a line of 24 cells, and a crowded cell at its foot."""
    planned = plan(Query(Grid((24, 1), 1000), (3, 1), radius=1), [])
    assert planned is not None
    channel = channel_of(planned)
    hill = np.exp(-(((np.arange(24.0)[None, :] - 14) / 4) ** 2) / 2)
    mass = (1 - share) * hill / hill.sum()
    mass[0, 4] += share
    law = channel.forward(mass)
    drawn = np.random.default_rng(seed).multinomial(reports, (law / law.sum()).ravel())
    return channel, np.asarray(drawn.reshape(law.shape), dtype=np.float64)


def spread_by_differences(found: Posterior) -> np.ndarray:
    """The variance of each share to first order, by finite differences and a whole inverse."""
    ways = 1e-5 * np.eye(found.u.size)
    shares = [
        exponential(found.lattice.spread(found.u + s * way)) for way in ways for s in (1, -1)
    ]
    change = (np.array(shares[::2]) - np.array(shares[1::2])).reshape(len(ways), -1) / 2e-5
    inverse = np.linalg.inv(found.factor @ found.factor.T)
    return np.einsum("ip,ij,jp->p", change, inverse, change).reshape(found.mass.shape)


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
    before, steps = mended(channel, counts, expected, gain_of(3))
    joint = channel.matrix() * before.ravel()
    whose = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    total = counts.ravel() @ (whose * (1 - whose)) / counts.sum() ** 2
    total += np.square(before - expected).ravel()
    for kind, chance in zip(found, doubted(found), strict=True):
        total += chance * (kind.variances + np.square(kind.mass - expected)).ravel()
    fit = averaged(channel, counts, gain_of(3))

    assert steps > 0
    assert fit.sd is not None
    assert fit.mass.ravel() == pytest.approx(counts.ravel() @ whose / counts.sum())
    assert fit.sd.ravel() ** 2 == pytest.approx(total, rel=2e-3)
