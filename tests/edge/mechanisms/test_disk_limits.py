"""What answers of a disk device cost: in proportion to epsilon, whose sum is promised."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.core import tightening
from edge.core.limits import Limits, objection, price
from edge.mechanisms import disk_limits

CAPS = st.tuples(st.integers(1, 200), st.integers(1, 60))


@given(CAPS, st.integers(1, 10**4))
def test_the_enrolled_answers_are_paid_for_and_no_further_one(
    cap: tuple[int, int], answers: int
) -> None:
    """Neither one answer fewer by a rounding, nor one more."""
    limits = disk_limits.enrolled(*cap, answers)

    assert objection(limits) == ""
    assert limits.budget // disk_limits.price(limits, *cap) == answers
    assert disk_limits.price(limits, *cap) == price(limits, 0, limits.variance)


@given(CAPS, st.integers(1, 50), st.lists(CAPS, min_size=1, max_size=80))
def test_many_cheap_answers_never_exceed_the_promised_sum(
    cap: tuple[int, int], answers: int, asked: list[tuple[int, int]]
) -> None:
    """Charged by the square, a hundred answers of a tenth would cost what one of one costs."""
    limits = disk_limits.enrolled(*cap, answers)
    left, total = limits.budget, Fraction(0)
    for num, den in asked:
        cost = disk_limits.price(limits, num, den)
        if cost <= left and not disk_limits.exceeds(limits, num, den):
            left, total = left - cost, total + Fraction(num, den)

    assert total <= Fraction(*disk_limits.promised(limits))
    assert Fraction(*disk_limits.promised(limits)) <= answers * Fraction(*cap) * Fraction(
        10**9 + 2 * cap[1] ** 2 + 1, 10**9
    )


@given(CAPS, CAPS)
def test_an_answer_costs_at_least_its_rho(cap: tuple[int, int], asked: tuple[int, int]) -> None:
    """The ledger counts rho for all mechanisms; a pure epsilon is at most epsilon**2 / 2 of it."""
    limits = disk_limits.enrolled(*cap, 1)
    if not disk_limits.exceeds(limits, *asked):
        epsilon = Fraction(*asked)

        assert disk_limits.price(limits, *asked) >= 10**9 * epsilon * epsilon / 2


@pytest.mark.parametrize(
    ("asked", "more"), [((7, 2), False), ((3501, 1000), True), ((14, 4), False), ((4, 1), True)]
)
def test_the_largest_epsilon_is_exact(asked: tuple[int, int], more: bool) -> None:
    """In whole numbers, whatever the ratio looks like."""
    assert disk_limits.exceeds(disk_limits.enrolled(7, 2, 1), *asked) == more


def test_limits_that_are_no_squares_are_taken_to_the_safe_side() -> None:
    """Somebody's limits of a thermometer, say: no larger epsilon, and no smaller price."""
    odd, above = Limits(1, 0, 2, 1, 10**9, 0), Limits(1, 0, 4, 1, 10**9, 0)

    assert disk_limits.exceeds(odd, 3, 2)
    assert not disk_limits.exceeds(odd, 7, 5)
    assert disk_limits.price(odd, 1, 1) == disk_limits.price(above, 1, 1)


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (Limits(2, 0, 1, 4, 5 * 10**9, 0), "add up to more"),
        (Limits(2, 0, 1, 4, 25 * 10**8 + 1, 0), "add up to more"),
        (Limits(2, 0, 4, 1, 5 * 10**9, 0), "larger epsilon"),
        (Limits(2, 0, 5, 4, 10**9, 0), "larger epsilon"),
        (Limits(2, 0, 1, 4, 25 * 10**8, 0), ""),
        (Limits(2, 0, 9, 36, 25 * 10**8, 0), ""),
        (Limits(2, 0, 1, 1, 4 * 10**9, 60000), ""),
    ],
)
def test_limits_only_become_tighter_for_epsilon_too(new: Limits, why: str) -> None:
    """A smaller epsilon for each answer makes it cheaper: the sum must not grow by that."""
    held = disk_limits.enrolled(1, 1, 10)

    assert held.budget == 5 * 10**9
    assert tightening.looser(held, new) == ""
    found = disk_limits.looser(held, new)

    assert why in found
    assert bool(why) == bool(found)


@given(CAPS, st.integers(1, 30), CAPS, st.integers(1, 10**11), st.integers(0, 10**11))
def test_what_is_left_after_a_tightening_is_never_more_epsilon(
    cap: tuple[int, int], answers: int, other: tuple[int, int], budget: int, spent: int
) -> None:
    """However much was spent before it."""
    held = disk_limits.enrolled(*cap, answers)
    new = Limits(2, 0, other[0] ** 2, other[1] ** 2, min(budget, held.budget), 0)
    spent %= held.budget + 1
    if disk_limits.looser(held, new) == "":
        before = Fraction(*disk_limits.promised(held)) * (held.budget - spent) / held.budget
        left = max(new.budget - spent, 0)
        after = Fraction(*disk_limits.promised(new)) * left / new.budget

        assert after <= before


@pytest.mark.parametrize("given_", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_limits_that_allow_nothing_are_not_made(given_: tuple[int, int, int]) -> None:
    """A device that is enrolled for nothing is a mistake."""
    with pytest.raises(ValueError, match="are no limits"):
        disk_limits.enrolled(*given_)
