"""Places, device half: the law of an answer, and the footprint that it is drawn from."""

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.core.entropy import Tape
from edge.core.records import Reading
from edge.mechanisms import disk
from edge.mechanisms.footprint import MOST, exp_floor
from tests.edge.mechanisms.disk_law import At, a_round, disc, enumerated, law, walked

# The device half of disk: the law of an answer, for every cell, against an enumeration.

# Shapes with borders of every kind, and footprints: a cell, a disc, a cross, a square, rings.
SHAPES = [(1, 1), (4, 1), (1, 3), (2, 2), (3, 2), (2, 5)]
FOOTPRINTS = {
    "a cell": (0, 1, 4, 2, 1, 1, 0),
    "one ring": (1, 1, 4, 2, 1, 1, 1, 2, 0, 1, 3),
    "a cross": (2, 1, 4, 2, 1, 3, 0),
    "a square": (2, 2, 9, 2, 1, 3, 0, 2, 0, 1, 0),
    "rings": (3, 1, 7, 2, 1, 1, 3, 5, 4, 2, 1, 2, 6, 3, 0, 1, 1),
    "full, then parts": (3, 2, 9, 2, 1, 2, 2, 5, 3, 3, 0, 0, 1, 4),
    "weights that do not fall": (2, 1, 5, 2, 1, 0, 3, 1, 5, 2, 0, 1, 5),
    "no information": (1, 3, 3, 1, 10, 0, 2, 3, 3, 0, 1, 3),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FOOTPRINTS)
def test_every_answer_has_its_weight_and_no_other(name: str, shape: tuple[int, int]) -> None:
    """Every number that can be drawn, for every cell: corners, borders, lines and single cells."""
    round, meant = a_round(shape, FOOTPRINTS[name]), law(shape, FOOTPRINTS[name])
    table = disk.Table(round)

    for cell, weights in meant.items():
        assert enumerated(round, cell, table) == weights
        assert table.total == sum(weights.values())


@st.composite
def footprints(draw: st.DrawFn) -> tuple[int, ...]:
    """Any params that are in order, with small weights."""
    reach, far = draw(st.integers(0, 5)), draw(st.integers(1, 3))
    near = far + draw(st.integers(0, 6))
    found, end, y = [reach, far, near, 3, 1], reach, 0
    while y <= end:
        parts = draw(st.integers(0, end - y + 1))
        weights = draw(st.lists(st.integers(far, near), min_size=parts, max_size=parts))
        found += [end - y + 1 - parts, parts, *weights]
        if draw(st.integers(0, 4)) == 0:
            break
        y, end = y + 1, end - draw(st.integers(0, 2))
    return tuple(found)


@given(footprints(), st.sampled_from(SHAPES))
@settings(deadline=None, max_examples=60)
def test_any_footprint_in_order_is_answered_by_its_own_law(
    params: tuple[int, ...], shape: tuple[int, int]
) -> None:
    """Rows that end early, weights that rise, footprints with long arms: whatever is planned."""
    round, meant = a_round(shape, params), law(shape, params)
    table = disk.Table(round)

    for cell, weights in meant.items():
        assert enumerated(round, cell, table) == weights


@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (1, 4), (3, 3)])
@pytest.mark.parametrize("reach", [0, 1, 3, 10])
def test_weights_of_32_bits_have_their_law_too(shape: tuple[int, int], reach: int) -> None:
    """Nobody counts to 2**40: runs of numbers with one answer, by their first and last."""
    params = disc(reach if shape != (1, 1) else 0)
    round, meant = a_round(shape, params), law(shape, params)
    table = disk.Table(round)

    for cell, weights in meant.items():
        assert walked(round, cell, table, weights) == weights


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reach", [0, 1, 2, 4])
@pytest.mark.parametrize("epsilon", [(1, 10), (1, 1), (7, 2)])
def test_no_two_cells_are_told_apart_by_more_than_epsilon(
    shape: tuple[int, int], reach: int, epsilon: tuple[int, int]
) -> None:
    """What the device does, not what the plan says: every pair of cells, every answer."""
    round = a_round(shape, disc(reach if shape != (1, 1) else 0, 1 << 16, epsilon))
    table, meant = disk.Table(round), law(shape, round.params)
    found = [walked(round, cell, table, meant[cell]) for cell in meant]

    assert len({frozenset(one) for one in found}) == 1, "an answer that one cell never gives"
    assert len({sum(one.values()) for one in found}) == 1
    worst = max(max(one[z] for one in found) / min(one[z] for one in found) for z in found[0])
    assert worst <= mpmath.exp(mpmath.mpf(epsilon[0]) / epsilon[1])
    assert len(found) == 1 or worst > 1


def test_a_cell_outside_the_grid_counts_as_the_nearest() -> None:
    """Dropped, or answered by a law of its own, it would tell that somebody was outside."""
    round = a_round((3, 2), FOOTPRINTS["rings"])
    table, meant = disk.Table(round), law((3, 2), FOOTPRINTS["rings"])

    for wild, near in {
        (-1, 0): (0, 0),
        (-(10**30), 10**30): (0, 1),
        (3, 1): (2, 1),
        (7, -7): (2, 0),
        (1, 2): (1, 1),
    }.items():
        assert enumerated(round, wild, table) == meant[near]


def test_what_is_drawn_is_asked_for_once_and_knows_no_cell() -> None:
    """One number below the total decides; an answer from anywhere is the same for all cells."""
    round = a_round((3, 2), FOOTPRINTS["rings"])
    table = disk.Table(round)
    for u in range(table.total):
        source = At(u)
        near, x, y = disk.draw(table, source)
        answers = {
            disk.veil(round, Reading(9, (a, b)), (near, x, y))[1] - near * (b * table.columns + a)
            for a in range(3)
            for b in range(2)
        }

        assert source.asked == [table.total]
        assert len(answers) == 1


def test_the_payload_is_the_sensor_and_one_place() -> None:
    """One number more, such as the true cell, would need no mechanism at all."""
    round = a_round((3, 2), FOOTPRINTS["rings"])
    payloads = [disk.report(round, Reading(12, (1, 1)), Tape(bytes([n]))) for n in range(60)]

    assert {len(payload) for payload in payloads} == {2}
    assert {payload[0] for payload in payloads} == {12}
    assert len({payload[1] for payload in payloads}) > 15


@pytest.mark.parametrize(
    "values",
    [
        *(
            (1.5, 0),
            (0, 2.25),
            (1.0, 0.0),
            (True, False),
            (float("nan"), 0),
            (float("inf"), 0),
            (1,),
            (1, 2, 3),
            "12",
        ),
        *(("1.5", 0), ("1.5, 2.25", 0), (None, 0), None, 7, ([1], 0)),
    ],
)
def test_what_is_no_cell_is_refused_without_a_word_of_it(values: object) -> None:
    """Rounded in silence, a reader's mistake would move people; told, it would tell."""
    round = a_round((3, 2), FOOTPRINTS["rings"])
    with pytest.raises(ValueError, match="not give 2 whole numbers") as why:
        disk.report(round, Reading(0, values), Tape(b"x"))

    with pytest.raises(ValueError, match="whole numbers") as same:
        disk.report(round, Reading(0, None), Tape(b"x"))

    assert str(why.value) == str(same.value)
    assert why.value.__context__ is None, "a traceback would show it"


def test_a_draw_or_a_table_of_another_round_is_refused() -> None:
    """Its law is not the one that was promised, and its places are not of this array."""
    wide, narrow = a_round((3, 2), FOOTPRINTS["rings"]), a_round((3, 2), FOOTPRINTS["a cell"])
    with pytest.raises(ValueError, match="table of another round"):
        disk.report(narrow, Reading(0, (0, 0)), Tape(b"x"), disk.Table(wide))
    for drawn in ((1, 3, 0), (1, 0, -1), (0, 3, 0), (0, 0, -1), (2, 0, 0)):
        with pytest.raises(ValueError, match="not of round 1"):
            disk.veil(narrow, Reading(0, (0, 0)), drawn)


def test_the_release_counts_every_answer_in_its_place() -> None:
    """And nothing else: with no true cell in it, the counts are the answers'."""
    round = a_round((3, 2), FOOTPRINTS["one ring"])
    answers = [disk.report(round, Reading(n, (n % 3, n % 2)), Tape(bytes([n]))) for n in range(99)]
    released = disk.release(round, answers, None)

    assert len(released.values) == 5 * 4
    assert [answers.count([n, place]) for n, place in answers] == [1] * 99
    assert released.values == [sum(one[1] == place for one in answers) for place in range(20)]
    assert (released.round, released.reports) == (round, 99)


@pytest.mark.parametrize(
    "payload", [[5, 20], [5, -1], [5, 0], [5, 4], [5, 19], [5, 15], [5], [5, 7, 7], []]
)
def test_an_answer_that_no_device_gives_is_refused(payload: list[int]) -> None:
    """Beyond the array, or in a corner that no footprint reaches: it would bend the map."""
    with pytest.raises(ValueError, match="outside the cells of round 1"):
        disk.release(a_round((3, 2), (1, 1, 4, 2, 1, 2, 0)), [[1, 17], payload], None)


def test_a_sensor_that_answers_twice_is_refused() -> None:
    """One device must not speak for several."""
    with pytest.raises(ValueError, match="2 sensors sent 3 answers"):
        disk.release(a_round((3, 2), FOOTPRINTS["one ring"]), [[1, 7], [2, 7], [1, 8]], None)


# A Round whose weights are not what its epsilon allows, or no footprint at all, is refused.

GOOD = (2, 10, 25, 1, 1, 2, 1, 14, 1, 1, 12)  # two rows: x = 0, 1 | 2 and x = 1 | 2


def changed(place: int, value: int) -> tuple[int, ...]:
    return (*GOOD[:place], value, *GOOD[place + 1 :])


@pytest.mark.parametrize(
    ("params", "why"),
    [
        (changed(2, exp_floor(1, 1, 10) + 1), "more than epsilon allows"),
        (changed(4, 2), "more than epsilon allows"),
        (changed(7, 9), "weight 9, not from 10 to 25"),
        (changed(7, 26), "weight 26, not from 10 to 25"),
        (changed(10, 9), "weight 9, not from 10 to 25"),
        (changed(7, -14), "weight -14"),
        (changed(1, 0), "weights 0 to 25"),
        (changed(1, -10), "weights -10 to 25"),
        (changed(2, 9), "weights 10 to 9"),
        (changed(3, 0), "epsilon 0/1"),
        (changed(4, 0), "epsilon 1/0"),
        (changed(3, -1), "epsilon -1/1"),
        (changed(3, 65), "must be 0 to 64"),
        (changed(0, 1), "ends at 2 with reach 1"),
        (changed(0, 3), "ends at 2 with reach 3"),
        (changed(0, -2), "reach -2"),
        ((*GOOD[:5], *GOOD[8:], *GOOD[5:8]), "ends at 1 with reach 2"),
        ((0, *GOOD[1:5], 1, 0, 2, 0), "row 1 that ends at 2, after row 0"),
        ((*GOOD, 0, 0), "row 2 of 0 full"),
        ((*GOOD, 2), "row 2 of 0 full"),
        (changed(5, -1), "row 0 of -1 full"),
        (changed(6, -1), "row 0 of 2 full cells and -1"),
        (GOOD[:-1], "row 1 of 1 full cells and 1 others"),
        (changed(9, 7), "row 1 of 1 full cells and 7 others"),
        (GOOD[:5], "with 5 params"),
        (GOOD[:6], "with 6 params"),
        ((), "with 0 params"),
        ((1 << 20, 10, 25, 1, 1, (1 << 20) + 1, 0), "tells 2\\*\\*31 apart"),
    ],
)
def test_a_footprint_that_is_not_in_order_is_refused(params: tuple[int, ...], why: str) -> None:
    """What a device does with it would have another law than the one that was promised."""
    with pytest.raises(ValueError, match=why):
        disk.Table(a_round((3, 2), params))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (-1, 2)])
def test_a_grid_without_cells_is_refused(shape: tuple[int, int]) -> None:
    """Nothing can be nearest there."""
    with pytest.raises(ValueError, match="at least one cell"):
        disk.Table(a_round(shape, GOOD))


@pytest.mark.parametrize("epsilon", [(1, 10), (1, 1), (7, 2), (10, 1)])
def test_the_greatest_weight_that_epsilon_allows_is_taken_and_one_more_is_not(
    epsilon: tuple[int, int],
) -> None:
    """The bound is the one of `exp_floor`, to the last unit."""
    near = exp_floor(*epsilon, 1 << 32)
    disk.Table(a_round((4, 4), (0, 1 << 32, near, *epsilon, 1, 0)))
    with pytest.raises(ValueError, match="more than epsilon allows"):
        disk.Table(a_round((4, 4), (0, 1 << 32, near + 1, *epsilon, 1, 0)))


@pytest.mark.parametrize("shape", [(3, 2), (5, 1), (1, 4), (1, 1), (20, 20)])
@pytest.mark.parametrize("reach", [0, 1, 2, 5, 10])
def test_the_outer_domain_is_what_the_footprints_cover(shape: tuple[int, int], reach: int) -> None:
    """Counted run by run on the device, cell by cell here."""
    params = disc(reach if shape != (1, 1) else 0)

    assert disk.Table(a_round(shape, params)).cells == len(law(shape, params)[0, 0])


@pytest.mark.parametrize(
    ("shape", "reach", "bits"),
    [((128, 256), 0, 16), ((181, 181), 0, 16), ((182, 182), 0, 32), ((32767, 1), 1, 32)],
)
def test_a_report_is_as_wide_as_the_outer_array_asks(
    shape: tuple[int, int], reach: int, bits: int
) -> None:
    """Signed numbers of 16 bits tell 32768 cells apart, whatever is answered."""
    assert disk.bits(a_round(shape, (reach, 10, 25, 1, 1, reach + 1, 0))) == bits


@pytest.mark.parametrize("shape", [(1000, 1000), (1 << 20, 1), (1, 1 << 20)])
def test_a_large_radius_takes_no_more_memory_than_its_rows(shape: tuple[int, int]) -> None:
    """A cross of any arm, a line as long as it may be: nothing is kept for each cell."""
    reach = 10000
    table = disk.Table(a_round(shape, (reach, 10, 25, 1, 1, reach + 1, 0)))

    assert sum(len(one) for one in (table.ends, table.fulls, table.at, table.upto)) == 4
    assert table.cells == (
        shape[0] * shape[1] + 2 * reach * sum(side for side in shape if side > 1)
        if min(shape) > 1
        else shape[0] * shape[1] + 2 * reach
    )


# The exponential from below: never above the true one, and not far under it.

SCALE = 1 << 32


def short(num: int, den: int, scale: int) -> mpmath.mpf:
    """Return by how much it is below, in units of the scale, with 80 digits."""
    with mpmath.workdps(80):
        return scale * mpmath.exp(mpmath.mpf(num) / den) - exp_floor(num, den, scale)


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.sampled_from([1 << 16, SCALE]))
def test_it_is_never_above_and_at_most_two_units_below(num: int, den: int, scale: int) -> None:
    """Above, a device would accept weights that tell more than epsilon; below, waste it."""
    num = num % (10 * den + 1)

    assert 0 <= short(num, den, scale) < 2


TENTHS = [(n, 10) for n in (1, 7, 14, 21, 28, 35, 50, 70, 90, 100, 160, 320, 640)]


@pytest.mark.parametrize(("num", "den"), [*TENTHS, (0, 1), (1, 10**18), (10**19 - 1, 10**19)])
def test_the_epsilons_of_the_paper_and_the_largest_of_all(num: int, den: int) -> None:
    """As tight at 64 as at a tenth, at none at all, and of the largest numbers of a message."""
    assert 0 <= short(num, den, SCALE) < 2


@pytest.mark.parametrize(("num", "den", "scale"), [(-1, 1, 8), (1, 0, 8), (1, 1, -1), (65, 1, 8)])
def test_what_is_no_epsilon_is_refused(num: int, den: int, scale: int) -> None:
    """A hostile epsilon must not keep a device busy for ever either."""
    with pytest.raises(ValueError, match=f"0 to {MOST}"):
        exp_floor(num, den, scale)
