"""Centres of a crowd from its private map."""

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.core.records import Grid, Reading
from edge.mechanisms import pyramid as edge
from recovery import pyramid
from recovery.pyramid.median import centres, cost, points_of, snapping_side


def test_the_centre_of_all_is_the_median_of_each_axis() -> None:
    """For one place in l1 the axes part, and a weighted median is least."""
    world = np.random.default_rng(3)
    points, weights = world.random((50, 2)), world.random(50)

    found = centres(points, weights, 1)

    grid = [np.array([[x, y]]) for x in points[:, 0] for y in points[:, 1]]
    assert found.cost == pytest.approx(min(cost(at, points, weights) for at in grid))


def test_separate_crowds_have_a_centre_each() -> None:
    """Three heaps far apart: their medians, whatever the seeds were."""
    heaps = np.array([[0.1, 0.1], [0.9, 0.2], [0.5, 0.9]])
    world = np.random.default_rng(5)
    points = np.concatenate([heap + world.uniform(-0.02, 0.02, (9, 2)) for heap in heaps])

    found = centres(points, np.ones(27), 3)

    best = sum(
        cost(
            np.median(points[9 * k : 9 * k + 9], axis=0)[None],
            points[9 * k : 9 * k + 9],
            np.ones(9),
        )
        for k in range(3)
    )
    assert found.cost == pytest.approx(best)


def test_centres_of_a_private_map_are_good_for_the_crowd() -> None:
    """Corollary A.2: the map that was released is all that they are found from."""
    world = np.random.default_rng(7)
    shape, heaps = (64, 64), np.array([[0.2, 0.3], [0.7, 0.8]])
    at = np.clip(world.normal(heaps[np.arange(600) % 2], 0.02), 0, 0.999)
    query = pyramid.Query(Grid(shape, 0), (2, 1), 1, 600, "sparse")
    round = pyramid.plan(query, ())
    payloads = [
        edge.report(round, Reading(i, (int(x * 64), int(y * 64))), None)
        for i, (x, y) in enumerate(at)
    ]
    coreset = pyramid.parts("sparse", edge.release(round, payloads, Tape(b"centres")))

    found = centres(*points_of(coreset), 2)

    alone = centres(at, np.ones(600), 2)
    assert cost(found.places, at, np.ones(600)) < 1.5 * alone.cost
    assert coreset.sum() / query.units == pytest.approx(600, rel=0.05)


def test_the_snapping_grid_is_a_power_of_two_and_grows_with_users() -> None:
    """The printed formula is upside down: it has fewer squares for more users."""
    assert [snapping_side(1, n, 4) for n in (2, 200, 20_000)] == [1, 128, 16384]


def test_nothing_has_no_centre() -> None:
    """A map without mass is refused, rather than a place made up."""
    with pytest.raises(ValueError, match="nothing has no centre"):
        centres(*points_of(np.zeros((4, 4))), 2)
