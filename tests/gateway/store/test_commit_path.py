"""An error at every step of every transaction: nothing half is left, and the next try is whole."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any

import pytest
from sqlalchemy import event, select
from sqlalchemy.exc import DBAPIError, OperationalError

from edge.core import wire
from gateway.faults import OperatorFault
from gateway.service.intake.outcomes import Again, Alarm, Asked, DeadLetter, Heard, Kept, Letter
from gateway.service.intake.writer import Intake
from gateway.service.ledger import Charge
from gateway.service.mqtt.connection import Message
from gateway.service.rounds import OpenRound
from gateway.store import places
from gateway.store.places import Database
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

UNANSWERED = Letter(0, "map", b"{}", True)


class Wire:
    """Carries bytes to a server; at the next COMMIT it is cut, once."""

    def __init__(self, port: int) -> None:
        self._server, self.cut = port, ""  # "", "before" or "after" the server has it
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                ours, _ = self._listener.accept()
                theirs = socket.create_connection(("127.0.0.1", self._server))
                threading.Thread(target=self._there, args=(ours, theirs), daemon=True).start()

    def _there(self, ours: socket.socket, theirs: socket.socket) -> None:
        """Carry what we say; answers are carried beside it until the cut."""
        mute = threading.Event()
        back = threading.Thread(target=self._back, args=(theirs, ours, mute), daemon=True)
        back.start()
        with suppress(OSError):
            while said := ours.recv(65536):
                if self.cut and b"COMMIT\0" in said:
                    if self.cut == "after":
                        mute.set()
                        theirs.sendall(said)
                        back.join(5)  # its answer came, and goes nowhere
                    self.cut = ""
                    break
                theirs.sendall(said)
        for one in (ours, theirs):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _back(self, theirs: socket.socket, ours: socket.socket, mute: threading.Event) -> None:
        with suppress(OSError):
            while said := theirs.recv(65536):
                if mute.is_set():
                    return
                ours.sendall(said)


@contextmanager
def wired(database: Database, port: int) -> Iterator[tuple[Store, Wire]]:
    """Open a store over a wire."""
    wire = Wire(port)
    words = database.words.replace(f"port={port}", f"port={wire.port}")
    store = Store(
        Database(f"{words} sslmode=disable gssencmode=disable", database.password_file), "lab"
    )
    try:
        yield store, wire
    finally:
        store.close()
        wire.close()


def _counts(store: Store) -> tuple[int, int, int, int]:
    return (
        len(store.answers(NAME)),
        len(store.charges()),
        len(store.letters()),
        0 if store.release(NAME) is None else 1,
    )


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_commit_that_was_not_answered_is_done_once_in_the_end(
    database: Database, cluster: Any, home: Any, cut: str
) -> None:
    """Tried again it is known by then, or done now: one charge, one release, one letter."""
    with wired(database, cluster.port) as (store, wire):
        asked = Asked(NAME, NAME, home.round(1), b"message", RHO)
        stopping = threading.Event()
        for do, words in (
            (store.open_round, (asked, 4 * RHO)),
            (store.close_round, (NAME, [1, None], 1)),
        ):
            more: dict[str, Any] = {"post": [UNANSWERED]} if do == store.close_round else {}
            wire.cut = cut
            found = places.retry_until_stored(stopping, do, *words, **more)
            assert wire.cut == ""  # or it was never cut, and this shows nothing
            # A round that is there already is as good as opened; a release that is there is kept.
            assert found in ("", cut == "before")
        assert _counts(store) == (0, 1, 1, 1)


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_batch_whose_commit_was_not_answered_is_all_there_or_not_at_all(
    database: Database, cluster: Any, cut: str
) -> None:
    """The fault says that it may pass; what the store then knows of the batch says which it is."""
    with wired(database, cluster.port) as (store, wire):
        batch = [Kept(f"node-{n}", 1, 1, NAME, b"frame %d" % n, KEY) for n in range(50)]
        again = [Again(NAME, Charge(RHO, "node-0"), b"again")]
        wire.cut = cut
        with pytest.raises(DBAPIError) as caught:
            store.keep(batch, [], again)
        assert wire.cut == ""
        assert places.of_the_disk(caught.value)

        there = cut == "after"
        assert _counts(store) == (50 * there, there, 0, 0)
        known = store.known([(f"node-{n}", KEY, 1, 1) for n in range(50)], [])
        assert len(known.seen) == 50 * there
        if not there:
            store.keep(batch, [], again)
        assert _counts(store) == (50, 1, 0, 0)
