"""What is to be told is kept until the broker has it; and the events that are told."""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import structlog.testing

from edge.core.records import Grid, Guarantee
from gateway.cli.records.show import read_published_map as shown
from gateway.cli.serve import format_map_event as on_terminal
from gateway.devices.broker import embedded, mosquitto
from gateway.mechanisms.thermal.words import list_certainty_facts
from gateway.service import outbox as outbox_module
from gateway.service import telling
from gateway.service.intake.outcomes import Letter
from gateway.service.outbox import Outbox
from gateway.service.telling import Teller, parse_map
from gateway.store.store import Store
from recovery.estimators.verdict import describe_misfit
from recovery.maps.heatmap import Band, Credible, Heatmap, Unresolved, Verdict
from recovery.maps.sentence import join_sentences
from recovery.thermal import _at_clamp
from tests.waiting import eventually

# What waits in the store goes out once, in order; a broker that forgot is told again.

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
    store.add_letters(
        [letter(ROUND, b"one"), letter(WORD, b"hello", False), letter(MAP, b"drawn")]
    )
    with outbox(store) as (box, out):
        box.set_open(True)
        assert eventually(lambda: len(out) == 3 and not store.list_letters())
        box.set_open(False)
        box.set_open(True)
        assert eventually(lambda: len(out) == 5)
        time.sleep(0.1)

    assert out[3:] == [(ROUND, b"one"), (MAP, b"drawn")]


@pytest.mark.parametrize("configuration", [embedded.CONFIGURATION, mosquitto.CONFIGURATION])
def test_what_is_too_long_for_a_broker_is_told_and_holds_nothing_up(
    store: Store, configuration: str
) -> None:
    """The broker would cut the gateway off, at each new connection again."""
    limit = int(re.findall(r"^max_packet_size (\d+)$", configuration, re.MULTILINE)[0])
    store.add_letters([letter(MAP, bytes(limit)), letter(WORD, b"hello", False)])
    with structlog.testing.capture_logs() as logs, outbox(store) as (box, out):
        box.set_open(True)
        assert eventually(lambda: not store.list_letters())

    assert out == [(WORD, b"hello")]
    assert [one["topic"] for one in logs if "too long" in one["event"]] == [MAP]


@pytest.mark.parametrize("configuration", [embedded.CONFIGURATION, mosquitto.CONFIGURATION])
def test_our_brokers_take_the_longest_that_is_published(configuration: str) -> None:
    """With its topic and what MQTT adds, for which 4 KB are plenty."""
    limit = int(re.findall(r"^max_packet_size (\d+)$", configuration, re.MULTILINE)[0])
    assert outbox_module.LONGEST_BYTES + 2**12 < limit


def test_what_the_broker_did_not_acknowledge_waits_for_the_next_start(store: Store) -> None:
    """Handed over is not there: a broker that dies with it has forgotten it."""
    store.add_letters([letter(MAP, b"drawn"), letter(WORD, b"hello", False)])
    handed: list[tuple[str, bytes]] = []

    def lost(topic: str, payload: bytes, *, retain: bool = False, on_sent: Any = None) -> None:
        handed.append((topic, payload))

    with Outbox(store, lost, open=True) as box:
        assert eventually(lambda: len(handed) == 2)
        assert not box.wait_empty(0.3)
    assert len(store.list_letters()) == 2
    with outbox(store) as (box, out):
        box.set_open(True)
        assert eventually(lambda: not store.list_letters())
    assert out == handed


def test_a_letter_that_could_not_be_handed_over_is_tried_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken for under way it would never go, and its round wait for ever."""
    monkeypatch.setattr("gateway.service.outbox.LOOK_S", 0.05)
    store.add_letters([letter(ROUND, b"one")])
    tries: list[bytes] = []

    def publish(topic: str, payload: bytes, *, retain: bool = False, on_sent: Any = None) -> None:
        tries.append(payload)
        if len(tries) < 3:
            raise RuntimeError
        on_sent()

    with Outbox(store, publish, open=True) as box:
        assert box.wait_empty(60)

    assert tries == [b"one"] * 3
    assert not store.list_letters()


def test_a_letter_that_the_broker_refused_goes_once_more_with_the_same_bytes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker out of room says so once; nobody else would ever try again."""
    monkeypatch.setattr("gateway.service.outbox.LOOK_S", 0.05)
    monkeypatch.setattr("gateway.service.outbox.AGAIN_S", 0.3)
    store.add_letters([letter(ROUND, b"one")])
    tries: list[float] = []

    def publish(topic: str, payload: bytes, *, retain: bool = False, on_sent: Any = None) -> None:
        assert (topic, payload, retain) == (ROUND, b"one", True)
        tries.append(time.monotonic())
        if len(tries) > 1:  # the first one is refused, and nothing more is heard of it
            on_sent()

    with Outbox(store, publish, open=True) as box:
        assert box.wait_empty(60)

    assert len(tries) == 2
    assert tries[1] - tries[0] >= 0.3
    assert not store.list_letters()


def test_nothing_goes_out_before_it_may(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the broker retains is read first, and what waits here would replace it."""
    monkeypatch.setattr(outbox_module, "LOOK_S", 0.02)
    seen = list[list[tuple[str, bytes]]]()
    with outbox(store, lambda: seen.append(list(out)) or len(seen) > 1) as (box, out):
        store.add_letters([letter(ROUND, b"")])
        assert not box.wait_open(0.05)
        assert seen == []  # there is no broker to be asked
        box.set_open(True)
        assert box.wait_open(60)
        assert eventually(lambda: not store.list_letters())

    assert (seen, out) == ([[], []], [(ROUND, b"")])


# Everybody hears of an event, whoever else fails; and the log holds no reading.


def test_a_listener_that_fails_stops_neither_the_others_nor_the_teller() -> None:
    """The page's trouble is not the campaign's."""
    heard: list[Any] = []
    teller = Teller(Mock(side_effect=RuntimeError), None, heard.append)
    teller.add_listener(lambda event: heard.append(("late", event["kind"])))
    with structlog.testing.capture_logs() as logs:
        teller.tell({"kind": "done", "why": "over"})

    assert heard == [{"kind": "done", "why": "over"}, ("late", "done")]
    assert [one["log_level"] for one in logs] == ["info", "error"]
    assert teller.last["done"]["why"] == "over"


def test_a_log_line_has_counts_and_no_values() -> None:
    """Values, maps, why there is none, and lists of devices are shown elsewhere; a log travels."""
    teller = Teller()
    why = join_sentences([_at_clamp((3, 4)), describe_misfit(3.0, 2.0)])
    with structlog.testing.capture_logs() as logs:
        teller.tell({"kind": "release", "number": 3, "reports": 2, "values": [123456, 654321]})
        teller.tell({"kind": "map", "mass": [[0.123456]], "total": 1.5, "guarantee": {"a": 1}})
        teller.tell(telling.make_map_event(1, Unresolved(FOUND.grid, PROMISE, 3.0, 2.0, why), 0.1))
        teller.tell(telling.make_map_event(2, replace(FOUND, nobody=0.654321), 0.1))
        teller.tell({"kind": "quarantine", "devices": [{"device": "node-77", "why": "flood"}]})

    said = str(logs)
    assert "reports" in said
    assert not any(word in said for word in ("123456", "654321", "node-77"))
    assert not any(word in said for word in ("sensors 3", "3, 4", "residual", "map.clamp"))


@pytest.mark.parametrize("reports", [0, 1])
def test_a_round_without_answers_is_a_warning_that_names_causes(reports: int) -> None:
    """It was paid for: whoever looks at the log must not have to guess what became of it."""
    with structlog.testing.capture_logs() as logs:
        Teller().tell({"kind": "release", "number": 3, "reports": reports, "values": []})

    warned = [one["event"] for one in logs if one["log_level"] == "warning"]
    assert warned == [telling.SILENCE] * (not reports)
    assert "tightened" in telling.SILENCE


def test_alarms_are_told_whole_each_time_and_counted_over_a_start() -> None:
    """A device under a new key is another one; what was found before this start is known."""
    heard: list[Any] = []
    teller = Teller(heard.append)
    teller.tell_start({"kind": "ready"}, {("node-1", b"k1"): ("before", 2)})
    teller.tell_alarms([("node-1", b"k1", "again"), ("node-0", b"k0", "first")])

    assert [event["kind"] for event in heard] == ["ready", "alarm", "alarm"]
    assert heard[-1]["alarms"] == [
        {"device": "node-0", "why": "first", "times": 1},
        {"device": "node-1", "why": "again", "times": 3},
    ]


# How sure a map is, through JSON and back: nothing is lost but digits, and nothing is NaN.

PROMISE = Guarantee((1, 1), (1, 100_000), (1, 50), "one", "local", "a day", "presence")
RISING = np.array([1 / 3, 2 / 3, 1.0])
BAND = Band(0.9, RISING / 3, RISING)
SURE = Credible(0.8, np.array([[0.1, 0.2, 0.7]]), np.array([0.25, 0.75]), BAND, 0.125)
FOUND = Heatmap(
    Grid((3, 1), 0),
    np.array([[0.25, 0.25, 0.5]]),
    PROMISE,
    2.0,
    "optimal",
    "posterior",
    "it can",
    SURE,
    BAND,
    Verdict("fits"),
)
DOUBTED = replace(
    FOUND, credible=None, certified=None, verdict=Verdict("assumptions", "it cannot be")
)


def carried(found: Heatmap) -> dict[str, Any]:
    """Return the map's event as a browser reads it: JSON knows no NaN."""
    event: dict[str, Any] = json.loads(
        json.dumps(telling.make_map_event(1, found, 0.1), allow_nan=False)
    )
    return event


def test_what_is_told_is_heard() -> None:
    """Estimator, reason, chances and both bands."""
    event = carried(FOUND)
    credible, certified, verdict = parse_map(event)

    assert verdict == FOUND.verdict
    assert (event["estimator"], event["chosen"]) == ("posterior", "it can")
    assert (credible.level, credible.expected_error, certified.level) == (0.8, 0.125, 0.9)
    assert credible.present.tolist() == SURE.present.tolist()
    assert credible.numbers.tolist() == SURE.numbers.tolist()
    assert np.abs(credible.band.low - BAND.low).max() <= 1e-6


def test_rounding_never_makes_a_band_narrower() -> None:
    """A bound that holds for nine readings of ten must hold for the same nine afterwards."""
    _, certified, _ = parse_map(carried(FOUND))

    assert (certified.low <= BAND.low).all()
    assert (certified.high >= BAND.high).all()
    assert certified.high.max() == 1


WRONG = "Do not trust this map: it cannot be; how far off it is cannot be said."


def test_a_contradiction_is_told_and_no_error_with_it() -> None:
    """What the broker keeps, and what `show` makes of it; a map from before had no verdict."""
    event = carried(DOUBTED)
    older = {name: part for name, part in event.items() if name != "verdict"}

    assert event["verdict"]["says"] == WRONG
    assert event["credible"] is None
    assert parse_map(event) == (None, None, DOUBTED.verdict)
    assert parse_map(older) == (None, None, None)
    assert [fact.sentence for fact in list_certainty_facts(DOUBTED)][1:] == [WRONG]
    with pytest.raises(ValueError, match="says how sure it is"):
        replace(DOUBTED, credible=SURE)


def test_nobody_is_an_answer_of_its_own_wherever_a_map_is_told() -> None:
    """It is neither a map nor the want of one; and a map of somebody has the chance too."""
    even = np.full((1, 3), 1 / 3)
    found = Heatmap(
        FOUND.grid, even, PROMISE, 0.0, "nobody is there: with chance 0.980", nobody=0.98
    )
    event = carried(found)

    assert (event["status"], event["mass"], event["nobody"]) == ("nobody", None, 0.98)
    assert on_terminal(event, "") == [f"map of round {event['number']}: {found.status}"]
    again = shown(event, SimpleNamespace(grid=FOUND.grid))
    assert isinstance(again, Heatmap)
    assert (again.total, again.nobody, again.status) == (0.0, 0.98, found.status)
    there = carried(replace(FOUND, nobody=0.25))
    assert (there["status"], there["nobody"]) == ("solved", 0.25)
