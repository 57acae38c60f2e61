"""What devices were given, also those that came when some of the budget was spent."""

import json
from pathlib import Path

import pytest

from edge.core import limits, tightening
from gateway.devices.enrol import enrol, limitsfile
from gateway.devices.enrol.limitsfile import Given
from gateway.faults import OperatorFault
from gateway.mechanisms import serving
from gateway.mechanisms.thermal.granting import unspent

# One answer costs 10**9 * 1 / (2 * 50) = 10**7 nano-rho; twenty of them.
WHOLE = limits.Limits(1, 8, 1, 50, 20 * 10**7, 0)
KEY = b"key."
TIGHTER = serving("thermal").tighter


@pytest.mark.parametrize(("answers", "left"), [(0, 20), (1, 19), (19, 1)])
def test_who_comes_later_has_what_is_left_and_all_else_alike(answers: int, left: int) -> None:
    """Budgets add up to what was promised; noise, grain and pace are the fleet's."""
    later = unspent(WHOLE, answers * 10**7)

    assert later == WHOLE._replace(budget=left * 10**7)


@pytest.mark.parametrize("before", [19 * 10**7 + 1, 20 * 10**7, 10**18])
def test_less_than_one_answer_is_nothing(before: int) -> None:
    """A nano-rho short of an answer is not an answer."""
    with pytest.raises(OperatorFault, match="not one answer"):
        unspent(WHOLE, before)


def test_tighter_limits_take_from_a_late_device_what_it_never_had() -> None:
    """Half the budget for all: 10 answers, and for who came after 5 of them the other 5.

    As a control, a device that was there from the beginning has all ten.
    """
    known = {
        "old": Given(KEY, WHOLE),
        "late": Given(KEY, unspent(WHOLE, 5 * 10**7), 5 * 10**7),
        "last": Given(KEY, unspent(WHOLE, 12 * 10**7), 12 * 10**7),
    }
    wished = WHOLE._replace(budget=10 * 10**7)
    sent = limitsfile.plan_next(known, known, wished, None, TIGHTER)

    assert {name: one.budget // 10**7 for name, one in sent.items()} == {
        "old": 10,
        "late": 5,
        "last": 0,
    }
    assert all(not tightening.looser(known[name].limits, one) for name, one in sent.items())


def test_the_same_again_is_sent_as_it_was() -> None:
    """A late device would else be given another version of the same."""
    late = Given(KEY, unspent(WHOLE, 5 * 10**7)._replace(version=3), 5 * 10**7)
    sent = limitsfile.plan_next(["late"], {"late": late}, WHOLE, None, TIGHTER)

    assert sent == {"late": late.limits}


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
