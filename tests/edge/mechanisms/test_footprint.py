"""A Round whose weights are not what its epsilon allows, or no footprint at all, is refused."""

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.mechanisms import disk
from edge.mechanisms.expo import MOST, exp_floor
from tests.edge.mechanisms.disk_law import a_round, disc, law

GOOD = (2, 10, 25, 1, 1, 2, 1, 14, 1, 1, 12)  # two rows: x = 0, 1 | 2 and x = 1 | 2


def changed(place: int, value: int) -> tuple[int, ...]:
    return (*GOOD[:place], value, *GOOD[place + 1 :])


def test_what_is_in_order_is_taken() -> None:
    """Else what follows would refuse anything."""
    assert disk.Table(a_round((3, 2), GOOD)).total == sum(law((3, 2), GOOD)[1, 1].values())


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
    """The bound is the one of `expo`, to the last unit."""
    near = exp_floor(*epsilon, 1 << 32)
    disk.Table(a_round((4, 4), (0, 1 << 32, near, *epsilon, 1, 0)))
    with pytest.raises(ValueError, match="more than epsilon allows"):
        disk.Table(a_round((4, 4), (0, 1 << 32, near + 1, *epsilon, 1, 0)))


def test_radius_zero_is_the_true_cell_or_any_other() -> None:
    """Which is randomised response over the cells, and legal."""
    table = disk.Table(a_round((3, 2), (0, 10, 27, 1, 1, 1, 0)))

    assert (table.columns, table.rows, table.cells) == (3, 2, 6)
    assert (table.inner, table.total) == (17, 6 * 10 + 17)


@pytest.mark.parametrize(
    ("shape", "array"),
    [
        ((3, 2), (7, 6, 2, 2)),
        ((5, 1), (9, 1, 2, 0)),
        ((1, 5), (1, 9, 0, 2)),
        ((1, 1), (1, 1, 0, 0)),
    ],
)
def test_the_outer_array_has_room_for_the_reach_where_the_grid_has_a_side(
    shape: tuple[int, int], array: tuple[int, int, int, int]
) -> None:
    """A line has no reach across it: there is nobody beside it."""
    assert disk.outer(a_round(shape, GOOD).grid, 2) == array


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


@pytest.mark.parametrize("tenths", [1, 7, 14, 21, 28, 35, 50, 70, 90, 100, 160, 320, 640])
def test_the_epsilons_of_the_paper_and_the_largest_of_all(tenths: int) -> None:
    """The guard bits grow with epsilon, so it is as tight at 64 as at a tenth."""
    assert 0 <= short(tenths, 10, SCALE) < 2


@pytest.mark.parametrize(("num", "den"), [(0, 1), (1, 10**18), (10**19 - 1, 10**19)])
def test_odd_ratios_are_no_exception(num: int, den: int) -> None:
    """No epsilon at all, next to none, and the largest numbers that a message can hold."""
    assert 0 <= short(num, den, SCALE) < 2


@pytest.mark.parametrize(("num", "den", "scale"), [(-1, 1, 8), (1, 0, 8), (1, 1, -1), (65, 1, 8)])
def test_what_is_no_epsilon_is_refused(num: int, den: int, scale: int) -> None:
    """A hostile epsilon must not keep a device busy for ever either."""
    with pytest.raises(ValueError, match=f"0 to {MOST}"):
        exp_floor(num, den, scale)
