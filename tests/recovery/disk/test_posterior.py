"""Orders are compared by one likelihood, that of the cells, and left out where all is lost."""

import math

import numpy as np
import pytest

from edge.records import Grid
from recovery.disk import Query, plan, smooth_map
from recovery.disk.channel import Channel, channel_of
from recovery.disk.em import log_likelihood
from recovery.disk.smooth_map import Posterior, posterior


def answered(seed: int = 6) -> tuple[Channel, np.ndarray]:
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
    channel, counts = answered()
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
@pytest.mark.parametrize("places", [24 * 24, 90])
def test_orders_are_left_out_only_where_another_map_is_far_better(
    monkeypatch: pytest.MonkeyPatch, places: int
) -> None:
    """Which is told what the first order has; where it is near, all is as if it were not there."""
    monkeypatch.setattr(smooth_map, "_PLACES_MAX", places)
    channel, counts = answered()
    told: list[float] = []

    def beside(nats: float) -> list[tuple[int, float]]:
        def hoped(first: float) -> float:
            told.append(first)
            return first + nats

        return worths(posterior(channel, counts, hoped))

    def worths(best: Posterior) -> list[tuple[int, float]]:
        return [(one.order, one.overall) for one in (best, *best.rivals)]

    plain = worths(posterior(channel, counts))

    assert beside(20.0) == beside(-math.inf) == plain
    assert beside(1e6) == [(1, dict(plain)[1])]
    assert told == [dict(plain)[1]] * 3


@pytest.mark.long
def test_a_lattice_has_about_the_evidence_of_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all strengths, too: the blocks' own likelihood is thousands of nats from the cells'."""
    channel, counts = answered()
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
    seen = smooth_map.blocked(channel, counts, 1)
    found = smooth_map.fitted(places, seen, smooth, np.zeros(30))
    true = np.log(mass).ravel() - np.log(mass).mean()
    bent = float(true @ smooth.precision(found.strength, found.level) @ true) / 2

    assert found.height >= log_likelihood(counts, channel.forward(mass)) - bent - 1e-6
