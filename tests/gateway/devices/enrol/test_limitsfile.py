"""What devices were given, also those that came when some of the budget was spent."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from edge.core import limits, tightening
from edge.core.limits import Limits
from edge.mechanisms import disk_limits
from gateway.cli.devices.change import sum_charges
from gateway.devices.enrol import enrol, limitsfile
from gateway.devices.enrol.capped import cap_limits, check_capped, remain_of
from gateway.devices.enrol.limitsfile import Given
from gateway.faults import OperatorFault
from gateway.mechanisms import find_service
from gateway.mechanisms.thermal.granting import reduce_budget
from gateway.service.ledger import Charge

# One answer costs 10**9 * 1 / (2 * 50) = 10**7 nano-rho; twenty of them.
WHOLE = limits.Limits(1, 8, 1, 50, 20 * 10**7, 0)
KEY = b"key."
TIGHTER = find_service("thermal").tighter


def test_tighter_limits_take_from_a_late_device_what_it_never_had() -> None:
    """Half the budget for all: 10 answers, and for who came after 5 of them the other 5.

    As a control, a device that was there from the beginning has all ten.
    """
    known = {
        "old": Given(KEY, WHOLE),
        "late": Given(KEY, reduce_budget(WHOLE, 5 * 10**7), 5 * 10**7),
        "last": Given(KEY, reduce_budget(WHOLE, 12 * 10**7), 12 * 10**7),
    }
    wished = WHOLE._replace(budget=10 * 10**7)
    sent = limitsfile.plan_next(known, known, wished, TIGHTER)

    assert {name: one.budget // 10**7 for name, one in sent.items()} == {
        "old": 10,
        "late": 5,
        "last": 0,
    }
    assert all(not tightening.looser(known[name].limits, one) for name, one in sent.items())


def test_it_is_found_again_and_a_file_from_before_says_nothing_of_it(tmp_path: Path) -> None:
    """`before` is nought where no one wrote it; what is no number is refused."""
    path, devices = (
        tmp_path / "devices.json",
        enrol.derive_devices(enrol.enrol_fleet("lab", 1).secrets),
    )
    (name,) = devices.by_name
    given = {name: Given(devices.by_name[name].key_id, WHOLE, 7)}
    limitsfile.save(path, "lab", given)
    assert limitsfile.load(path, devices) == given

    held = json.loads(limitsfile.locate(path).read_text())
    del held["devices"][0]["before"]
    limitsfile.locate(path).write_text(json.dumps(held))
    assert limitsfile.load(path, devices)[name].before == 0
    for wrong in (-1, "7", 1.5):
        held["devices"][0]["before"] = wrong
        limitsfile.locate(path).write_text(json.dumps(held))
        with pytest.raises(OperatorFault, match="cannot be read"):
            limitsfile.load(path, devices)


# Limits of a pure promise: all that a device may answer adds up to what was promised.

EPSILONS = [Fraction(7, 2), Fraction(1, 3), Fraction(7, 3), Fraction(997, 1000), Fraction(16)]
EPSILONS += [Fraction(1, 997), Fraction(101, 7), Fraction(1, 1000)]


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("readings", [1, 3, 24])
def test_a_budget_pays_for_all_readings_and_for_no_more(epsilon: Fraction, readings: int) -> None:
    """By the device's own reckoning: all the answers that were promised, and no epsilon more."""
    held = cap_limits(epsilon, readings, 60)

    cost = disk_limits.price(held, *epsilon.as_integer_ratio())
    assert held.budget == readings * cost
    assert Fraction(*disk_limits.total_epsilon(held)) == readings * epsilon
    assert not disk_limits.exceeds(held, *epsilon.as_integer_ratio())
    louder = epsilon * Fraction(102, 100)
    assert disk_limits.exceeds(held, *louder.as_integer_ratio())


@pytest.mark.parametrize("parts", [2, 7, 1000])
def test_cheap_answers_add_up_to_no_more_than_dear_ones(parts: int) -> None:
    """Who forges Rounds of a small epsilon would else get more than the promised sum."""
    epsilon = Fraction(7, 3)
    held = cap_limits(epsilon, 4, 60)
    small = epsilon / parts

    answers = held.budget // disk_limits.price(held, *small.as_integer_ratio())
    assert answers * small <= 4 * epsilon
    # Priced by the square, as noise is, they would.
    by_square = -(-(10**9) * small**2 // 2)
    assert held.budget // by_square * small > 4 * epsilon


def test_an_epsilon_that_cannot_be_counted_exactly_is_refused() -> None:
    """Rounded, its answers would add up to a little more than was promised."""
    with pytest.raises(OperatorFault, match="fewer digits"):
        cap_limits(Fraction(1, 999_999_937), 1, 60)


def test_devices_are_held_to_what_they_were_enrolled_for() -> None:
    """A Round beyond the cap is refused by each of them, and is paid for all the same."""
    wished = cap_limits(Fraction(1, 2), 4, 60)
    check_capped(wished, {"a": wished, "fewer": wished._replace(budget=1, version=2)})

    for other in (
        cap_limits(Fraction(1, 4), 4, 60),
        cap_limits(Fraction(1), 4, 60),
        Limits(1, 8, wished.square, wished.variance, 10**9, 0),  # of a thermometer
    ):
        with pytest.raises(OperatorFault, match="b was enrolled for another price"):
            check_capped(wished, {"a": wished, "b": other})


@pytest.mark.parametrize("epsilon", [*EPSILONS, Fraction(27, 4879), Fraction(7, 45)], ids=str)
@pytest.mark.parametrize("answered", [1, 22, 23])
def test_who_comes_later_has_the_answers_that_are_left(epsilon: Fraction, answered: int) -> None:
    """Where the cap is above epsilon the ledger counts less for an answer than devices do."""
    whole = cap_limits(epsilon, 24, 60)
    spent = sum_charges([Charge(epsilon * epsilon / 2)] * answered)

    later = remain_of(whole, epsilon, 24, spent)
    cost = disk_limits.price(whole, *epsilon.as_integer_ratio())
    assert later == whole._replace(budget=(24 - answered) * cost)
    assert Fraction(*disk_limits.total_epsilon(later)) == (24 - answered) * epsilon
