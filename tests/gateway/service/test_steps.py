"""Steps of a round for people: what counts, what is sent, and what comes of it."""

import itertools
import time
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from edge.core import wire
from edge.core.records import Grid, Guarantee, Release, Report, Round
from gateway.mechanisms import find
from gateway.service import steps
from gateway.service.intake.outcomes import Asked, Kept
from gateway.service.intake.writer import Intake
from gateway.service.ledger import Charge, price
from gateway.service.mqtt.connection import Message
from gateway.service.rounds import OpenRound, Place, Refused
from gateway.service.steps import Steps
from gateway.store.store import Store

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
        find("thermal"), release=lambda round, payloads, rng: Release(round, [next(draws)], 0)
    )
    closed, nobody = OpenRound(asked.plan, asked.name, inf, {}, {}), Any
    for _ in range(3):
        with_steps = Steps(store, nobody, nobody, Quiet(), told.append)
        found = with_steps.release(mechanism, closed, home.devices, Charge(asked.rho))
        assert found.values == [100]

    assert next(draws) == 103  # it was drawn each time, or this shows nothing
    assert store.release(asked.name) == ([100], 0)
    assert store.charges() == (Charge(asked.rho),)
    assert len(store.letters()) == 1
    store.close()


# A round that was open when the gateway ended, and a device that has new keys since.

SITE, PATIENCE_S = "testsite", 10.0


class Telling:
    """Lets go of what it brought, and counts it."""

    def __init__(self) -> None:
        self.gone, self.receipts = 0, 0

    def settle(self, receipts: Any, messages: Any) -> None:
        self.receipts += len(receipts)
        self.gone += len(messages)

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        self.receipts += 1


def test_who_answered_under_an_older_key_has_answered(home: Any, tmp_path: Path) -> None:
    """Two answers give away more than one, whatever they are signed with: the second is charged.

    It is a dead letter with a receipt and not one that cannot be stored, and nobody waits for it.
    """
    plan, store, link = home.round(), Store(tmp_path / "heatveil.sqlite", SITE), Telling()
    cost, name = price(plan.guarantee), wire.name_of(plan)
    asked = Asked(name, name, plan, b"message", cost)
    assert store.open_round(asked, 9 * cost) == ""
    store.keep([Kept("node-0", 7, 7, name, b"signed with an older key", b"old!")], [])

    round = steps.open_round(asked, home.devices, store.answers(name), time.monotonic() + 60)
    intake = Intake(store, home.devices, lambda *_: None, lambda _: None)
    intake.open(round)
    for one in home.devices.by_name:
        frame = home.answer(one, plan)
        intake.put(link, Message(wire.topic(SITE, one, "data"), frame, (1, 1)))

    assert intake.wait_complete(PATIENCE_S)
    intake.stop()
    assert sorted(round.reports) == sorted(set(home.devices.by_name) - {"node-0"})
    assert [letter.kind for letter in store.refused()] == ["second"]
    assert store.charges() == (Charge(cost), Charge(cost, "node-0"))
    assert link.receipts == link.gone == len(home.devices.by_name)
    store.close()


# A round's doors: who may answer it, when, how often and for which sensor.

NAME = b"\x01\x02\x03\x04"
PROMISE = Guarantee((1, 1), (1, 1000), (1, 50), "one source moves", "local", "a day", "presence")
PLAN = Round(7, "thermal", Grid((10, 1), 0), (2, 8, 0, 4096, 10_000, 1, 0), PROMISE)


def opened() -> OpenRound:
    return OpenRound(PLAN, NAME, 100.0, {"north": Place(0, 1), "south": Place(1, 1)})


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
    ],
)
def test_what_does_not_belong_into_the_round_is_refused_with_a_reason(
    changes: dict[str, Any], now_s: float, word: str, kind: str
) -> None:
    """A reading in the wrong place would put warmth where there is none."""
    round = opened()
    outcome = round.take(report(**changes), now_s)

    assert isinstance(outcome, Refused)
    assert word in outcome.why
    assert outcome.kind == kind
    assert round.reports == {}
    assert round.late == (kind == "late")


# A gateway of people over a real broker: what they answered is counted, mapped and paid for.
