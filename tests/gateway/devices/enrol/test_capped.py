"""Limits of a pure promise: all that a device may answer adds up to what was promised."""

from fractions import Fraction

import pytest

from edge.core.limits import Limits
from edge.mechanisms import disk_limits
from gateway.cli.devices import counted
from gateway.devices.enrol.capped import capped, check_capped, remaining
from gateway.faults import OperatorFault
from gateway.service.ledger import Charge

EPSILONS = [Fraction(7, 2), Fraction(1, 3), Fraction(7, 3), Fraction(997, 1000), Fraction(16)]
EPSILONS += [Fraction(1, 997), Fraction(101, 7), Fraction(1, 1000)]


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("readings", [1, 3, 24])
def test_a_budget_pays_for_all_readings_and_for_no_more(epsilon: Fraction, readings: int) -> None:
    """By the device's own reckoning: all the answers that were promised, and no epsilon more."""
    held = capped(epsilon, readings, 60)

    cost = disk_limits.price(held, *epsilon.as_integer_ratio())
    assert held.budget == readings * cost
    assert Fraction(*disk_limits.promised(held)) == readings * epsilon
    assert not disk_limits.exceeds(held, *epsilon.as_integer_ratio())
    louder = epsilon * Fraction(102, 100)
    assert disk_limits.exceeds(held, *louder.as_integer_ratio())


@pytest.mark.parametrize("parts", [2, 7, 1000])
def test_cheap_answers_add_up_to_no_more_than_dear_ones(parts: int) -> None:
    """Who forges Rounds of a small epsilon would else get more than the promised sum."""
    epsilon = Fraction(7, 3)
    held = capped(epsilon, 4, 60)
    small = epsilon / parts

    answers = held.budget // disk_limits.price(held, *small.as_integer_ratio())
    assert answers * small <= 4 * epsilon
    # Priced by the square, as noise is, they would.
    by_square = -(-(10**9) * small**2 // 2)
    assert held.budget // by_square * small > 4 * epsilon


def test_an_epsilon_that_cannot_be_counted_exactly_is_refused() -> None:
    """Rounded, its answers would add up to a little more than was promised."""
    with pytest.raises(OperatorFault, match="fewer digits"):
        capped(Fraction(1, 999_999_937), 1, 60)


def test_devices_are_held_to_what_they_were_enrolled_for() -> None:
    """A Round beyond the cap is refused by each of them, and is paid for all the same."""
    wished = capped(Fraction(1, 2), 4, 60)
    check_capped(wished, {"a": wished, "fewer": wished._replace(budget=1, version=2)})

    for other in (
        capped(Fraction(1, 4), 4, 60),
        capped(Fraction(1), 4, 60),
        Limits(1, 8, wished.square, wished.variance, 10**9, 0),  # of a thermometer
    ):
        with pytest.raises(OperatorFault, match="b was enrolled to tell another amount"):
            check_capped(wished, {"a": wished, "b": other})


@pytest.mark.parametrize("epsilon", [*EPSILONS, Fraction(27, 4879), Fraction(7, 45)], ids=str)
@pytest.mark.parametrize("answered", [1, 22, 23])
def test_who_comes_later_has_the_answers_that_are_left(epsilon: Fraction, answered: int) -> None:
    """Where the cap is above epsilon the ledger counts less for an answer than devices do."""
    whole = capped(epsilon, 24, 60)
    spent = counted([Charge(epsilon * epsilon / 2)] * answered)

    later = remaining(whole, epsilon, 24, spent)
    cost = disk_limits.price(whole, *epsilon.as_integer_ratio())
    assert later == whole._replace(budget=(24 - answered) * cost)
    assert Fraction(*disk_limits.promised(later)) == (24 - answered) * epsilon


@pytest.mark.parametrize("before", [23 * 6125 * 10**6 + 1, 24 * 6125 * 10**6, 10**18])
def test_less_than_one_answer_is_nothing(before: int) -> None:
    """Part of an answer that was asked was asked."""
    with pytest.raises(OperatorFault, match="not one answer"):
        remaining(capped(Fraction(7, 2), 24, 60), Fraction(7, 2), 24, before)
