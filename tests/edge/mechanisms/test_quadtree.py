"""What a member of a crowd marks, what it pays, and what it does not answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.core.entropy import Tape
from edge.core.records import Grid, Reading, Round
from edge.mechanisms import quadtree
from edge.mechanisms.quadtree import (
    COUNTS,
    PROPORTIONS,
    STOCHASTIC,
    SYSTEMATIC,
    Params,
    make_marks,
    params_of,
    release,
    report,
    sensitivity,
)
from edge.mechanisms.summing import refusal
from recovery.quadtree.tree import find_owners, place_squares, split_squares, square_of

GRID = Grid((8, 8), 0)


def made(number: int = 1, squares: tuple[int, ...] = (4, 5, 6, 7), **changed: int) -> Round:
    params = Params(COUNTS, 0, 1, 4, 1, 3, 0, 16, 1, 1, squares)._replace(**changed)
    return Round(number, "quadtree", GRID, (*params[:-1], *params.squares), None)


def owner(squares: tuple[int, ...], cell: tuple[int, int]) -> int:
    """Return the smallest square that holds a cell, by geometry alone."""
    best = -1
    for square in squares:
        level, column, row = (int(part[0]) for part in place_squares(np.array([square])))
        side = 8 >> level
        if (cell[0] // side, cell[1] // side) == (column, row):
            best = max(best, square)  # deeper squares have greater numbers
    return best


@settings(max_examples=40, deadline=None)
@given(
    st.sets(st.builds(lambda n, k: 4**n + k % 4**n, st.integers(0, 3), st.integers(0, 63))),
    st.integers(0, 7),
    st.integers(0, 7),
)
def test_a_device_counts_in_the_smallest_square_that_holds_it(
    some: set[int], x: int, y: int
) -> None:
    """Also where squares are missing in between, or a grandchild stands alone."""
    squares = find_owners(some, GRID.shape)
    found = make_marks(made(squares=squares), Reading(0, (x, y)), Tape(b""))

    assert found == [(squares.index(owner(squares, (x, y))), 1)]


def test_a_device_beyond_the_grid_counts_at_its_edge() -> None:
    """Silence would tell that somebody is outside."""
    assert make_marks(made(), Reading(0, (-5, 99)), Tape(b"")) == [(2, 1)]


def test_a_part_of_a_count_is_not_accepted() -> None:
    """What a half would do to a sum of whole numbers nobody knows."""
    with pytest.raises(ValueError, match="whole numbers"):
        report(made(), Reading(0, (1, 0.5)), Tape(b""))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 9)), max_size=6),
    st.integers(1, 50),
    st.binary(max_size=4),
)
def test_parts_of_a_device_add_up_to_its_scale_and_no_more(
    visits: list[tuple[int, int, int]], scale: int, seed: bytes
) -> None:
    """Systematic rounding keeps the sensitivity at the scale; coins need one for each place."""
    squares = find_owners(split_squares([4, 5]) | {4, 5, 6, 7}, GRID.shape)
    reading = Reading(0, tuple(part for visit in visits for part in visit))
    some = any(weight for *_, weight in visits)
    for kind in (SYSTEMATIC, STOCHASTIC):
        asked = made(squares=squares, kind=kind, scale=scale, places=6)
        found = [count for _, count in make_marks(asked, reading, Tape(seed))]

        assert all(count >= 0 for count in found)
        assert sum(found) <= sensitivity(quadtree.params_of(asked))
        if kind == SYSTEMATIC:
            assert sum(found) == scale * some


@pytest.mark.parametrize("kind", [SYSTEMATIC, STOCHASTIC])
def test_each_part_is_its_share_on_average(kind: int) -> None:
    """A part that is always rounded down would lose who is in many places."""
    asked = made(kind=kind, scale=2, places=3)
    rng, total = Tape(b"share"), [0, 0, 0, 0]
    for _ in range(4000):
        for place, count in make_marks(asked, Reading(0, (0, 0, 1, 7, 0, 1, 0, 7, 3)), rng):
            assert abs(count - [0.4, 0.4, 1.2, 0][place]) < 1
            total[place] += count

    assert [count / 4000 for count in total] == pytest.approx([0.4, 0.4, 1.2, 0], abs=0.04)


@pytest.mark.parametrize(("kind", "replace", "most"), [(COUNTS, 0, 1), (PROPORTIONS, 1, 2)])
def test_noise_is_for_who_does_not_collude_and_for_what_one_device_changes(
    kind: int, replace: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those who collude take their parts off again: what is left must be noise enough."""
    asked = []
    monkeypatch.setattr(quadtree, "draw_shares", lambda *given: asked.append(given) or [])
    round = made(kind=kind, replace=replace, num=3, den=2, threshold=10, colluders=4)

    assert quadtree.draw_noise(round, None) == []
    assert asked == [(quadtree.count_sums(round), 6, 3, 2 * most, None)]


def test_yes_and_no_are_counted_apart() -> None:
    """Two numbers a square, of which a device marks one."""
    asked = made(kind=PROPORTIONS)

    assert make_marks(asked, Reading(0, (7, 0, 1)), Tape(b"")) == [(2, 1)]
    assert make_marks(asked, Reading(0, (7, 0, 0)), Tape(b"")) == [(3, 1)]


def test_to_be_elsewhere_changes_twice_as_much() -> None:
    """The factor that the paper's one-hot vector needs where a device is replaced."""
    kinds = [(COUNTS, 1, 1), (SYSTEMATIC, 9, 4), (STOCHASTIC, 9, 4)]
    for (kind, scale, places), most in zip(kinds, (1, 9, 13), strict=True):
        p = quadtree.params_of(made(kind=kind, scale=scale, places=places))

        assert sensitivity(p) == most
        assert sensitivity(p._replace(replace=1)) == 2 * most


def test_sums_are_of_marks_and_wrap_around() -> None:
    """With noise near nothing the sum is the crowd, and negative numbers come back as such."""
    asked = made(num=40, den=1, shards=2, threshold=2)
    rng = Tape(b"sums")
    cells = [(0, 0), (7, 7), (7, 6), (0, 1), (1, 0)]
    payloads = [report(asked, Reading(n, cell), rng) for n, cell in enumerate(cells)]

    assert release(asked, payloads, rng).values == [3, 0, 0, 2]
    payloads[0] = [0, 65535, 0, 0, 0]
    assert release(asked, payloads, rng).values[0] == 1  # -1 in one shard, 2 in the other


def test_a_shard_without_its_threshold_is_never_opened() -> None:
    """It lacks a part of the noise; the others are summed without it."""
    asked = made(num=40, den=1, shards=2, threshold=3)
    rng = Tape(b"short")
    payloads = [report(asked, Reading(n, (0, 0)), rng) for n in (0, 2, 4, 1, 3)]

    found = release(asked, payloads, rng)
    assert (found.values, found.reports) == ([3, 0, 0, 0], 3)
    assert release(asked, payloads[3:], rng).reports == 0


def test_shards_are_apart_and_reports_whole() -> None:
    """A device in two shards would be seen twice for one price."""
    asked = made()
    payload = report(asked, Reading(4, (0, 0)), Tape(b""))
    for payloads, why in (
        ([payload, payload], "twice"),
        ([payload[:-1]], "3 numbers"),
        ([[4, 0, 0, 0, 65536]], "below"),
    ):
        with pytest.raises(ValueError, match=why):
            release(asked, payloads, Tape(b""))


def refused(
    asked: Round,
    newest: int = -1,
    left: tuple[int, int] = (9, 1),
    replace: int = 0,
    shard: tuple[int, int] = (3, 0),
) -> str:
    return str(refusal(params_of(asked), asked.number, newest, left, replace, *shard))


def test_a_device_has_no_more_than_is_left_and_may_give_all_of_it() -> None:
    """Epsilons are compared as fractions."""
    assert refused(made(num=1, den=3), left=(7, 21)) == ""
    assert "is left" in refused(made(num=8, den=23), left=(7, 21))
    assert "is left" in refused(made(), left=(0, 1))


def test_nobody_is_asked_the_same_twice() -> None:
    """Two answers to one Round have two noises, and their mean has less."""
    assert "answered" in refused(made(4), newest=4)
    assert "answered" in refused(made(3), newest=4)
    assert refused(made(5), newest=4) == ""


def test_a_device_believes_no_divisor() -> None:
    """A gateway that says a million in a shard of ten would get no noise at all."""
    assert refused(made(threshold=12, colluders=2), shard=(10, 2)) == ""
    for threshold, colluders in ((10**6, 2), (13, 2), (10, 1)):
        asked = made(threshold=threshold, colluders=colluders)
        assert "holds to" in refused(asked, shard=(10, 2))


def test_a_device_that_hides_where_it_is_answers_no_round_that_does_not() -> None:
    """Half the noise would cost twice the epsilon."""
    assert "hides" in refused(made(), replace=1)
    assert refused(made(replace=1), replace=1) == refused(made(replace=1)) == ""


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": 4},
        {"replace": 2},
        {"num": 0},
        {"den": -4},
        {"shards": 0},
        {"threshold": 0},
        {"colluders": 3},
        {"colluders": -1},
        {"bits": 0},
        {"bits": 63},
        {"scale": 2},
        {"kind": SYSTEMATIC, "places": 0},
    ],
)
def test_a_round_that_makes_no_sense_is_not_answered(changed: dict[str, int]) -> None:
    """Each would be noise of nobody, of another width, or a sum that cannot be read."""
    with pytest.raises(ValueError, match="not answered"):
        report(made(**changed), Reading(0, (0, 0)), Tape(b""))


@pytest.mark.parametrize("squares", [(), (5, 4), (4, 4), (0,), (2,), (3,), (9,), (128,), (256,)])
def test_squares_are_in_order_and_of_the_grid(squares: tuple[int, ...]) -> None:
    """A square twice would be counted twice."""
    assert quadtree.objection(made(squares=squares))
    assert not quadtree.objection(made(squares=(1, square_of(3, 7, 7))))
