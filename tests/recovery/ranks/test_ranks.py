"""The analyst half of ranks: from a crowd to a map, with what it must refuse."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.core.records import Grid, Reading, Release
from edge.mechanisms import ranks as device
from physics.crowds.ranks import release_many
from recovery.distance import earth_movers
from recovery.maps.heatmap import Heatmap, Unresolved
from recovery.ranks import Query, plan, promise, recover
from recovery.ranks.order import cells_of, order_behind, places_of
from recovery.ranks.query import ORDERS, order_of

ORDER = ORDERS[2]


def heap(users: int, seed: int = 3) -> np.ndarray:
    """Return points of two heaps in the unit square."""
    world = np.random.default_rng(seed)
    centre = np.where(world.random(users)[:, None] < 0.7, [0.25, 0.3], [0.8, 0.75])
    return np.clip(centre + 0.05 * world.standard_normal((users, 2)), 0, 0.999)


def released(query: Query, points: np.ndarray, tape: bytes = b"a") -> Release:
    order = order_of(query)
    return release_many(plan(query, ()), places_of(cells_of(points, order), order), Tape(tape))


def counted(points: np.ndarray, side: int) -> np.ndarray:
    found, _, _ = np.histogram2d(points[:, 1], points[:, 0], bins=side, range=[[0, 1]] * 2)
    return found / found.sum()


@pytest.mark.parametrize("points", [1, 3])
def test_many_at_once_are_released_as_one_after_the_other(points: int) -> None:
    """The door for a million points is the exact one, number for number from one tape."""
    query = Query(Grid((8, 8), 0), (1, 3), users=50, points=points, group=7)
    round = plan(query, ())
    cells = np.random.default_rng(1).integers(0, 1 << ORDER, (50, points, 2))
    payloads = [
        device.report(round, Reading(i, tuple(cells[i].ravel().tolist())), None) for i in range(50)
    ]
    places = places_of(cells.reshape(-1, 2), ORDER).reshape(50, points)

    assert release_many(round, places, Tape(b"x")) == device.release(round, payloads, Tape(b"x"))


@pytest.mark.parametrize("estimator", ["auto", "steps"])
def test_with_much_epsilon_the_map_is_the_truth(estimator: Any) -> None:
    """Two heaps of 20 000 users, each found where it is."""
    points = heap(20_000)
    query = Query(Grid((16, 16), 0), (16, 1), users=20_000, estimator=estimator, group=50)
    found = recover(query, [released(query, points)])

    assert isinstance(found, Heatmap)
    assert found.status == "optimal"
    assert found.estimator == {"auto": "lines"}.get(estimator, estimator)
    assert found.total == 20_000
    assert earth_movers(counted(points, 16), found.mass) < 0.02


def test_a_line_has_its_quantiles() -> None:
    """Median and deciles of 50 000 on a line, each within what the model says four times over."""
    world = np.random.default_rng(5)
    points = world.beta(2, 5, 50_000)
    query = Query(Grid((100, 1), 0), (1, 1), users=50_000)
    order = order_behind(released(query, points))
    parts = np.linspace(0.1, 0.9, 9)

    assert order.quantile(parts) == pytest.approx(np.quantile(points, parts), abs=0.013)
    assert order.below(np.quantile(points, parts)) == pytest.approx(parts, abs=0.01)
    mass = recover(query, [released(query, points)]).mass
    assert mass.shape == (1, 100)
    assert mass[0, :20].sum() == pytest.approx((points < 0.2).mean(), abs=0.01)


def test_rounds_share_epsilon_exactly_and_use_what_is_left() -> None:
    """Three releases of 1/3 each are 1, and a fourth is not planned."""
    query = Query(Grid((4, 4), 0), (1, 1), users=20, readings=3)
    releases: list[Release] = []
    while round := plan(query, releases):
        releases.append(device.release(round, [[i, i] for i in range(20)], Tape(b"r")))

    assert [device.epsilon(one.round) for one in releases] == [(1, 3)] * 3
    assert sum(Fraction(*device.epsilon(one.round)) for one in releases) == 1
    assert promise(query).epsilon == (1, 1)
    assert recover(query, releases).mass.sum() == pytest.approx(1)


def test_nobody_one_user_and_no_epsilon_are_said() -> None:
    """Empty input, one user, more places a group than there are, noise as wide as the grid."""
    query = Query(Grid((4, 4), 0), (1, 1), users=1000, group=300)
    round = plan(query, ())
    empty = recover(query, [device.release(round, [], Tape(b""))])
    alone = recover(query, [device.release(round, [[0, 5]], Tape(b""))])
    faint = Query(Grid((4, 4), 0), (1, 1000), users=100)
    blank = recover(faint, [released(faint, heap(100))])

    assert isinstance(empty, Unresolved)
    assert "no device answered" in empty.why
    assert isinstance(alone, Heatmap)
    assert "says nothing" in alone.status
    assert "says nothing" in blank.status
    few = Query(Grid((4, 4), 0), (16, 1), users=1000, group=300)
    told = recover(few, [device.release(plan(few, ()), [[i, 9] for i in range(20)], Tape(b""))])
    assert "one group" in told.status


def test_releases_of_another_plan_are_refused() -> None:
    """Other groups are another order: the map would be wrong and look right."""
    query = Query(Grid((4, 4), 0), (1, 1), users=50)
    good = released(query, heap(50))
    other = released(Query(Grid((4, 4), 0), (1, 1), users=50, group=9), heap(50))

    for bad in (
        [],
        [good, good],
        [other],
        [good._replace(values=good.values[:-1])],
        [good._replace(values=[0.5] * len(good.values))],
    ):
        with pytest.raises(ValueError, match=r"Give those|Recover with|Take it as"):
            recover(query, bad)


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": (1, 100_000)},
        {"epsilon": (17, 1)},
        {"epsilon": 1.0},
        {"users": 0},
        {"points": 0},
        {"axes": 1},
        {"axes": 3},
        {"groups": "best"},
        {"group": 0},
        {"estimator": "em"},
        {"grid": Grid((0, 4), 0)},
        {"grid": Grid((4096, 4096), 0)},
        {"grid": Grid((1 << 17, 1), 0)},
        {"readings": 10**6},
    ],
)
def test_a_query_without_meaning_is_refused(bad: dict[str, Any]) -> None:
    """Before anything is planned, with a sentence that says what would do."""
    with pytest.raises(ValueError, match="must be"):
        Query(**{"grid": Grid((4, 4), 0), "epsilon": (1, 1), **bad})
