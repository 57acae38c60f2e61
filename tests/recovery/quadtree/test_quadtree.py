"""Asking again where people are: budgets, squares, and how sure the map is."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.core.entropy import Tape
from edge.core.grid import depth
from edge.core.records import Grid, Reading, Release
from edge.mechanisms.quadtree import params_of, release, report
from gateway.mechanisms.quadtree.crowd import release_crowd
from physics.points import histogram, mnormal
from recovery.maps.heatmap import Heatmap, Unresolved
from recovery.quadtree import Query, plan, recover
from recovery.quadtree.estimate import Counts, count_squares, estimate_density
from recovery.quadtree.schedule import epsilon_of, group_by_map, grow_squares, predict_deviation
from recovery.quadtree.tree import find_owners, find_parents, paint_squares, square_of

GRID = Grid((16, 16), 0)


def query(users: int = 1000, **changed: object) -> Query:
    return replace(Query(GRID, (1, 1), "zero-out", users), **changed)  # type: ignore[arg-type]


def crowd(users: int, side: int = 16, seed: int = 1) -> np.ndarray:
    """Return how many people are in each cell: two crowds and a few others."""
    world = np.random.default_rng(seed)
    places = np.concatenate(
        [
            world.normal((0.3, 0.3), 0.03, (users // 2, 2)),
            world.normal((0.8, 0.6), 0.1, (users // 3, 2)),
            world.random((users - users // 2 - users // 3, 2)),
        ]
    )
    cells = np.clip((places * side).astype(int), 0, side - 1)
    return np.bincount(cells[:, 0] * side + cells[:, 1], minlength=side * side).reshape(side, side)


def played(asked: Query, cells: np.ndarray, seed: bytes = b"play") -> list[Release]:
    rng, releases = Tape(seed), []
    present = asked.users
    while made := plan(asked, releases):
        releases.append(release_crowd(made, cells, present, rng))
    return releases


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 50), st.integers(1, 9), st.integers(2, 9000), st.integers(0, 99))
def test_all_rounds_together_cost_epsilon_exactly(
    num: int, den: int, users: int, seed: int
) -> None:
    """Whatever comes back: no fraction of the budget is spent twice, and none is left."""
    asked = query(users, epsilon=(num, den), shard=1000)
    rng, releases = Tape(bytes([seed])), []
    while made := plan(asked, releases):
        values = [rng.below(2 * users) - users // 2 for _ in params_of(made).squares]
        releases.append(Release(made, values, users))

    assert sum(epsilon_of(one.round) for one in releases) == Fraction(num, den)
    assert len(releases) <= 4
    assert all(type(part) is int for one in releases for part in one.round.params)


def test_the_first_epsilon_makes_noise_as_wide_as_is_aimed_at() -> None:
    """Equations 7 and 8: b n / L, over all shards together."""
    for users, shards in ((9000, 1), (90_000, 9)):
        asked = query(users, aim=0.05)
        made = plan(asked, ())
        assert made is not None
        p = params_of(made)

        assert p.shards == shards
        assert predict_deviation(p, epsilon_of(made), shards) == pytest.approx(
            0.05 * users / 4, rel=1e-3
        )
        q = math.exp(-float(epsilon_of(made)))
        assert predict_deviation(p, epsilon_of(made), 1) == pytest.approx(
            math.sqrt(2 * q) / (1 - q)
        )


def test_a_square_is_split_where_its_count_is_above_the_noise_to_come() -> None:
    """Equation 6, at the count and one above; and a child that is there already is left."""
    asked = query(users=1000, prior=((2, 0, 0),))
    made = plan(asked, ())
    assert made is not None
    p = params_of(made)
    assert p.squares == (1, 16)  # the whole, less its first sixteenth
    left = 1 - epsilon_of(made)
    edge = 2 * predict_deviation(p, max(left, epsilon_of(made)), 1)

    below = Release(made, [math.floor(edge), 0], 1000)
    above = Release(made, [math.floor(edge) + 1, 0], 1000)
    assert grow_squares(asked, [below]) == (1, 16)
    assert grow_squares(asked, [above]) == (4, 5, 6, 7, 16)
    assert grow_squares(asked, [Release(made, [-5, 999], 1000)]) == (1, 64, 65, 66, 67)


def test_the_last_round_takes_the_rest() -> None:
    """Equation 9: nothing new, no round left, or too little left for more than one."""
    asked = query(rounds=2)
    made = plan(asked, ())
    assert made is not None

    still = plan(asked, [Release(made, [0, 0, 0, 0], 1000)])
    assert still is not None
    assert epsilon_of(still) == 1 - epsilon_of(made)
    full = plan(asked, [Release(made, [250] * 4, 1000)])
    assert full is not None
    assert epsilon_of(full) == 1 - epsilon_of(made)
    assert len(params_of(full).squares) == 16
    short = plan(query(users=20), ())
    assert short is not None
    assert epsilon_of(short) == 1


def test_squares_that_fall_back_take_no_turns() -> None:
    """None falls back that the Round before has made; a parent must be counted to be split."""
    asked = query(collapse=0.5, users=4000)
    first = plan(asked, ())
    assert first is not None
    releases = [Release(first, [4000, 0, 0, 0], 4000)]
    assert grow_squares(asked, releases) == (5, 6, 7, 16, 17, 18, 19)
    second = plan(asked, releases)
    assert second is not None
    releases.append(Release(second, [0, 0, 0, 0, 0, 0, 4000], 4000))
    assert grow_squares(asked, releases) == (5, 6, 7, 16, 17, 18, 76, 77, 78, 79)
    third = plan(asked, releases)
    assert third is not None
    releases.append(Release(third, [0] * 10, 4000))

    squares = grow_squares(asked, releases)
    assert squares == (4, 5, 6, 7, 76, 77, 78, 79)
    assert find_parents(squares, params_of(third).squares) is None


@settings(max_examples=40, deadline=None)
@given(
    st.sets(st.builds(lambda n, k: 4**n + k % 4**n, st.integers(0, 4), st.integers(0, 255))),
    st.integers(1, 16),
    st.integers(1, 16),
)
def test_every_cell_is_owned_once(some: set[int], columns: int, rows: int) -> None:
    """On any grid, whatever is listed: areas add up, and what owns nothing is left out."""
    deepest = depth(Grid((columns, rows), 0))
    squares = find_owners({one for one in some if one < 2 * 4**deepest}, (columns, rows))
    where = paint_squares(squares, (columns, rows))
    owner = where.expand_to_cells(np.arange(len(squares), dtype=float)).astype(int)

    assert where.area.min() > 0
    assert (np.bincount(owner.ravel(), minlength=len(squares)) == where.area).all()
    for y, x in np.ndindex(rows, columns):
        held = square_of(deepest, x, y)
        while held not in squares:
            held >>= 2
        assert squares[owner[y, x]] == held


def test_one_by_one_and_all_at_once_are_counted_alike() -> None:
    """With noise near nothing the devices' own sum is the vectorised one."""
    cells = crowd(60)
    asked = query(60, epsilon=(60, 1), shard=20, aim=0.001)
    rng, releases = Tape(b"one"), []
    people = np.repeat(np.arange(256), cells.ravel())
    while made := plan(asked, releases):
        payloads = [
            report(made, Reading(n, (int(cell) % 16, int(cell) // 16)), rng)
            for n, cell in enumerate(people)
        ]
        one = release(made, payloads, rng)
        assert one == release_crowd(made, cells, 60, rng)
        releases.append(one)

    found = recover(asked, releases)
    assert isinstance(found, Heatmap)
    assert found.mass.sum() == pytest.approx(1)


def test_all_rounds_are_nearer_than_the_last_alone() -> None:
    """What was paid for is used; the variance that remains is the one that is seen."""
    cells = crowd(3000)
    asked = query(3000, rounds=3, aim=0.02, reserve=1.0, shard=1000)
    errors: dict[str, list[float]] = {"all": [], "last": []}
    known: dict[str, list[float]] = {"all": [], "last": []}
    for seed in range(30):
        releases = played(asked, cells, bytes([seed]))
        for name in errors:
            found = count_squares(replace(asked, estimator=name), releases)
            owner = found.painted.expand_to_cells(
                np.arange(len(found.squares), dtype=float)
            ).astype(int)
            true = np.bincount(owner.ravel(), cells.ravel(), len(found.squares))
            errors[name].append(float(np.square(found.devices - true).mean()))
            known[name].append(float(found.variance.mean()))

    assert np.mean(errors["all"]) < 0.95 * np.mean(errors["last"])
    for name in errors:
        assert np.mean(known[name]) == pytest.approx(np.mean(errors[name]), rel=0.15)


def test_the_best_estimate_is_that_of_least_squares() -> None:
    """Two walks over the forest give what the normal equations give, variances too."""
    cells = crowd(20_000)
    asked = query(20_000, rounds=3, shard=5000)
    releases = played(asked, cells)
    squares = params_of(releases[-1].round).squares
    rows, values, weights = [np.ones(len(squares))], [20_000.0], [1e6]
    for one in releases:
        p = params_of(one.round)
        link = find_parents(squares, p.squares)
        assert link is not None
        for place, value in enumerate(one.values):
            rows.append((link == place).astype(float))
            values.append(value)
            weights.append(1 / predict_deviation(p, epsilon_of(one.round), p.shards) ** 2)
    a, w = np.array(rows), np.array(weights)
    inverse = np.linalg.inv(a.T @ (a * w[:, None]))
    found = count_squares(asked, releases)

    assert len(releases) == 3
    assert found.devices == pytest.approx(inverse @ (a.T @ (w * values)), abs=1e-3)
    assert found.variance == pytest.approx(np.diag(inverse), rel=1e-4)


def test_a_cell_is_as_far_off_as_its_deviation_says() -> None:
    """Nine in ten of those with somebody, in squares left whole too; half as wide would not."""
    world = np.random.default_rng(3)
    held, narrow = [], []
    for seed in range(10):
        cells = histogram(mnormal(20_000, world), Grid((16, 16), 0))
        asked = Query(Grid((16, 16), 0), (1, 1), "zero-out", 20_000, rounds=4, shard=20_000)
        found = recover(asked, played(asked, cells, bytes([seed])))
        assert isinstance(found, Heatmap)
        off = np.abs(found.mass - cells / 20_000)[cells > 0]
        held.append((off <= 1.645 * found.sd[cells > 0]).mean())
        narrow.append((off <= 0.8 * found.sd[cells > 0]).mean())

    assert 0.84 < np.mean(held) < 0.97
    assert np.mean(narrow) < 0.75


@pytest.mark.parametrize(("epsilon", "lost"), [((1, 1), False), ((1, 10**6), True)])
def test_a_map_of_noise_alone_is_labelled(epsilon: tuple[int, int], lost: bool) -> None:
    """Where a square's noise is as large as everybody together."""
    asked = query(60, epsilon=epsilon)
    found = recover(asked, played(asked, crowd(60)))

    assert isinstance(found, Heatmap)
    assert (found.status != "optimal") == lost


def test_nobody_is_no_map() -> None:
    """Where no shard was opened there is nothing to draw, and the budget is spent all the same."""
    asked = query(rounds=1)
    made = plan(asked, ())
    assert made is not None
    nothing = Release(made, [0] * len(params_of(made).squares), 0)

    assert isinstance(recover(asked, [nothing]), Unresolved)
    assert plan(asked, [nothing]) is None


def test_a_round_that_nobody_opened_is_asked_again_with_what_is_left() -> None:
    """Its epsilon is spent; prices add up to the whole, as epsilons do."""
    asked = query(100_000, epsilon=(1, 1))
    first = plan(asked, ())
    assert first is not None
    releases = [Release(first, [], 0)]
    again = plan(asked, releases)
    assert again is not None
    assert params_of(again).squares == params_of(first).squares
    while made := plan(asked, releases):
        counts = [made.number * 1000] * len(params_of(made).squares)
        releases.append(Release(made, counts, 100_000))

    assert len(releases) > 2
    assert sum(epsilon_of(one.round) for one in releases) == 1
    assert sum(Fraction(*one.round.guarantee.rho) for one in releases) == Fraction(1, 2)


def test_several_maps_share_epsilon_and_each_begins_anew() -> None:
    """Each with a third, from the whole grid on, and drawn from its own rounds alone."""
    asked, cells = query(readings=3, epsilon=(2, 1)), crowd(1000)
    releases = played(asked, cells)
    several = group_by_map(asked, releases)
    firsts = [params_of(rounds[0].round).squares for rounds in several]

    assert [release.round.number for release in releases] == list(range(1, len(releases) + 1))
    assert [sum(epsilon_of(one.round) for one in rounds) for rounds in several] == [
        Fraction(2, 3)
    ] * 3
    assert sum(Fraction(*one.round.guarantee.rho) for one in releases) == 2
    assert firsts == [firsts[0]] * 3
    assert len(params_of(several[0][-1].round).squares) > len(firsts[0])
    found, alone = recover(asked, releases), recover(query(epsilon=(2, 3)), several[2])
    assert isinstance(found, Heatmap)
    assert isinstance(alone, Heatmap)
    assert np.array_equal(found.mass, alone.mass)
    lost = [one._replace(values=[], reports=0) for one in releases[len(several[0]) :]]
    first = recover(asked, several[0] + lost)  # of the sums that were opened last
    assert isinstance(first, Heatmap)
    assert not np.array_equal(first.mass, found.mass)


def test_the_promise_says_who_must_be_trusted() -> None:
    """By the whole numbers of its Round."""
    asked = query(10_000, shard=100, dropout=(1, 10), colluders=(1, 5), epsilon=(3, 2))
    made = plan(asked, ())
    p = params_of(made)

    assert (p.shards, p.threshold, p.colluders) == (100, 90, 20)
    assert made.guarantee.epsilon == (3, 2)
    for words in ("A secure sum sees to that", "at least 90 devices", "at most 20 collude"):
        assert words in made.guarantee.trust


def test_sums_do_not_wrap() -> None:
    """Twice the devices and twenty-eight scales of noise fit into the bits of a sum."""
    for users, epsilon in ((10_000, (1, 1)), (500, (1, 1000)), (10_000, (20, 1))):
        asked = query(users, epsilon=epsilon, kind="systematic", scale=1000)
        made = plan(asked, ())
        assert made is not None
        p = params_of(made)
        scale = 1000 * p.den / p.num

        assert 2**p.bits > 2 * (min(users, 10_000) * 1000 + 27.7 * scale)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"adjacency": "add"}, "zero-out, replace-one"),
        ({"epsilon": (1, 0)}, "epsilon"),
        ({"epsilon": (65, 1)}, "at most 64"),
        ({"users": -1}, "users"),
        ({"readings": 0}, "readings"),
        ({"dropout": (1, 2), "colluders": (1, 2)}, "nobody is left"),
        ({"depth": 11}, "depth"),
        ({"collapse": 3.0}, "collapse"),
        ({"prior": ((1, 0, 0), (2, 1, 1))}, "overlaps"),
        ({"prior": ((2, 1, 1), (2, 1, 1))}, "overlaps"),
        ({"prior": ((2, 4, 0),)}, "columns?"),
        ({"grid": Grid((2048, 1024), 0)}, "larger cells"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(changed: dict[str, object], why: str) -> None:
    """Before anybody is asked."""
    with pytest.raises(ValueError, match=why):
        query(**changed)


def test_releases_of_another_query_are_refused() -> None:
    """Their noise and squares are others, and the map would be wrong."""
    releases = played(query(rounds=2), crowd(1000))
    for other in (query(users=999), query(adjacency="replace-one"), query(shard=100)):
        with pytest.raises(ValueError, match="not this query's"):
            recover(other, releases)


def test_full_squares_do_not_pay_for_the_noise_of_empty_ones() -> None:
    """Their shares are the true ones within the noise: scaled down, each would be too small."""
    squares = tuple(square_of(3, column, row) for column in range(8) for row in range(8))
    truth, world = np.zeros(64), np.random.default_rng(1)
    truth[::6] = 100.0
    scaled, found = [], []
    for _ in range(30):
        noisy = truth + world.laplace(0, 5.0, 64)
        counts = Counts(
            squares, paint_squares(squares, (8, 8)), noisy, np.full(64, 50.0), truth.sum(), 1
        )
        mass, sd = estimate_density(counts)
        kept = np.maximum(noisy, 0)
        scaled.append((kept / kept.sum() - truth / truth.sum())[truth > 0].mean())
        found.append((counts.painted.expand_to_cells(truth / truth.sum()) - mass)[mass > 0.05])

        assert mass.sum() == pytest.approx(1.0)
        assert sd.max() == pytest.approx(math.sqrt(50) / truth.sum())
    off = math.sqrt(50) / truth.sum()
    assert abs(np.concatenate(found).mean()) < off < -2 * np.mean(scaled)
