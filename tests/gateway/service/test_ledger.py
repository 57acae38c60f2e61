"""The ledger charges before it asks; whoever shows a map's sources shows the same ones."""

import itertools
import json
import time
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from edge.core import wire
from edge.core.records import Grid, Guarantee, Release, Report, Round
from gateway.faults import OperatorFault
from gateway.mechanisms import find_mechanism
from gateway.mechanisms.summary import format_place
from gateway.service import homeassistant, steps, telling
from gateway.service.intake.outcomes import AskedRound, CountedReport
from gateway.service.intake.writer import Intake
from gateway.service.ledger import (
    Charge,
    Ledger,
    check_budget,
    check_terms,
    compute_budget_rho,
    compute_reading_rho,
    compute_round_rho,
    find_unit,
    make_pure_unit,
    make_terms,
)
from gateway.service.mqtt.connection import Message
from gateway.service.rounds import OpenRound, Place
from gateway.service.steps import Steps
from gateway.store.store import Store
from gateway.web.operations import Map
from recovery.maps.heatmap import Credible, Heatmap

# The ledger adds exactly, counts the most talkative device, and says no in time.

PROMISE = Guarantee((1, 1), (1, 1000), (3, 175), "one source moves", "local", "a day", "presence")


def test_prices_that_no_float_can_hold_add_up_exactly() -> None:
    """A thousand roundings would let one round too many through, or one too few."""
    third = Charge(Fraction(1, 3_000_000_019))
    ledger = Ledger(1000 * third.rho, (third,) * 999)

    assert ledger.left == third.rho
    assert ledger.explain_refusal(1000, third.rho) == ""
    assert ledger.add_charges([third]).left == 0
    assert ledger.add_charges([third]).explain_refusal(1001, third.rho)


def test_extra_answers_count_for_the_most_talkative_device_alone() -> None:
    """A pair of places is seen by all sensors together, each by its own number of answers."""
    rho = Fraction(1, 10)
    extra = [Charge(rho, "north"), Charge(rho, "north"), Charge(rho, "south")]
    ledger = Ledger(Fraction(1), (Charge(rho), *extra))

    assert ledger.spent == 3 * rho


def test_a_pure_promise_is_refused_in_its_own_unit() -> None:
    """Ten answers of 7/10, six of them given: epsilon 2.8 is left, by adding, of each device."""
    each = Fraction(7, 10) ** 2 / 2
    ledger = Ledger(10 * each, (Charge(each),) * 6)

    why = ledger.explain_refusal(7, 5 * each, make_pure_unit(each))

    said = (
        "round 7 asks for epsilon 3.5, but each device has 2.8 left of its 7 and it is not opened"
    )
    assert why.startswith(said)
    assert "Ask for epsilon 2.8 or less" in why
    assert "rho" not in why


@pytest.mark.parametrize("epsilon", [Fraction(7, 2), Fraction(1, 1000), Fraction(27, 4879)])
@pytest.mark.parametrize("answers", [1, 3, 1000])
def test_epsilons_of_answers_are_added_exactly(epsilon: Fraction, answers: int) -> None:
    """So many rounds of half a square of rho are so many times the epsilon: by hand."""
    promise = PROMISE._replace(epsilon=(7, 2), rho=(epsilon**2 / 2).as_integer_ratio(), delta=None)
    unit = find_unit(promise)

    assert unit.convert(answers * compute_round_rho(promise)) == answers * epsilon
    assert unit.name == "epsilon"
    assert find_unit(promise._replace(delta=(0, 1))) == unit
    assert not find_unit(promise._replace(epsilon=None)).is_epsilon
    assert not find_unit(PROMISE).is_epsilon


def test_a_price_comes_from_rho_or_from_a_pure_epsilon() -> None:
    """Both add up; an epsilon with a delta does not, so it is no price."""
    assert compute_round_rho(PROMISE) == Fraction(3, 175)
    assert compute_round_rho(PROMISE._replace(rho=None, delta=None, epsilon=(1, 2))) == Fraction(
        1, 8
    )
    assert compute_round_rho(PROMISE._replace(rho=None, delta=None, epsilon=(3, 1))) == Fraction(
        9, 2
    )
    with pytest.raises(ValueError, match="needs a rho"):
        compute_round_rho(PROMISE._replace(rho=None))


def test_the_budget_is_the_price_of_all_readings_or_of_all_maps_together() -> None:
    """The Rounds of a secure sum share one epsilon; readings cost each their own rho."""
    summed = PROMISE._replace(trust="distributed: in sums", epsilon=(3, 1))

    assert compute_budget_rho(PROMISE, 5) == Fraction(3, 35)
    assert compute_reading_rho(summed) == compute_budget_rho(summed, 5) == Fraction(9, 2)


def test_epsilon_so_far_is_never_more_than_promised_within_the_budget() -> None:
    """The exact curve of the Gaussian is below what rho alone implies; beyond it nothing is."""
    ledger = Ledger(Fraction(1, 32), (Charge(Fraction(1, 32)),))
    over = ledger.add_charges([Charge(Fraction(1, 1000))])

    assert ledger.compute_epsilon(1e-5, promised=1.0) == 1.0
    assert over.compute_epsilon(1e-5, promised=1.0) > 1.0
    assert Ledger(Fraction(1)).compute_epsilon(1e-5, promised=1.0) == 0.0


def test_of_a_pure_promise_the_share_that_is_spent_is_told() -> None:
    """Each round has the same price, and epsilons add up."""
    each = Fraction(7, 10) ** 2 / 2
    spent = (Charge(each),) * 4

    assert Ledger(10 * each, spent).compute_epsilon(None, promised=7.0) == pytest.approx(2.8)


def test_more_answers_of_less_epsilon_are_another_promise() -> None:
    """Ten of .7 and forty of .35 are of one sum of rho, but of epsilon 7 and 14."""
    few, many = (
        PROMISE._replace(epsilon=(epsilon, 1), rho=(rho / 2).as_integer_ratio(), delta=None)
        for epsilon, rho in ((7, Fraction(7, 10) ** 2), (14, Fraction(7, 20) ** 2))
    )
    assert compute_budget_rho(few, 10) == compute_budget_rho(many, 40)
    check_terms(make_terms(few), make_terms(few))
    with pytest.raises(OperatorFault, match="promises something else"):
        check_terms(make_terms(few), make_terms(many))


def test_what_was_paid_for_one_promise_is_not_added_to_another() -> None:
    """Nor is more promised on what was spent; less, or the same, is."""
    mine = make_terms(PROMISE)

    check_terms(None, mine)
    check_terms(mine, mine)
    for said, other in (
        ("delta 1/1000000", {"delta": (1, 10**6)}),
        ("somebody has a key", {"trust": "local, and somebody has a key"}),
        ("two sources move", {"neighbours": "two sources move"}),
    ):
        with pytest.raises(OperatorFault, match=said):
            check_terms(mine, make_terms(PROMISE._replace(**other)))

    check_budget(None, Fraction(3))
    check_budget(Fraction(3), Fraction(3))
    check_budget(Fraction(3), Fraction(2))
    with pytest.raises(OperatorFault):
        check_budget(Fraction(3), Fraction(3) + Fraction(1, 10**9))


# One answer: whoever shows the sources of a map shows the same ones, and no more than it says.


def _heaps(grid: Grid, sure: bool) -> Heatmap:
    """Return a map of five heaps; where it is sure, it says that there are two or three."""
    mass = np.zeros(grid.shape[::-1])
    mass.flat[[0, 8, 20, 33, 38]] = 0.3, 0.1, 0.25, 0.15, 0.2
    credible = Credible(0.9, mass, np.array([0.0, 0.0, 0.4, 0.45, 0.1, 0.05])) if sure else None
    return Heatmap(grid, mass, PROMISE, 3.0, "optimal", "auto", credible=credible)


@pytest.mark.parametrize("sure", [True, False])
@pytest.mark.parametrize("grid", [Grid((40, 1), 250), Grid((10, 8), 500), Grid((9, 9), 0)])
def test_page_text_api_and_home_assistant_show_the_same_sources(grid: Grid, sure: bool) -> None:
    """A table of five below "about 3", or another place elsewhere, tells nobody anything."""
    found = _heaps(grid, sure)
    event = json.loads(json.dumps(telling.make_map_event(1, found, 0.1)))
    api = msgspec.convert(event, Map)
    lines = " ".join(find_mechanism("thermal").format_lines(found))
    results = homeassistant.Results(grid)
    results.take_event(event, datetime.now(UTC), 0.0)
    shown, first = results.values, api.sources[0]
    cell = grid.cell_mm / 1000 or 1 / grid.shape[0]

    for one in api.sources:
        at = np.array([getattr(one, axis) for axis in ("x", "y")[: 1 + (grid.shape[1] > 1)]])
        assert f"{one.share:.0%} near {format_place(at, grid)}" in lines
    assert shown["share"] == round(100 * first.share)
    assert abs(shown["x"] - first.x) <= cell / 2 + 1e-3
    assert (len(api.sources), shown["sources"]) == ((3, 3) if sure else (5, None))
    assert sum(one.share for one in api.sources) == pytest.approx(1)
    assert api.credible is None or api.credible.says in lines


# A step that is done again, after a kill, says what the disk says.


class Quiet:
    """An outbox that publishes nothing."""

    def wake(self) -> None: ...

    def wait_empty(self, patience_s: float) -> bool:
        return True


def test_a_round_is_released_once_whatever_is_drawn_later(tmp_path: Path, home: Any) -> None:
    """Drawn twice, the first is what was kept, charged and told; the second nobody ever sees."""
    store, told = Store(tmp_path / "heatveil.sqlite", "testsite"), list[Any]()
    asked = steps.sign_round(home.round(), 1, home.devices)
    assert store.open_round(asked, 2 * asked.rho, paid=False) == ""
    draws = itertools.count(100)
    mechanism = replace(
        find_mechanism("thermal"),
        release=lambda round, payloads, rng: Release(round, [next(draws)], 0),
    )
    closed, nobody = OpenRound(asked.plan, asked.name, inf, {}, {}), Any
    for _ in range(3):
        with_steps = Steps(store, nobody, nobody, Quiet(), told.append)
        found = with_steps.release_round(mechanism, closed, home.devices, Charge(asked.rho))
        assert found.values == [100]

    assert next(draws) == 103  # it was drawn each time, or this shows nothing
    assert store.read_release(asked.name) == ([100], 0)
    assert store.list_charges() == (Charge(asked.rho),)
    assert len(store.list_letters()) == 1
    store.close()


# A round that was open when the gateway ended, and a device that has new keys since.

SITE, PATIENCE_S = "testsite", 60.0


class Telling:
    """Lets go of what it brought, and counts it."""

    def __init__(self) -> None:
        self.gone, self.receipts = 0, 0

    def acknowledge_batch(self, receipts: Any, messages: Any) -> None:
        self.receipts += len(receipts)
        self.gone += len(messages)

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        self.receipts += 1


def test_who_answered_under_an_older_key_has_answered(home: Any, tmp_path: Path) -> None:
    """Two answers give away more than one, whatever they are signed with: the second is charged.

    It is a dead letter with a receipt and not one that cannot be stored, and nobody waits for it.
    """
    plan, store, link = home.round(), Store(tmp_path / "heatveil.sqlite", SITE), Telling()
    cost, name = compute_round_rho(plan.guarantee), wire.name_of(plan)
    asked = AskedRound(name, name, plan, b"message", cost)
    assert store.open_round(asked, 9 * cost) == ""
    store.keep_batch(
        [CountedReport("node-0", 7, 7, name, b"signed with an older key", b"old!")], []
    )

    round = steps.open_round(asked, home.devices, store.list_answers(name), time.monotonic() + 60)
    intake = Intake(store, home.devices, lambda *_: None, lambda _: None)
    intake.open_round(round)
    for one in home.devices.by_name:
        frame = home.answer(one, plan)
        intake.take_message(link, Message(wire.topic(SITE, one, "data"), frame, (1, 1)))

    assert intake.wait_complete(PATIENCE_S)
    intake.stop()
    assert sorted(round.reports) == sorted(set(home.devices.by_name) - {"node-0"})
    assert [letter.kind for letter in store.list_refused()] == ["second"]
    assert store.list_charges() == (Charge(cost), Charge(cost, "node-0"))
    assert link.receipts == link.gone == len(home.devices.by_name)
    store.close()


# A round's doors: who may answer it, when, how often and for which sensor.

NAME = b"\x01\x02\x03\x04"
OFFER = Guarantee((1, 1), (1, 1000), (1, 50), "one source moves", "local", "a day", "presence")
PLAN = Round(7, "thermal", Grid((10, 1), 0), (2, 8, 0, 4096, 10_000, 1, 0), OFFER)


def opened() -> OpenRound:
    places = {"north": Place(0, 1), "south": Place(1, 1)}
    bent = {7: "no footprint reaches there"}  # as a mechanism says of a payload
    return OpenRound(PLAN, NAME, 100.0, places, wrong=lambda payload: bent.get(payload[1], ""))


def report(sender: str = "north", **changes: Any) -> Report:
    return Report(NAME, sender, 1, 1, [0, 1234])._replace(**changes)


@pytest.mark.parametrize(
    ("changes", "now_s", "word", "kind"),
    [
        ({"round": b"\xff\xff\xff\xff"}, 1.0, "ffffffff", "other-round"),
        ({}, 100.0, "closed", "late"),
        ({"sender": "stranger"}, 1.0, "not enrolled", "place"),
        ({"payload": [1, 1234]}, 1.0, "from sensor 0", "place"),
        ({"payload": [0, 1234, 5678]}, 1.0, "for 1 from sensor 0", "place"),
        ({"payload": []}, 1.0, "from sensor 0", "place"),
        ({"payload": [0, 7]}, 1.0, "no footprint reaches there", "place"),
    ],
)
def test_what_does_not_belong_into_the_round_is_refused_with_a_reason(
    changes: dict[str, Any], now_s: float, word: str, kind: str
) -> None:
    """A reading in the wrong place would put warmth where there is none."""
    outcome = opened().find_refusal(report(**changes), now_s)

    assert outcome is not None
    assert word in outcome.why
    assert outcome.kind == kind
