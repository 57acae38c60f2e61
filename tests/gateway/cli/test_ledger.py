"""`heatveil ledger`: what it says adds up, and its epsilon is between what others have proved."""

import html
import io
import json
import math
import random
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from edge.core.wire import name_of
from gateway.cli.records import show
from gateway.cli.records.show import BARS
from gateway.devices.enrol.enrol import load_devices
from gateway.faults import ForgottenFault, OperatorFault
from gateway.mechanisms import find_mechanism, plan_first_round
from gateway.service import steps
from gateway.service.intake.outcomes import SecondAnswer
from gateway.service.ledger import Charge, compute_budget_rho, compute_round_rho, make_terms
from gateway.settings import config
from gateway.store.reader import open_reader
from gateway.store.store import Store
from gateway.web import operations
from gateway.web.parts import Parts
from gateway.web.records import Paged
from recovery.maps.guarantee import from_json
from tests import sites

Heatveil = Callable[..., Any]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_whatever_was_charged_the_ledger_is_its_sum(
    kept: Any, heatveil: Heatveil, seed: int
) -> None:
    """The fleet's charges, and of what devices said besides the greatest: added by hand here."""
    world, store = random.Random(seed), Store.open_for(config.load_deployment(kept.path))
    name = bytes(4)
    for _ in range(30):
        rho = Fraction(world.randrange(1, 1000), world.randrange(10**6, 10**7))
        own = Charge(rho, f"node-{world.randrange(6)}")
        store.keep_batch((), extra=[SecondAnswer(name, own, world.randbytes(8))])
    store.close()
    told = json.loads(heatveil("ledger", "--config", kept.path, "--json").out)
    fleet, by_device = Fraction(0), defaultdict(Fraction)
    for one in told["charges"]:
        if one["device"]:
            by_device[one["device"]] += Fraction(one["rho"])
        else:
            fleet += Fraction(one["rho"])

    assert len(told["charges"]) == 33
    assert Fraction(told["spent"]) == fleet + max(by_device.values())
    assert Fraction(told["left"]) == max(Fraction(told["budget"]) - Fraction(told["spent"]), 0)


def test_a_promise_is_ended_for_another_and_what_was_released_stays_under_its_own(
    kept: Any, heatveil: Heatveil, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the same database; what is charged from then on is the price of the new one alone."""
    text = kept.path.read_text()
    before = json.loads(heatveil("ledger", "--config", kept.path, "--json").out)
    with (
        closing(Store.open_for(config.load_deployment(kept.path))) as store,
        store.engine.connect() as connection,
    ):
        was = connection.exec_driver_sql("SELECT name, message FROM rounds ORDER BY name").all()
        released = connection.exec_driver_sql("SELECT * FROM releases ORDER BY round").all()
    delta = re.search(r'delta = "1/(\d+)"', text)
    kept.path.write_text(text.replace(delta[0], f'delta = "1/{int(delta[1]) * 2}"'))
    refused = heatveil("check", "--config", kept.path).out
    assert "heatveil ledger --end-promise" in refused
    monkeypatch.setattr("sys.stdin", io.StringIO())
    stands = heatveil("ledger", "--config", kept.path, "--end-promise")
    assert "the promise stands" in stands.refusal
    assert heatveil("check", "--config", kept.path).out == refused
    ended = heatveil("ledger", "--config", kept.path, "--end-promise", "--yes")
    said = ended.out + ended.err

    assert "Ended after 2 rounds" in said
    assert "pays for both" in " ".join(said.split())
    after = json.loads(heatveil("ledger", "--config", kept.path, "--json").out)
    assert (Fraction(before["spent"]) > 0, Fraction(after["spent"])) == (True, 0)
    cost = f"rho {float(Fraction(before['spent'])):.6g}, epsilon {before['epsilon_spent']:.3g}"
    assert f"another promise, which adds to this: {cost}" in (
        heatveil("ledger", "--config", kept.path).out
    )
    assert "was ended, for good, and node-0 has the key" in (
        heatveil("check", "--config", kept.path).out
    )
    with (
        closing(Store.open_for(config.load_deployment(kept.path))) as store,
        store.engine.connect() as connection,
    ):
        now = connection.exec_driver_sql("SELECT name, message FROM rounds ORDER BY name").all()
        assert now == was
        assert connection.exec_driver_sql("SELECT * FROM releases ORDER BY round").all() == (
            released
        )
    again = heatveil("ledger", "--config", kept.path, "--end-promise", "--yes")
    assert "nothing was charged since the last promise ended at 20" in again.refusal


def test_a_round_of_an_ended_promise_is_none_of_the_next(kept: Any, heatveil: Heatveil) -> None:
    """Not where the next is made with the same words either: its answers were paid for before."""
    first = planned_first(kept)
    with closing(Store.open_for(config.load_deployment(kept.path))) as store:
        assert store.find_message(first) is not None
    assert heatveil("ledger", "--config", kept.path, "--end-promise", "--yes").status == 0
    with closing(Store.open_for(config.load_deployment(kept.path))) as store:
        assert store.find_message(first) is None
        assert store.find_number(first) == 3


def test_devices_that_were_asked_under_an_ended_promise_are_not_asked_it_again(
    kept: Any, heatveil: Heatveil
) -> None:
    """Their budgets know of no end: what they refuse would be charged."""
    assert heatveil("check", "--config", kept.path).status == 0
    assert heatveil("ledger", "--config", kept.path, "--end-promise", "--yes").status == 0
    told = heatveil("check", "--config", kept.path)
    words = "was ended, for good, and node-0 has the key"

    assert (told.status, words in told.out) == (1, True)
    assert json.loads(heatveil("ledger", "--config", kept.path, "--json").out)["rounds_left"] == 0
    said = heatveil("ledger", "--config", kept.path)
    assert words in said.err
    assert "Nothing more is asked." in said.out
    assert words in heatveil("once", "--config", kept.path).refusal
    rotate = "device", "rotate", "node-1", "--keys", "--config", kept.path
    assert words in heatveil(*rotate).refusal
    kept.path.write_text(kept.path.read_text().replace('epsilon = "8/1"', 'epsilon = "4/1"'))
    tighten = heatveil("tighten", "--config", kept.path)
    assert f"nothing was sent: a promise of this database {words}" in tighten.refusal
    with open_reader(config.load_deployment(kept.path)) as reader:
        assert len(reader.list_charges()) == 3  # as before


def planned_first(kept: Any) -> bytes:
    """Return the name of the first round, as the file plans it."""
    deployment = config.load_deployment(kept.path)
    return bytes(name_of(plan_first_round(deployment, config.make_query(deployment))))


@pytest.fixture
def square(tmp_path: Path, heatveil: Heatveil) -> Path:
    """Return the file of a site of people that asked three of ten answers, epsilon 7 in all."""
    path = tmp_path / "site.toml"
    text = config.make_sample("disk").replace('epsilon = "7/2"', 'epsilon = "7/1"')
    text = text.replace("readings = 1", "readings = 10").replace("devices = 2000", "devices = 3")
    path.write_text(text.replace("port = 8883", "port = 1883").replace("ca_file", "# ca_file"))
    insecure = path.read_text().replace("# insecure = false", "insecure = true")
    path.write_text(insecure)
    assert heatveil("enrol", "--config", path).status == 0
    ask_rounds(path, 1, 2, 3)
    return path


def ask_rounds(path: Path, *numbers: int) -> None:
    """Charge rounds as the file of a site of people plans them."""
    deployment = config.load_deployment(path)
    devices = load_devices(deployment.site.devices, deployment.site.name)
    plan = find_mechanism("disk").plan(config.make_query(deployment), [])
    budget = deployment.privacy.readings * compute_round_rho(plan.guarantee)
    with closing(Store.open_for(deployment)) as store:
        for n in numbers:
            asked = steps.sign_round(plan._replace(number=n), n, devices)
            assert store.open_round(asked._replace(planned=asked.name), budget) == ""


def test_a_pure_promise_is_told_in_epsilon_of_each_device(
    square: Path, heatveil: Heatveil, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three answers of 0.7 each are 2.1 of 7: nobody who was promised that knows a rho.

    Of a promise for a day a week costs seven.
    """
    said = heatveil("ledger", "--config", square).out
    told = json.loads(heatveil("ledger", "--config", square, "--json").out)

    assert (
        "spent    epsilon 2.1 of 7, and 0.7 an answer, of each device; 7 answers are left" in said
    )
    assert "so far   epsilon 2.1 of 7, which adds up; no delta" in said
    assert len(re.findall(r"round \d .*  epsilon 0.7\b", said)) == 3
    assert "rho" not in said
    assert Fraction(told["spent"]) * Fraction(told["told_of_one_rho"]) == Fraction(21, 10)
    assert (told["unit"], Fraction(told["round"])) == ("rho", Fraction(49, 200))
    assert told["told_in"] == "epsilon"
    for name, number in (("WINDOW_H", "24"), ("READINGS", "26")):
        monkeypatch.setenv(f"HEATVEIL_PRIVACY__{name}", number)
    # What was charged for a life is told of no window: that is another promise.
    other = heatveil("ledger", "--config", square)
    assert "told is the promise that was charged for" in other.err
    assert (other.status, other.out) == (0, said)
    assert heatveil("ledger", "--config", square, "--end-promise", "--yes").status == 0
    stays = "a day epsilon 7, a week epsilon 49, a year epsilon 2555"
    assert stays in heatveil("ledger", "--config", square).out


def lower_budget(path: Path) -> None:
    """Start a gateway's store on the file's budget, which is smaller than it was."""
    deployment = config.load_deployment(path)
    plan = plan_first_round(deployment, config.make_query(deployment))
    budget = compute_budget_rho(plan.guarantee, deployment.privacy.readings)
    keys = load_devices(deployment.site.devices, deployment.site.name).key_ids
    with closing(Store.open_for(deployment)) as store:
        store.check_promise(make_terms(plan.guarantee), budget, keys)


def test_what_is_spent_of_a_budget_that_was_lowered_is_told_of_that_one(
    square: Path, heatveil: Heatveil, tmp_path: Path
) -> None:
    """Under a file that promises more again, 2.1 of 3.5 are spent, and neither 4.2 nor of 7."""
    former = square.read_text()
    lowered = former.replace('"7/1"', '"7/2"').replace("readings = 10", "readings = 5")
    square.write_text(lowered)
    lower_budget(square)
    own = heatveil("ledger", "--config", square)
    square.write_text(former)
    said = heatveil("ledger", "--config", square)
    told = json.loads(heatveil("ledger", "--config", square, "--json").out)
    out = tmp_path / "ledger.csv"
    assert heatveil("export", "--config", square, "--out", out, "--what", "ledger").status == 0
    beside = json.loads((tmp_path / "ledger.csv.guarantee.json").read_text())

    assert "told is the promise that was charged for" in said.err
    assert said.out == own.out
    assert "spent    epsilon 2.1 of 3.5, and" in said.out
    assert "so far   epsilon 2.1 of 3.5, which" in said.out
    assert (told["epsilon"], told["epsilon_spent"]) == ("7/2", pytest.approx(2.1))
    assert beside["epsilon_spent"] == pytest.approx(2.1)


def test_what_rho_comes_to_is_told_of_no_more_than_the_lowered_budget_does(
    kept: Any, heatveil: Heatveil
) -> None:
    """The exact epsilon of the file between is in no store: its rho says how much that is at most.

    Of the budget as it was, what was promised is told as it was.
    """
    former = kept.path.read_text()
    kept.path.write_text(former.replace('epsilon = "8/1"', 'epsilon = "79/10"'))
    lower_budget(kept.path)
    kept.path.write_text(former)
    told = json.loads(heatveil("ledger", "--config", kept.path, "--json").out)

    assert Fraction(79, 10) <= Fraction(told["epsilon"]) < 8
    assert told["epsilon_spent"] <= Fraction(told["epsilon"])


def test_what_a_round_cost_is_told_in_the_unit_of_its_own_promise(
    square: Path, heatveil: Heatveil, tmp_path: Path
) -> None:
    """An epsilon of 0.7 stays that, whatever is promised afterwards.

    In the unit of the next it were 0.35: the same rho, and half of what was given away. And what
    two promises cost is not added up, be they alike.
    """
    here = square
    for number, (was, wished) in ((4, ("7", "14")), (5, ("14", "7"))):
        assert heatveil("ledger", "--config", here, "--end-promise", "--yes").status == 0
        text = here.read_text().replace(f'"{was}/1"', f'"{wished}/1"')
        here = tmp_path / str(number) / "site.toml"
        here.parent.mkdir()
        place = tmp_path / "heatveil.sqlite"
        here.write_text(re.sub("(?m)^database = .*", f'database = "{place}"', text))
        assert heatveil("enrol", "--config", here).status == 0
        ask_rounds(here, number)
    said = heatveil("ledger", "--config", here).out
    out = tmp_path / "ledger.jsonl"
    words = ("export", "--config", here, "--out", out, "--what", "ledger")
    assert heatveil(*words).status == 0
    with open_reader(config.load_deployment(here)) as reader:
        parts, units = Parts(reader=reader), reader.read_units()
        rounds = operations.rounds(parts, Paged()).rounds
        charges = operations.ledger(parts, Paged()).charges

    # After two that cost 2.1 and 1.4; deltas are none.
    assert "all together: at most epsilon 4.2, delta 0, for what all of these promises" in said
    assert [units.find_first_round(number) for number in range(1, 7)] == [1, 1, 1, 4, 5, 5]
    assert re.findall(r"round (\d) .*  epsilon (.*)", said) == [
        ("5", "0.7"),
        ("4", "1.4"),
        *((str(number), "0.7") for number in (3, 2, 1)),
    ]
    exported = [json.loads(line)["epsilon"] for line in out.read_text().splitlines()]
    assert exported == ["7/10"] * 3 + ["7/5", "7/10"]
    for told in (rounds, charges):
        assert [one.rho.epsilon for one in told] == ["7/10", "7/5"] + ["7/10"] * 3
    # Which closes round 5.
    assert heatveil("ledger", "--config", here, "--end-promise", "--yes").status == 0
    assert heatveil("report", "--config", here, "--out", tmp_path / "day.html").status == 0
    day = (tmp_path / "day.html").read_text()
    assert "<dd>epsilon 2.1 and epsilon 1.4 and epsilon 0.7</dd>" in day


@pytest.mark.long
@pytest.mark.parametrize("sampler", ["exact", "table"])
def test_who_stays_pays_at_most_what_is_said(
    tmp_path: Path, heatveil: Heatveil, sampler: str
) -> None:
    """As `calibrate` reckons it, and never less: noise from tables ends where delta does."""
    path = tmp_path / "site.toml"
    text = sites.small("seen", 1883, readings=26, every_s=3600)
    text = text.replace("readings = 26", "readings = 26\nwindow_h = 24")
    path.write_text(text.replace("[rounds]", f'[rounds]\nsampler = "{sampler}"'))
    Store.open_for(config.load_deployment(path)).close()
    told = json.loads(heatveil("calibrate", path, "--json").out)
    windows = {row["windows"]: row["epsilon"] or math.inf for row in told["windows"]}
    said = heatveil("ledger", "--config", path).out.partition("pays at most: ")[2].splitlines()[0]
    costs = {name: float(cost) for name, cost in re.findall(r"(\w+) epsilon ([\w.+]+)", said)}

    assert costs.keys() == {"day", "week", "year"}
    assert costs["day"] == 8
    assert (costs["week"] == math.inf) == (sampler == "table")
    for name, days in (("week", 7), ("year", 365)):
        assert windows[days] <= costs[name] <= 1.001 * windows[days]


def test_what_was_lost_is_charged_when_its_number_is_named(kept: Any, heatveil: Heatveil) -> None:
    """Of rounds 3 to 5 the last was found, and its promise states half of what it cost."""
    deployment = config.load_deployment(kept.path)
    devices = load_devices(deployment.site.devices, "seen")
    plan = find_mechanism("thermal").plan(config.make_query(deployment), [])
    num, den = plan.guarantee.rho
    cheap = plan._replace(guarantee=plan.guarantee._replace(rho=(num, 2 * den)))
    store = Store.open_for(deployment)
    with capture_logs(), pytest.raises(ForgottenFault):
        store.record_found_round(steps.sign_round(cheap, 5, devices), "somebody has round 5")
    store.close()
    before = heatveil("ledger", "--config", kept.path, "--json")
    for number, words in ((4, "end with round 5"), (6, "end with round 5")):
        refused = heatveil("ledger", "--config", kept.path, "--accept", number)
        assert words in refused.refusal
    checked = heatveil("check", kept.path)
    assert checked.status == 1
    assert "--accept 5" in " ".join(checked.out.split())
    accepted = heatveil("ledger", "--config", kept.path, "--accept", 5, "--json")
    told = json.loads(accepted.out)

    assert "3 rounds that were lost" in accepted.err
    assert [one["round"] for one in told["charges"][:3]] == [5, 4, 3]
    assert Fraction(told["spent"]) == Fraction(json.loads(before.out)["spent"]) + 3 * kept.rho
    assert "no round is missing" in heatveil("ledger", "--config", kept.path, "--accept", 5).err


def test_rounds_of_another_promise_use_up_their_numbers_alone(
    kept: Any, heatveil: Heatveil
) -> None:
    """A new database for a new promise is nothing forbidden; prices of two are never added up."""
    deployment = config.load_deployment(kept.path)
    devices = load_devices(deployment.site.devices, "seen")
    plan = find_mechanism("thermal").plan(config.make_query(deployment), [])
    other = plan._replace(guarantee=plan.guarantee._replace(neighbours="another promise"))
    store = Store.open_for(deployment)
    with capture_logs(), pytest.raises(ForgottenFault):
        store.record_found_round(steps.sign_round(other, 9, devices), "somebody has round 9")
    store.close()
    before = json.loads(heatveil("ledger", "--config", kept.path, "--json").out)["spent"]
    accepted = heatveil("ledger", "--config", kept.path, "--accept", 9, "--json")

    assert json.loads(accepted.out)["spent"] == before
    assert "another promise" in accepted.err
    store = Store.open_for(deployment)
    assert store.find_number(b"none") == 10
    store.close()


# `heatveil ledger` and `heatveil show`: what a store knows, read beside a gateway.


def test_the_ledger_in_words(kept: Any, heatveil: Heatveil) -> None:
    """For whoever is asked what it has cost the people in the room."""
    said = heatveil("ledger", "--config", kept.path)
    lines = said.out.splitlines()

    assert said.status == 0
    assert lines[0] == "Site seen: 83.3% of the budget is spent. Nothing more is asked."
    assert "of 8 at delta 1/100000; the share counts rho" in lines[2]
    assert [line.split()[:2] for line in lines[4:]] == [["round", "2"], ["round", "1"]]
    assert lines[5].endswith("and 1 device that answered it again")


def test_the_newest_map_is_shown_with_its_promise(kept: Any, heatveil: Heatveil) -> None:
    """As dark as it is warm, at the place where it is, with who answered and what is promised."""
    said = heatveil("show", "--config", kept.path)
    lines = said.out.splitlines()
    drawn = lines[1].strip("[]")

    assert said.status == 0
    assert lines[0].startswith("Round 1, ")
    assert lines[0].endswith(" UTC, 5 of 6 devices.")
    mass = np.array(kept.body["mass"])[0]
    assert len(drawn) == len(mass) == 40
    most = max(drawn, key=BARS.find)
    assert drawn.index(most) == mass.argmax()
    assert lines[2] == " 0 to 10 m"
    assert "Sensors that answered: 5 of 6." in lines
    assert "Less than half" not in said.out
    assert "Formally: epsilon 8, delta 1/100000." in lines


def test_a_map_says_of_which_rounds_it_is(kept: Any, heatveil: Heatveil) -> None:
    """Each is of all rounds of its promise, or window, and not of the one whose number it has."""
    deployment = config.load_deployment(kept.path)
    with open_reader(deployment) as reader:
        two = bytes.fromhex(reader.find_round(2).name_hex)
    store = Store.open_for(deployment)
    store.close_round(two, [0] * 6, 4)
    store.keep_map(two, json.dumps(kept.body | {"number": 2, "first": 1, "sensors_used": 2}))
    store.close()

    lines = heatveil("show", "--config", kept.path).out.splitlines()
    assert lines[lines.index("Sensors that answered: 2 of 6.") + 1].startswith(
        "Less than half answered"
    )
    assert "Drawn from rounds 1 to 2 together." in lines


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((2,), "there is no map of round 2"),
        (("--out", "map.bmp"), "must end in one of .png, .npz, .json"),
        (("--out", "/nowhere/map.png"), "there is no folder"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(
    kept: Any, heatveil: Heatveil, words: tuple[Any, ...], reason: str
) -> None:
    """And why, and what would do."""
    said = heatveil("show", "--config", kept.path, *words)

    assert reason in said.refusal
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize("words", [("show", 1), ("report",), ("export", "--what", "maps")])
def test_rounds_of_another_mechanism_are_told_in_no_words_of_this_one(
    kept: Any, heatveil: Heatveil, words: tuple[Any, ...]
) -> None:
    """A map of warmth under the promise of people's places would promise what nobody kept."""
    text = re.sub(
        r"(?s)\[heat\].*\[privacy\]", "[disk]\ndevices = 6\n[privacy]", kept.path.read_text()
    )
    text = text.replace('delta = "1/100000"\n', "").replace("cells = 40", "cells = [40, 1]")
    kept.path.write_text(text.replace("[rounds]", '[rounds]\nmechanism = "disk"'))
    out = kept.path.with_name("told.png" if words[0] == "show" else "told.csv")
    said = heatveil(*words, "--config", kept.path, "--out", out)

    assert "of the store is of thermal" in said.refusal
    assert not out.exists()


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ("schema = 4", 0, "brings it up to date"),
        ("schema = 99", 1, "Use its version"),
        ("site = 'other'", 1, "belongs to site other"),
    ],
)
def test_a_store_of_another_heatveil_or_site_is_told_apart(
    kept: Any, heatveil: Heatveil, change: str, status: int, words: str
) -> None:
    """An older one is brought up by the gateway; the others must not be touched."""
    with closing(sqlite3.connect(config.load_deployment(kept.path).site.database)) as database:
        database.execute(f"UPDATE about SET {change}")
        database.commit()
    checked = heatveil("check", kept.path)
    shown = heatveil("show", "--config", kept.path)

    assert checked.status == status
    assert words in checked.out
    assert words in shown.refusal


def test_the_promise_that_is_shown_is_the_one_that_the_map_was_had_under(
    kept: Any, heatveil: Heatveil
) -> None:
    """Not the file's of today: a map of last year was not made better by an edit."""
    before = heatveil("show", "--config", kept.path).success
    kept.path.write_text(kept.path.read_text().replace('epsilon = "8/1"', 'epsilon = "4/1"'))

    assert kept.body["guarantee"]["epsilon"] == [8, 1]
    assert "of the time (half is a blind guess)" in before
    assert heatveil("show", "--config", kept.path).success == before


def test_a_day_of_two_promises_tells_both(kept: Any, heatveil: Heatveil, tmp_path: Path) -> None:
    """Rounds before and after `tighten` had other noise, and other chances of a guess."""
    kept.path.write_text(kept.path.read_text().replace('epsilon = "8/1"', 'epsilon = "4/1"'))
    deployment = config.load_deployment(kept.path)
    query = config.make_query(deployment)
    tighter = plan_first_round(deployment, query).guarantee
    with open_reader(deployment) as reader:
        two = bytes.fromhex(reader.find_round(2).name_hex)
    with closing(Store.open_for(deployment)) as store:
        store.close_round(two, [0] * 6, 4)
        changed = {"number": 2, "guarantee": tighter._asdict()}
        store.keep_map(two, json.dumps(kept.body | changed))
    assert heatveil("report", "--config", kept.path, "--out", tmp_path / "day.html").status == 0
    day = html.unescape((tmp_path / "day.html").read_text())
    heads = re.findall("What is promised: rounds ([0-9]) to ([0-9])</h2>", day)

    assert heads == [("1", "1"), ("2", "2")]
    promise = find_mechanism("thermal").promise
    for guarantee in (from_json(json.dumps(kept.body["guarantee"])), tighter):
        assert promise(query, guarantee)[1] in day


def test_a_smaller_price_in_the_file_does_not_make_more_left(
    kept: Any, heatveil: Heatveil
) -> None:
    """Half a round is left: of rounds of the file's price, which none has cost, it would be many.

    Under a larger promise than people were told, what is told is the one that was charged.
    """
    ledger = "ledger", "--config", kept.path, "--json"
    before, shown = (json.loads(heatveil(*ledger).out), heatveil("ledger", *ledger[1:3]).out)
    text = kept.path.read_text().replace("readings = 3", "readings = 300")
    kept.path.write_text(text)
    larger = heatveil(*ledger)
    assert "HEATVEIL_ variables" in larger.err
    assert (larger.status, json.loads(larger.out)) == (0, before)
    assert heatveil("ledger", *ledger[1:3]).out == shown
    kept.path.write_text(text.replace('epsilon = "8/1"', 'epsilon = "799/100"'))
    deployment = config.load_deployment(kept.path)
    told = json.loads(heatveil("ledger", "--config", kept.path, "--json").out)
    said = " ".join(heatveil("ledger", "--config", kept.path).out.split())

    assert (told["rounds_left"], Fraction(told["round"])) == (0, kept.rho)
    assert "counted in rounds of" in said
    # As after `tighten`: rounds of the file's price are dearer or cheaper than the newest was.
    left = Fraction(told["left"])
    asked = Fraction(*plan_first_round(deployment, config.make_query(deployment)).guarantee.rho)
    assert f": {int(left / asked)} of these can be paid for" in said


def test_a_map_of_another_room_is_not_laid_over_this_one(kept: Any) -> None:
    """40 cells drawn as 20 would show people where nobody was."""
    query = config.make_query(config.load_deployment(kept.path))
    other = replace(query, grid=query.grid._replace(shape=(20, 1)))

    assert show.read_published_map(kept.body, query).mass.shape == (1, 40)
    with pytest.raises(OperatorFault, match="40x1 cells and the deployment says 20x1"):
        show.read_published_map(kept.body, other)
