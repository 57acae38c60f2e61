"""What waits in the store goes out once, in order; a broker that forgot is told again."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.service import outbox as outbox_module
from gateway.service.intake.outcomes import Letter
from gateway.service.outbox import Outbox
from gateway.store.store import Store
from tests.waiting import eventually

ROUND, MAP, WORD = "round/thermal", "map/thermal", "said/once"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return an empty store."""
    store = Store(tmp_path / "heatveil.sqlite", "lab")
    yield store
    store.close()


@contextmanager
def outbox(
    store: Store, may_begin: Callable[[], bool] = lambda: True
) -> Iterator[tuple[Outbox, list[tuple[str, bytes]]]]:
    """Run an outbox whose broker takes everything at once; gives what went out."""
    out: list[tuple[str, bytes]] = []

    def publish(topic: str, payload: bytes, *, retain: bool = False, on_sent: Any = None) -> None:
        out.append((topic, payload))
        if on_sent is not None:
            on_sent()

    with Outbox(store, publish, may_begin=may_begin) as box:
        yield box, out


def letter(topic: str, payload: bytes, retain: bool = True) -> Letter:
    return Letter(0, topic, payload, retain)


def test_a_broker_that_is_back_is_told_what_stands_and_nothing_else(store: Store) -> None:
    """Killed, it has forgotten what it retained: late devices would hear of no round."""
    store.post([letter(ROUND, b"one"), letter(WORD, b"hello", False), letter(MAP, b"drawn")])
    with outbox(store) as (box, out):
        box.switch(True)
        assert eventually(lambda: len(out) == 3 and not store.letters())
        box.switch(False)
        box.switch(True)
        assert eventually(lambda: len(out) == 5)
        time.sleep(0.1)

    assert out[3:] == [(ROUND, b"one"), (MAP, b"drawn")]


def test_what_the_broker_did_not_acknowledge_waits_for_the_next_start(store: Store) -> None:
    """Handed over is not there: a broker that dies with it has forgotten it."""
    store.post([letter(MAP, b"drawn"), letter(WORD, b"hello", False)])
    handed: list[tuple[str, bytes]] = []

    def lost(topic: str, payload: bytes, *, retain: bool = False, on_sent: Any = None) -> None:
        handed.append((topic, payload))

    with Outbox(store, lost, open=True) as box:
        assert eventually(lambda: len(handed) == 2)
        assert not box.wait_empty(0.3)
    assert len(store.letters()) == 2
    with outbox(store) as (box, out):
        box.switch(True)
        assert eventually(lambda: not store.letters())
    assert out == handed


def test_a_letter_that_could_not_be_handed_over_is_tried_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken for under way it would never go, and its round wait for ever."""
    monkeypatch.setattr("gateway.service.outbox.LOOK_S", 0.05)
    store.post([letter(ROUND, b"one")])
    tries: list[bytes] = []

    def publish(topic: str, payload: bytes, *, retain: bool = False, on_sent: Any = None) -> None:
        tries.append(payload)
        if len(tries) < 3:
            raise RuntimeError
        on_sent()

    with Outbox(store, publish, open=True) as box:
        assert box.wait_empty(10)

    assert tries == [b"one"] * 3
    assert not store.letters()


def test_a_letter_that_the_broker_refused_goes_once_more_with_the_same_bytes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker out of room says so once; nobody else would ever try again."""
    monkeypatch.setattr("gateway.service.outbox.LOOK_S", 0.05)
    monkeypatch.setattr("gateway.service.outbox.AGAIN_S", 0.3)
    store.post([letter(ROUND, b"one")])
    tries: list[float] = []

    def publish(topic: str, payload: bytes, *, retain: bool = False, on_sent: Any = None) -> None:
        assert (topic, payload, retain) == (ROUND, b"one", True)
        tries.append(time.monotonic())
        if len(tries) > 1:  # the first one is refused, and nothing more is heard of it
            on_sent()

    with Outbox(store, publish, open=True) as box:
        assert box.wait_empty(10)

    assert len(tries) == 2
    assert tries[1] - tries[0] >= 0.3
    assert not store.letters()


def test_nothing_goes_out_before_it_may(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the broker retains is read first, and what waits here would replace it."""
    monkeypatch.setattr(outbox_module, "LOOK_S", 0.02)
    seen = list[list[tuple[str, bytes]]]()
    with outbox(store, lambda: seen.append(list(out)) or len(seen) > 1) as (box, out):
        store.post([letter(ROUND, b"")])
        assert not box.wait_begun(0.05)
        assert seen == []  # there is no broker to be asked
        box.switch(True)
        assert box.wait_begun(10)
        assert eventually(lambda: not store.letters())

    assert (seen, out) == ([[], []], [(ROUND, b"")])
