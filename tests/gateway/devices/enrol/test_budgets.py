"""The budgets of a virtual fleet: kept by one, never forgotten, and one lost stops one device."""

import json
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from edge.core import tightening
from edge.core.budget import Limits
from edge.core.window import pack_first
from edge.mechanisms import disk_limits
from gateway.cli.devices.change import sum_nano_rho
from gateway.devices.enrol import budgets, enrol, limitsfile
from gateway.devices.enrol.capped import (
    check_limits_match,
    make_capped_limits,
    make_remaining_limits,
)
from gateway.devices.enrol.check import find_exposed_secrets
from gateway.devices.enrol.limitsfile import GivenLimits
from gateway.faults import OperatorFault
from gateway.mechanisms import find_serving
from gateway.mechanisms.thermal.granting import reduce_limits
from gateway.service.ledger import Charge
from gateway.settings import config
from gateway.settings.deployment import Deployment
from tests import processes

LIMITS = Limits(1, 8, 1, 10_000, 10**6, 0)

KEEPER = """
import sys
from pathlib import Path
from gateway.devices.enrol import budgets
with budgets.open_slot_folder(Path(sys.argv[1])):
    print("kept", flush=True)
    sys.stdin.read()
"""


def fleet(folder: Path, devices: int = 3) -> enrol.Secrets:
    """Enrol a fleet whose budgets are in this folder."""
    made = enrol.enrol_fleet("lab", devices)
    folder.mkdir(exist_ok=True)
    with budgets.open_slot_folder(folder) as place:
        budgets.write_first_budgets(made, LIMITS, place)
    return made.secrets


def start(folder: Path, secrets: enrol.Secrets) -> budgets.BootedDevices:
    with budgets.open_slot_folder(folder) as place:
        return budgets.boot_devices(secrets, place)


def test_every_start_is_another_epoch_and_forgets_no_charge(tmp_path: Path) -> None:
    """A counter that a crash sets back would draw the same noise for another reading."""
    secrets, spent = fleet(tmp_path / "state"), []
    for epoch in (1, 2, 3):
        started = start(tmp_path / "state", secrets)
        for who, budget in started.devices:
            assert budget.epoch == epoch
            assert budget.charge(1000, epoch)
            spent.append((who.name, budget.spent))

    assert [name for name, _ in spent[:3]] == ["node-0", "node-1", "node-2"]
    # Each on the disk by itself: a start loses nothing that the next one could still say.
    assert [much for _, much in spent] == [1000] * 3 + [2000] * 3 + [3000] * 3


@pytest.mark.long
@pytest.mark.parametrize("clock", ["monotonic_ns", "clock_gettime_ns"])
def test_a_window_ages_by_a_counter_that_no_time_server_changes(
    monkeypatch: pytest.MonkeyPatch, clock: str
) -> None:
    """The former runs up to a twelfth faster while a daemon sets the clock."""
    made, place = enrol.enrol_fleet("lab", 1), budgets.keep_slots_in_memory()
    budgets.write_first_budgets(made, LIMITS, place, pack_first(3600, LIMITS.budget))
    ((_, budget),) = budgets.boot_devices(made.secrets, place).devices
    assert budget.charge(1000, 1)
    now_ns = getattr(time, clock)
    monkeypatch.setattr(time, clock, lambda *which: now_ns(*which) + 7200 * 10**9)
    budget.age(pytest.fail)

    assert (budget.left == LIMITS.budget) == (clock == "clock_gettime_ns")


def test_two_fleets_do_not_run_on_one_folder(tmp_path: Path) -> None:
    """Two devices with one key would hide two readings under one noise."""
    folder = tmp_path / "state"
    secrets = fleet(folder)
    keeper = processes.Child(
        [sys.executable, "-c", KEEPER, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert keeper.stdout.readline() == "kept\n"
    with pytest.raises(OperatorFault, match="a fleet that runs keeps .*Stop that fleet first"):
        start(folder, secrets)
    keeper.kill()
    keeper.communicate()

    assert len(start(folder, secrets).devices) == 3  # even kill -9 leaves no lock behind


def cut(folder: Path) -> None:
    for i in (0, 1):
        path = folder / f"node-1.{i}"
        path.write_bytes(path.read_bytes()[:50])


def forged(folder: Path) -> None:
    for i in (0, 1):
        path = folder / f"node-1.{i}"
        data = bytearray(path.read_bytes())
        data[20] ^= 1
        path.write_bytes(data)


def swapped(folder: Path) -> None:
    for i in (0, 1):
        (folder / f"node-1.{i}").write_bytes((folder / f"node-2.{i}").read_bytes())


def gone(folder: Path) -> None:
    for i in (0, 1):
        (folder / f"node-1.{i}").unlink()


@pytest.mark.parametrize("spoil", [cut, forged, swapped, gone])
def test_a_device_whose_budget_is_lost_stays_off_and_the_others_go_on(
    tmp_path: Path, spoil: Any
) -> None:
    """Cut short, forged, another's, or not there: it is told which, why, and what to do."""
    folder = tmp_path / "state"
    secrets = fleet(folder)
    spoil(folder)
    evidence = {path.name: path.read_bytes() for path in folder.glob("node-1.*")}
    started = start(folder, secrets)

    assert [who.name for who, _ in started.devices] == ["node-0", "node-2"]
    (sentence,) = started.off
    assert sentence.startswith("device node-1 stays off: ")
    assert "enrol the device again" in sentence
    assert {path.name: path.read_bytes() for path in folder.glob("node-1.*")} == evidence


def test_a_folder_set_back_in_one_slot_is_noticed(tmp_path: Path) -> None:
    """An old copy brought back would spend again what was spent."""
    folder = tmp_path / "state"
    secrets = fleet(folder, 1)
    old = (folder / "node-0.0").read_bytes()
    for _ in range(3):
        start(folder, secrets)
    (folder / "node-0.0").write_bytes(old)
    with pytest.raises(OperatorFault, match="no device can start; device node-0 stays off"):
        start(folder, secrets)


def test_a_lost_folder_needs_new_keys(tmp_path: Path) -> None:
    """Starting at nothing spent and boot 1 would say everything once more under the old noise."""
    secrets = fleet(tmp_path / "state")
    (tmp_path / "state").rename(tmp_path / "elsewhere")
    with pytest.raises(OperatorFault, match=r"No such file.*enrol the fleet again"):
        start(tmp_path / "state", secrets)
    (tmp_path / "state").mkdir()
    with pytest.raises(OperatorFault, match=r"no device can start.*enrol the device again"):
        start(tmp_path / "state", secrets)


def test_a_budget_is_not_given_twice(tmp_path: Path) -> None:
    """What is there could be all that is known of what was said."""
    folder = tmp_path / "state"
    fleet(folder)
    with pytest.raises(OperatorFault, match="the budget of node-0 cannot be made"):
        fleet(folder)


def test_the_slots_are_for_their_owner_alone(tmp_path: Path) -> None:
    """They hold the key of the running boot's noise."""
    fleet(tmp_path / "state")

    assert {path.stat().st_mode & 0o77 for path in (tmp_path / "state").iterdir()} == {0}


# Secrets that others may read are told, each with what it opens.


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    """Return the sample deployment, with its secrets for their owner alone."""
    path = tmp_path / "gateway.toml"
    text = (
        config.make_sample()
        .replace("# token_file", "token_file")
        .replace("# viewer_token_file", "viewer_token_file")
        .replace("# password_file", "password_file")
    )
    path.write_text(text)
    (tmp_path / "broker").mkdir()
    secrets = ("devices.json", "broker/gateway.password", "page.token", "viewer.token")
    for name in (*secrets, "db.password"):
        (tmp_path / name).write_text("secret")
        (tmp_path / name).chmod(0o600)
    return config.load_deployment(path)


def test_what_is_for_its_owner_alone_is_not_told(deployment: Deployment) -> None:
    """Nor what is not there at all."""
    assert list(find_exposed_secrets(deployment, {})) == []
    deployment.site.devices.unlink()
    assert list(find_exposed_secrets(deployment, {})) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o444])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("devices.json", "forge"),
        ("broker/gateway.password", "as the gateway"),
        ("page.token", "read the page and its API"),
        ("viewer.token", "as a viewer"),
        ("db.password", "what was spent"),
    ],
)
def test_what_others_may_read_is_told_with_what_it_opens(
    deployment: Deployment, tmp_path: Path, name: str, words: str, mode: int
) -> None:
    """And how to mend it."""
    (tmp_path / name).chmod(mode)
    (sentence,) = find_exposed_secrets(deployment, {})
    assert words in sentence
    assert f"(mode {mode:04o})" in sentence
    assert sentence.endswith(f"chmod 600 {tmp_path / name}")


def test_what_a_service_manager_keeps_is_its_own_business(
    deployment: Deployment, tmp_path: Path
) -> None:
    """Credentials of systemd have a mode of their own."""
    (tmp_path / "page.token").chmod(0o444)
    assert list(find_exposed_secrets(deployment, {"CREDENTIALS_DIRECTORY": str(tmp_path)})) == []


# What devices were given, also those that came when some of the budget was spent.


# One answer costs 10**9 * 1 / (2 * 50) = 10**7 nano-rho; twenty of them.
WHOLE = Limits(1, 8, 1, 50, 20 * 10**7, 0)
KEY = b"key."
TIGHTER = find_serving("thermal").tighter


def test_tighter_limits_take_from_a_late_device_what_it_never_had() -> None:
    """Half the budget for all: 10 answers, and for who came after 5 of them the other 5.

    As a control, a device that was there from the beginning has all ten.
    """
    known = {
        "old": GivenLimits(KEY, WHOLE),
        "late": GivenLimits(KEY, reduce_limits(WHOLE, 5 * 10**7), 5 * 10**7),
        "last": GivenLimits(KEY, reduce_limits(WHOLE, 12 * 10**7), 12 * 10**7),
    }
    wished = WHOLE._replace(budget=10 * 10**7)
    sent = limitsfile.plan_next_limits(known, known, wished, TIGHTER)

    assert {name: one.budget // 10**7 for name, one in sent.items()} == {
        "old": 10,
        "late": 5,
        "last": 0,
    }
    assert all(
        not tightening.explain_loosening(known[name].limits, one) for name, one in sent.items()
    )
    # The same again is sent as it was: a version that came with other limits is refused.
    given = {name: one._replace(limits=sent[name]) for name, one in known.items()}
    assert limitsfile.plan_next_limits(given, given, wished, TIGHTER) == sent
    with pytest.raises(OperatorFault, match="does not list the current limits of another"):
        limitsfile.plan_next_limits(["another"], known, wished, TIGHTER)


def test_it_is_found_again_and_a_file_from_before_says_nothing_of_it(tmp_path: Path) -> None:
    """`before` is nought where no one wrote it; what is no number is refused."""
    path, devices = (
        tmp_path / "devices.json",
        enrol.derive_gateway_half(enrol.enrol_fleet("lab", 1).secrets),
    )
    (name,) = devices.by_name
    given = {name: GivenLimits(devices.by_name[name].key_id, WHOLE, 7, 0, (1, 64, 24))}
    limitsfile.save_limits(path, "lab", given)
    assert limitsfile.load_limits(path, devices) == given
    limitsfile.save_limits(path, "lab", {name: given[name]._replace(key_id=bytes(4))})
    # Of an older enrolment: new keys begin anew
    assert limitsfile.load_limits(path, devices) == {}
    limitsfile.save_limits(path, "lab", given)

    held = json.loads(limitsfile.locate_limits(path).read_text())
    del held["devices"][0]["before"], held["devices"][0]["following"]
    limitsfile.locate_limits(path).write_text(json.dumps(held))
    assert limitsfile.load_limits(path, devices) == {
        name: given[name]._replace(before=0, following=())
    }
    levels = (("following", [1, 64]), ("following", [1, 64, 23.9]))
    for word, wrong in (("before", -1), ("before", "7"), ("before", 1.5), *levels):
        held["devices"][0] |= {"before": 0, word: wrong}
        limitsfile.locate_limits(path).write_text(json.dumps(held))
        with pytest.raises(OperatorFault, match="cannot be read"):
            limitsfile.load_limits(path, devices)


# Limits of a pure promise: all that a device may answer adds up to what was promised.

EPSILONS = [Fraction(7, 2), Fraction(1, 3), Fraction(7, 3), Fraction(997, 1000), Fraction(16)]
EPSILONS += [Fraction(1, 997), Fraction(101, 7), Fraction(1, 1000)]


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("readings", [1, 3, 24])
def test_a_budget_pays_for_all_readings_and_for_no_more(epsilon: Fraction, readings: int) -> None:
    """By the device's own reckoning: all the answers that were promised, and no epsilon more."""
    held = make_capped_limits(epsilon, readings, 60)

    cost = disk_limits.price(held, *epsilon.as_integer_ratio())
    assert held.budget == readings * cost
    assert Fraction(*disk_limits.total_epsilon(held)) == readings * epsilon
    assert not disk_limits.exceeds(held, *epsilon.as_integer_ratio())
    louder = epsilon * Fraction(102, 100)
    assert disk_limits.exceeds(held, *louder.as_integer_ratio())


@pytest.mark.parametrize("readings", [1, 7])
@pytest.mark.parametrize("mechanism", ["disk", "ranks", "pyramid", "pyramid_sum", "quadtree"])
def test_a_device_is_enrolled_for_what_is_promised(mechanism: str, readings: int) -> None:
    """Exactly; but for the rounds of a tree, whose uneven prices are each rounded up."""
    more: dict[str, Any] = {mechanism: {"devices": 100}}
    if mechanism == "quadtree":
        more[mechanism]["adjacency"] = "replace-one"
    site = Deployment(
        room={"cells": [4, 4]},
        privacy={"epsilon": "7/2", "readings": readings},
        rounds={"mechanism": mechanism},
        **more,
    )
    held = find_serving(mechanism).limits(config.make_query(site), 60.0)

    above = Fraction(*disk_limits.total_epsilon(held)) - Fraction(7, 2)
    rounds = 64 * readings if mechanism == "quadtree" else 0
    assert above == rounds * Fraction(2, 10**9) / Fraction(7, 2)


@pytest.mark.parametrize("readings", [1, 7])
def test_a_sum_goes_on_with_devices_that_an_earlier_version_enrolled(readings: int) -> None:
    """Their answers paid for parts of one cap, rounded up; no other cap and no more budget."""
    site = Deployment(
        room={"cells": [4, 4]},
        privacy={"epsilon": "7/2", "readings": readings},
        rounds={"mechanism": "pyramid_sum"},
        pyramid_sum={"devices": 100},
    )
    query, served = config.make_query(site), find_serving("pyramid_sum")
    whole = make_capped_limits(Fraction(7, 2), 1, 60)
    former = whole._replace(budget=whole.budget + readings)
    held = {"new": served.limits(query, 60.0), "old": former}
    served.check_held(query, dict.fromkeys(held, 1), held)

    assert readings * disk_limits.price(former, 7, 2 * readings) <= former.budget
    above = Fraction(*disk_limits.total_epsilon(former)) - Fraction(7, 2)
    assert above == readings * Fraction(2, 10**9) / Fraction(7, 2)
    wrong = [make_capped_limits(Fraction(5, 2), 1, 60)]
    if readings > 1:
        wrong.append(former._replace(budget=former.budget + 1))
    for own in wrong:
        with pytest.raises(OperatorFault, match="another price"):
            served.check_held(query, {"old": 1}, {"old": own})
    with pytest.raises(OperatorFault, match="exactly one"):
        served.check_held(query, {"old": 2}, {"old": former})


@pytest.mark.parametrize("parts", [2, 7, 1000])
def test_cheap_answers_add_up_to_no_more_than_dear_ones(parts: int) -> None:
    """Who forges Rounds of a small epsilon would else get more than the promised sum."""
    epsilon = Fraction(7, 3)
    held = make_capped_limits(epsilon, 4, 60)
    small = epsilon / parts

    answers = held.budget // disk_limits.price(held, *small.as_integer_ratio())
    assert answers * small <= 4 * epsilon
    # Priced by the square, as noise is, they would.
    by_square = -(-(10**9) * small**2 // 2)
    assert held.budget // by_square * small > 4 * epsilon


def test_an_epsilon_that_cannot_be_counted_exactly_is_refused() -> None:
    """Rounded, its answers would add up to a little more than was promised."""
    with pytest.raises(OperatorFault, match="fewer digits"):
        make_capped_limits(Fraction(1, 999_999_937), 1, 60)


def test_devices_are_held_to_what_they_were_enrolled_for() -> None:
    """A Round beyond the cap is refused by each of them, and is paid for all the same."""
    wished = make_capped_limits(Fraction(1, 2), 4, 60)
    check_limits_match(wished, {"a": wished, "fewer": wished._replace(budget=1, version=2)})

    for other in (
        make_capped_limits(Fraction(1, 4), 4, 60),
        make_capped_limits(Fraction(1), 4, 60),
        Limits(1, 8, wished.square, wished.variance, 10**9, 0),  # of a thermometer
    ):
        with pytest.raises(OperatorFault, match="b was enrolled for another price"):
            check_limits_match(wished, {"a": wished, "b": other})


@pytest.mark.parametrize("epsilon", [*EPSILONS, Fraction(27, 4879), Fraction(7, 45)], ids=str)
@pytest.mark.parametrize("answered", [1, 22, 23])
def test_who_comes_later_has_the_answers_that_are_left(epsilon: Fraction, answered: int) -> None:
    """Where the cap is above epsilon the ledger counts less for an answer than devices do."""
    whole = make_capped_limits(epsilon, 24, 60)
    spent = sum_nano_rho([Charge(epsilon * epsilon / 2)] * answered)

    later = make_remaining_limits(whole, epsilon, 24, spent)
    cost = disk_limits.price(whole, *epsilon.as_integer_ratio())
    assert later == whole._replace(budget=(24 - answered) * cost)
    assert Fraction(*disk_limits.total_epsilon(later)) == (24 - answered) * epsilon
