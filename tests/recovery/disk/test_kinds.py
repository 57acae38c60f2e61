"""What kinds of map are weighed by, and what their mean's deviations hold, done the long way."""

import math

import numpy as np
import pytest
import scipy.integrate

from edge.records import Grid
from recovery.disk import Query, plan, smooth_map
from recovery.disk.average_map import averaged, doubted, kinds, mean, mended
from recovery.disk.channel import Channel, channel_of
from recovery.disk.crowded_map import Crowded
from recovery.disk.em import gain_of, log_likelihood
from recovery.disk.smooth_map import Posterior, exponential, posterior


def answered(reports: int, share: float, seed: int) -> tuple[Channel, np.ndarray]:
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


def test_deviations_over_orders_are_within_and_between_them() -> None:
    """The law of total variance, of orders that do not agree."""
    channel, counts = answered(2_000, 0.1, 3)
    best = posterior(channel, counts)
    orders = [best, *best.rivals]
    chances = np.exp([one.evidence - best.evidence for one in orders])
    within = [spread_by_differences(one) for one in orders]
    apart = [np.square(one.mass - best.mass) for one in orders]
    whole = np.tensordot(chances / chances.sum(), np.add(within, apart), 1)

    assert best.evidence == max(one.evidence for one in orders)
    assert smooth_map.variances(best) == pytest.approx(whole, rel=1e-2)
    assert whole.max() > 1.05 * np.tensordot(chances / chances.sum(), within, 1).max()


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
