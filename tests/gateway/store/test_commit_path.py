"""An error at every step of every transaction: nothing half is left, and the next try is whole."""

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from sqlalchemy import event, select
from sqlalchemy.exc import OperationalError

from edge.core import wire
from gateway.faults import OperatorFault
from gateway.service.intake.outcomes import Again, Alarm, Asked, DeadLetter, Heard, Kept, Letter
from gateway.service.intake.writer import Intake
from gateway.service.ledger import Charge
from gateway.service.mqtt.connection import Message
from gateway.service.rounds import OpenRound
from gateway.store.schema import METADATA
from gateway.store.store import Store

SITE = "testsite"
KEY, NAME, RHO = b"key1", b"nam1", Fraction(1, 7)
LETTER = Letter(0, "heatveil/1/lab/map/thermal", b"{}", True)
TIMES = {"at_s", "taken_s", "opened_s", "closed_s", "since_s", "last_s"}
METHODS = ["keep", "open_round", "open_unpaid", "close_round", "close_paid", "keep_map", "post"]


def _rows(store: Store) -> dict[str, list[Any]]:
    """Return all that a store holds, but for when it came."""
    found = {}
    with store.engine.connect() as connection:
        for name, table in METADATA.tables.items():
            columns = [one for one in table.columns if one.name not in TIMES | {"id"}]
            found[name] = sorted(map(repr, connection.execute(select(*columns))))
    return found


def _method(store: Store, name: str, home: Any) -> Callable[[], object]:
    """Return one transaction of a store, and bring the store to where it may happen."""
    promise = home.round(1).guarantee

    def asked(number: int) -> Asked:
        name = b"nam%d" % number
        return Asked(name, name, home.round(number)._replace(guarantee=promise), b"message", RHO)

    def keep() -> None:
        store.keep(
            [Kept(f"node-{n}", 1, 2, b"nam2", b"frame %d" % n, KEY) for n in range(3)],
            [DeadLetter("a/b", "why", b"bytes", "late"), DeadLetter("c/d", "why", b"bytes")],
            [Again(NAME, Charge(RHO, "node-0"), b"again")],
            [Heard("node-3", 1, 2, NAME, b"late", KEY)],
            [Alarm("node-0", KEY, "set back")],
        )

    store.open_round(asked(1), 4 * RHO, paid=name != "close_paid")
    store.keep([Kept("node-0", 1, 1, NAME, b"frame", KEY)])
    store.post([Letter(0, "old", b"old", False), LETTER])
    words: dict[str, Any] = {"post": [LETTER, LETTER._replace(topic="else", retain=False)]}
    return {
        "keep": keep,
        "open_round": lambda: store.open_round(asked(2), 3 * RHO),
        "open_unpaid": lambda: store.open_round(asked(2), 3 * RHO, paid=False),
        "close_round": lambda: store.close_round(NAME, [1, None], 1, **words),
        "close_paid": lambda: store.close_round(NAME, [1], 1, charge=Charge(RHO), **words),
        "keep_map": lambda: store.keep_map(NAME, "{}", **words),
        "post": lambda: store.post([LETTER._replace(payload=b"newer")]),
    }[name]


class _Breaks:
    """Lets the n-th step of an engine fail; a commit is a step."""

    def __init__(self, store: Store) -> None:
        self.steps, self.at = 0, 0
        event.listen(store.engine, "before_cursor_execute", lambda *_: self._step())
        event.listen(store.engine, "commit", lambda _connection: self._step())

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self.at:
            raise OSError("no")


@pytest.mark.long
@pytest.mark.parametrize("name", METHODS)
def test_a_failure_at_any_step_leaves_nothing_half(store: Store, home: Any, name: str) -> None:
    """What was not committed is not there at all, so that it may simply be tried again."""
    method, breaks = _method(store, name, home), _Breaks(store)
    before = _rows(store)
    at, failed = 0, 0
    while True:
        at += 1
        breaks.steps, breaks.at = 0, at
        try:
            method()
        except OSError:
            failed += 1
        else:
            break
        breaks.at = 0
        assert _rows(store) == before, f"step {at} of {name}"
    breaks.at = 0
    after = _rows(store)

    assert failed >= 3  # begin, or a statement, and the commit
    assert after != before
    if name in ("keep", "open_round", "close_paid"):
        assert len(after["charges"]) == len(before["charges"]) + 1


@pytest.mark.parametrize("name", ["open_round", "open_unpaid", "close_round", "close_paid"])
def test_a_second_time_changes_nothing(store: Store, home: Any, name: str) -> None:
    """A commit whose answer was lost is tried again: one charge, one release, one letter."""
    method = _method(store, name, home)
    first = method()
    after = _rows(store)

    assert first in ("", True)
    assert method() in ("", False)
    assert _rows(store) == after


def test_a_round_that_is_paid_when_it_closes_holds_its_price_back(store: Store, home: Any) -> None:
    """Else two open rounds could each be promised the same last of the budget."""
    plan = home.round(1)

    def asked(number: int) -> Asked:
        name = b"nam%d" % number
        return Asked(name, name, plan._replace(number=number), b"message", RHO)

    assert store.open_round(asked(1), 2 * RHO, paid=False) == ""
    assert store.charges() == ()
    assert store.open_round(asked(2), 2 * RHO, paid=False) == ""
    assert "round 3 asks" in store.open_round(asked(3), 2 * RHO)
    assert store.close_round(b"nam1", [1], 1, charge=Charge(RHO), outcome="late")
    assert "round 3 asks" in store.open_round(asked(3), 2 * RHO)
    assert store.charges() == (Charge(RHO),)
    assert store.release(b"nam1") == ([1], 1)


def test_the_promise_of_a_round_paid_later_binds_at_once(store: Store, home: Any) -> None:
    """Its devices have been asked under it."""
    store.open_round(Asked(NAME, NAME, home.round(1), b"", RHO), 2 * RHO, paid=False)
    with pytest.raises(OperatorFault, match="was promised"):
        store.open_round(Asked(b"nam2", b"nam2", home.round(2), b"", RHO), 3 * RHO)


@pytest.mark.long
def test_a_commit_whose_answer_was_lost_is_not_a_loss(
    store: Store, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch is tried again and is known by then: receipts, and nobody's dead letter."""
    plan, bearer, keep, lost = home.round(), Bearer(), store.keep, [0]

    def committed(kept: Any, *rest: Any) -> None:
        keep(kept, *rest)
        if kept and not lost[0]:
            lost[0] = len(kept)
            raise OperationalError("COMMIT", None, OSError("the server is gone"))

    monkeypatch.setattr(store, "keep", committed)
    intake = Intake(store, home.devices, lambda *_: None, lambda _alarms: None)
    try:
        name = wire.name_of(plan)
        places = {one: device.place for one, device in home.devices.by_name.items()}
        intake.open(OpenRound(plan, name, time.monotonic() + 60, places))
        for packet, device in enumerate(places):
            topic = wire.topic(SITE, device, "data")
            intake.put(bearer, Message(topic, home.answer(device, plan), (1, packet)))
        bearer.wait(len(places))
        closed = intake.close_round()
    finally:
        intake.stop()

    assert lost[0]
    assert bearer.receipts == len(places)
    assert closed is not None
    assert closed.reports.keys() == places.keys()
    assert sorted(device for device, _ in store.answers(name)) == sorted(places)
    assert store.refused() == []


class Bearer:
    """Stands for the link: counts what is receipted and let go of."""

    def __init__(self) -> None:
        self.receipts, self.acked = 0, 0

    def settle(self, receipts: Any, messages: Any) -> None:
        self.receipts += len(list(receipts))
        self.acked += len(list(messages))

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        self.receipts += 1

    def wait(self, count: int) -> None:
        until_s = time.monotonic() + 60
        while self.acked < count:
            assert time.monotonic() < until_s, (self.receipts, self.acked)
            time.sleep(0.01)


# PostgreSQL is lost in the middle of a commit: whether it held is not known, and not guessed.
