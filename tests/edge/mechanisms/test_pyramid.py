"""Pyramid, device half: of a trusted gateway, and of a sum that nobody sees through."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.core.entropy import Tape
from edge.core.grid import depth as depth_of
from edge.core.records import Grid, Guarantee, Reading, Round
from edge.mechanisms import pyramid, pyramid_sum, summing
from edge.mechanisms.pyramid_sum import count_sums, make_marks, objection, params_of, report
from recovery.pyramid_sum import Query, plan

# The device half of pyramid: what a report holds, what is added, and the noise on each level.

PROMISE = Guarantee((1, 1), None, None, "a device", "central", "one report", "presence")


def a_round(
    shape: tuple[int, int] = (8, 8),
    kept: int = 64,
    first: int = 1,
    weights: tuple[int, ...] = (5, 3, 2),
    units: int = 12,
    points: int = 4,
) -> Round:
    params = (units, points, kept, first, 2, 3, *weights)
    return Round(1, pyramid.NAME, Grid(shape, 0), params, PROMISE)


def of(payload: list[int]) -> dict[int, int]:
    """Return the parts of each square in a payload."""
    return {s: n for s, n in zip(payload[1::2], payload[2::2], strict=True) if n}


def test_the_levels_share_epsilon_and_nothing_is_left() -> None:
    """A share for a level that is not measured would be lost, a share too much is not promised."""
    shares = [Fraction(*one) for one in pyramid.epsilons(a_round())]

    assert shares == [Fraction(1, 3), Fraction(1, 5), Fraction(2, 15)]
    assert sum(shares) == Fraction(*pyramid.epsilon(a_round()))


def test_a_cell_has_all_the_mass_on_every_level_and_an_outsider_the_nearest() -> None:
    """Dropping who stands outside would tell that somebody does."""
    round = a_round((5, 3), first=0, weights=(1, 1, 1, 1))

    inside = pyramid.unpack_levels(round, pyramid.report(round, Reading(7, (4, 2)), None))
    outside = pyramid.report(round, Reading(7, (99, 2)), None)

    coarse = a_round((8, 8), first=0, weights=(1, 1))
    two = pyramid.report(coarse, Reading(7, (5, 6, 1, 2, 6, 1)), None)

    assert pyramid.unpack_levels(coarse, two) == [{0: 2}, {3: 1, 2: 1}]
    assert inside == [{0: 12}, {1: 12}, {6: 12}, {20: 12}]
    assert outside == [7, 20, 12, *[0] * 6]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-2, 9), st.integers(-2, 9), st.integers(0, 40)),
        min_size=1,
        max_size=12,
    )
)
def test_several_places_weigh_one_at_most_and_each_its_share(
    places: list[tuple[int, int, int]],
) -> None:
    """More than one mass would be hidden less than promised; rounding must not favour a place."""
    round = a_round()
    payload = pyramid.report(round, Reading(3, tuple(n for place in places for n in place)), None)
    parts = of(payload)
    cells: dict[int, int] = {}
    for x, y, mass in places:
        square = min(max(y, 0), 7) * 8 + min(max(x, 0), 7)
        cells[square] = cells.get(square, 0) + mass
    total = max(sum(cells.values()), 12)
    piece = 1 if len(cells) <= 4 else 3

    assert len(payload) == pyramid.count_numbers(round) == 9
    assert pyramid.make_payload_check(round)(payload) == ""
    assert sum(parts.values()) <= 12
    for square, mass in cells.items():
        assert abs(parts.get(square, 0) - Fraction(12 * mass, total)) < piece
    if piece == 1:
        assert sum(parts.values()) == min(sum(cells.values()), 12)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("shape", [(8, 8), (5, 3), (8, 5), (1, 7), (7, 1), (2, 2)])
def test_a_release_without_its_noise_is_the_sums_of_blocks(
    shape: tuple[int, int], first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever lies in the padding is never measured, and everything else once a level."""
    monkeypatch.setattr(pyramid, "dlaplace", lambda num, den, rng: 0)
    columns, rows = shape
    depth = depth_of(Grid(shape, 0))
    round = a_round(shape, first=first, weights=(1,) * (depth + 1 - first))
    world = np.random.default_rng(4)
    cells = [(int(x), int(y)) for x, y in world.integers(0, shape, (30, 2))]
    payloads = [pyramid.report(round, Reading(i, cell), None) for i, cell in enumerate(cells)]
    full = np.zeros((1 << depth, 1 << depth), dtype=np.int64)
    for x, y in cells:
        full[y, x] += 12

    expected: list[int] = []
    for level in range(first, depth + 1):
        side = 1 << (depth - level)
        blocks = full.reshape(1 << level, side, 1 << level, side).sum(axis=(1, 3))
        expected += blocks[: -(-rows // side), : -(-columns // side)].ravel().tolist()
    released = pyramid.release(round, [*payloads, []], None)

    assert released.values == expected
    assert released.reports == 31


def test_what_is_measured_is_what_measuring_everything_would_give() -> None:
    """Squares that were not reached must change nothing, or skipping their noise would tell."""
    round = a_round((16, 16), kept=3, first=1, weights=(1, 1, 1, 1))
    world = np.random.default_rng(8)
    noisy = {level: world.integers(-9, 10, (1 << level, 1 << level)) for level in range(1, 5)}

    values = pyramid.gather_values(
        round, lambda k, squares: [int(noisy[k + 1].ravel()[s]) for s in squares]
    )

    tried = {(y, x) for y in range(2) for x in range(2)}
    expected = []
    for level in range(1, 5):
        order = sorted(tried)
        expected += [int(noisy[level][cell]) for cell in order]
        best = sorted(order, key=lambda cell: -noisy[level][cell])[:3]
        tried = {(2 * y + a, 2 * x + b) for y, x in best for a in (0, 1) for b in (0, 1)}
    assert values == expected


@pytest.mark.parametrize(
    ("units", "last", "bits"), [(12, 7, 16), (12, 8, 32), (32767, 1, 16), (32768, 1, 32)]
)
def test_a_number_has_room_for_all_parts_and_for_each_square(
    units: int, last: int, bits: int
) -> None:
    """Below 2**15 it takes two bytes, else four."""
    round = a_round((256, 256), units=units, first=last - 1, weights=(1, 1))

    assert pyramid.bits(round) == bits


def spread_of(noise: list[int]) -> float:
    """Return the scale of Laplace noise by its mean size; off by 1 in 64 at 4096 draws."""
    return float(np.mean(np.abs(noise)))


def test_each_level_has_the_noise_of_its_share() -> None:
    """Parts have scale units / epsilon of the level, exactly once; another level's is rejected."""
    round = a_round((64, 64), kept=4096, first=5, weights=(3, 2), units=1000)
    values = pyramid.release(round, [], Tape(b"noise of levels")).values
    scales = [1000 / float(Fraction(*share)) for share in pyramid.epsilons(round)]

    found = [spread_of(values[:1024]), spread_of(values[1024:])]

    assert found == pytest.approx(scales, rel=4 / math.sqrt(1024))
    assert found != pytest.approx(scales[::-1], rel=4 / math.sqrt(1024))


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ([0, 5, 13, 0, 0, 0, 0, 0, 0], "parts are not 0 to 12"),
        ([0, 5, 8, 6, 8, 0, 0, 0, 0], "parts are not 0 to 12"),
        ([0, 5, 8, 6, -8, 0, 0, 0, 0], "parts are not 0 to 12"),
        ([0, 64, 1, 0, 0, 0, 0, 0, 0], "outside the grid"),
        ([0, -1, 1, 0, 0, 0, 0, 0, 0], "outside the grid"),
        ([0, 5, 12], "not a device and 4 squares"),
        ([0, 5, 1.0, 0, 0, 0, 0, 0, 0], "not a device and 4 squares"),
    ],
)
def test_a_payload_that_breaks_the_promise_is_refused(payload: list[int], words: str) -> None:
    """Noise is made for one mass a device: more of it would show."""
    with pytest.raises(ValueError, match=words):
        pyramid.release(a_round(), [payload], Tape(b""))


def test_a_device_counts_once() -> None:
    """Twice the mass would be hidden half as well."""
    round = a_round()
    payload = pyramid.report(round, Reading(3, (1, 1)), None)

    with pytest.raises(ValueError, match="2 answers to round 1"):
        pyramid.release(round, [payload, payload], Tape(b""))


@pytest.mark.parametrize("values", [(), (1, 2, 3, 4), (1, 2, -1), (1,)])
def test_what_is_no_place_is_refused_without_saying_what_came(values: tuple[int, ...]) -> None:
    """A message that held the place would be a second way out."""
    with pytest.raises(ValueError, match="a place is a cell x, y"):
        pyramid.report(a_round(), Reading(0, values), None)


@pytest.mark.parametrize(
    "params",
    [
        (),
        (12, 4, 64, 1, 2, 3),
        (0, 4, 64, 1, 2, 3, 1),
        (12, 4, 64, 1, 2, 3, 0),
        (12, 4, 64, -1, 2, 3, 1),
        (12, 4, 64, 1, 2, 3, 1, 1, 1, 1),
        (12, 4, 64, 1, 2, 3, 1.0),
    ],
)
def test_params_that_mean_nothing_are_objected_to(params: tuple[int, ...]) -> None:
    """A device answers what its Round says, so that what says nothing must not be answered."""
    assert "params that no pyramid" in pyramid.objection(a_round()._replace(params=params))
    assert pyramid.objection(a_round()) == ""


# What a member of a pyramid's secure sum marks, and what it does not answer.

SIDES = st.integers(1, 12)


@settings(max_examples=60, deadline=None)
@given(SIDES, SIDES, st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=4))
def test_each_level_holds_the_mass_in_the_squares_that_hold_the_cells(
    columns: int, rows: int, cells: list[tuple[int, int]]
) -> None:
    """By geometry alone: cells are painted on a padded grid, whose blocks are added up."""
    units, cells = 12, [(x % columns, y % rows) for x, y in cells]
    query = Query(
        Grid((columns, rows), 0), (1, 1), users=9, units=units, places=4, estimator="sparse"
    )
    round = plan(query, ())
    assert round is not None
    values = tuple(n for x, y in cells for n in (x, y, units // len(cells)))
    told = np.zeros(count_sums(round), dtype=int)
    for place, parts in make_marks(round, Reading(0, values), None):
        told[place] += parts

    side = 1 << (max(columns, rows) - 1).bit_length()
    painted = np.zeros((side, side), dtype=int)
    for x, y in cells:
        painted[y, x] += units // len(cells)
    expected: list[Any] = []
    p = params_of(round)
    for level in range(p.first, p.first + len(p.weights)):
        wide = side >> level
        blocks = painted.reshape(1 << level, wide, 1 << level, wide).sum(axis=(1, 3))
        expected += blocks[: -(-rows // wide), : -(-columns // wide)].ravel().tolist()
    assert told.tolist() == expected


def test_noise_is_for_who_does_not_collude_and_of_each_levels_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who stands elsewhere takes 12 parts from one square of a level, for another."""
    asked: list[tuple[int, int, Fraction]] = []

    def shares(size: int, divisor: int, num: int, den: int, rng: Any) -> list[int]:
        asked.append((size, divisor, Fraction(num, den)))
        return [0] * size

    monkeypatch.setattr(pyramid_sum, "draw_shares", shares)
    params = (1, 1, 3, 2, 1, 10, 4, 16, 12, 4, 5, 3)
    round = Round(1, pyramid_sum.NAME, Grid((8, 5), 0), params, None)
    found = pyramid_sum.draw_noise(round, None)

    epsilon = Fraction(3, 2) / (2 * 12)
    assert asked == [(4, 6, epsilon * Fraction(5, 8)), (12, 6, epsilon * Fraction(3, 8))]
    assert found == [0] * 16
    assert [len(squares) for squares in pyramid_sum.list_levels(round)] == [4, 12]


def test_levels_end_with_the_cells_and_no_params_are_missing() -> None:
    """The finest level that there is can be asked for, and none beyond it."""
    params = (3, 1, 1, 1, 1, 9, 1, 16, 12, 4)
    round = Round(1, pyramid_sum.NAME, Grid((8, 8), 0), (*params, 1), None)

    assert objection(round) == ""
    assert "levels" in objection(round._replace(params=(*params, 1, 1)))
    for wrong in (params, (*params, "1")):
        assert "cut short" in objection(round._replace(params=wrong))


@pytest.mark.parametrize(
    ("at", "value", "why"),
    [
        (0, 9, "levels"),
        (1, 0, "hides whether"),
        (2, 0, "not above 0"),
        (8, 0, "parts"),
        (10, 0, "levels"),
    ],
)
def test_a_round_that_means_nothing_is_not_answered(at: int, value: int, why: str) -> None:
    """And the one that was planned is."""
    round = plan(Query(Grid((8, 8), 0), (1, 1), users=9), ())
    assert objection(round) == ""
    wrong: Round = round._replace(params=(*round.params[:at], value, *round.params[at + 1 :]))

    assert why in objection(wrong)
    with pytest.raises(ValueError, match="is not answered"):
        report(wrong, Reading(0, (0, 0)), Tape(b""))


@pytest.mark.parametrize("bits", [1, 62])
def test_sums_have_from_one_bit_to_62(bits: int) -> None:
    """Both ends are answered."""
    round = plan(Query(Grid((8, 8), 0), (1, 1), users=9), ())
    asked = round._replace(params=(*round.params[:7], bits, *round.params[8:]))

    assert objection(asked) == ""


def test_the_upper_half_of_what_a_sum_can_be_is_below_nought() -> None:
    """Noise has both signs, and the sum is opened as the nearest to nought that it can be."""
    round = plan(Query(Grid((8, 8), 0), (1, 1), users=9), ())
    assert round is not None
    params = params_of(round)._replace(bits=4, shards=1, threshold=1)

    assert summing.release(round, [[3, 8, 7, 6, 15]], params, 4).values == [-8, 7, 6, -1]


def test_a_sum_of_too_many_numbers_is_not_planned() -> None:
    """All levels of 512 x 512 cells are a third of a million numbers."""
    with pytest.raises(ValueError, match="at most 100000 numbers"):
        plan(Query(Grid((512, 512), 0), (1, 1), users=9, estimator="sparse"), ())
