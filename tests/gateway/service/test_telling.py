"""Everybody hears of an event, whoever else fails; and the log holds no reading."""

import json
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import structlog.testing

from edge.core.records import Grid, Guarantee
from gateway.cli.serve import draw as on_terminal
from gateway.cli.show import read_drawn as shown
from gateway.mechanisms.thermal.words import sure_facts
from gateway.service import telling
from gateway.service.ledger import Charge, Ledger
from gateway.service.telling import Teller, heard
from recovery.maps.heatmap import Band, Credible, Heatmap, Verdict

PURE = Guarantee((7, 1), None, (49, 8), "any two cells", "local", "two reports", "presence")


def test_a_listener_that_fails_stops_neither_the_others_nor_the_teller() -> None:
    """The page's trouble is not the campaign's."""
    heard: list[Any] = []

    def broken(event: telling.Event) -> None:
        raise RuntimeError

    teller = Teller(broken, None, heard.append)
    teller.listen(lambda event: heard.append(("late", event["kind"])))
    with structlog.testing.capture_logs() as logs:
        teller.tell({"kind": "done", "why": "over"})

    assert heard == [{"kind": "done", "why": "over"}, ("late", "done")]
    assert [one["log_level"] for one in logs] == ["info", "error"]
    assert teller.last["done"]["why"] == "over"


def test_a_log_line_has_counts_and_no_values() -> None:
    """Values, maps, and lists of devices are shown elsewhere; a log travels."""
    teller = Teller()
    with structlog.testing.capture_logs() as logs:
        teller.tell({"kind": "release", "number": 3, "reports": 2, "values": [123456, 654321]})
        teller.tell({"kind": "map", "mass": [[0.123456]], "total": 1.5, "guarantee": {"a": 1}})
        teller.tell({"kind": "quarantine", "devices": [{"device": "node-77", "why": "flood"}]})

    said = str(logs)
    assert "reports" in said
    assert not any(word in said for word in ("123456", "654321", "node-77"))


def test_a_pure_budget_is_logged_in_its_own_unit() -> None:
    """Whoever was promised epsilon 7 reads how much of 7 is gone, and no other number."""
    teller, ledger = Teller(), Ledger(Fraction(49, 4), (Charge(Fraction(49, 8)),))
    plan = SimpleNamespace(mechanism="disk", guarantee=PURE)
    with structlog.testing.capture_logs() as logs:
        teller.tell(telling.spent(ledger, Fraction(49, 8), plan))

    (line,) = logs
    assert (line["epsilon"], line["epsilon_spent"], line["epsilon_left"]) == (7.0, 3.5, 3.5)
    assert (line["unit"], line["rounds_left"]) == ("epsilon", 1)
    assert not {"spent", "left", "budget"} & line.keys()
    assert teller.last["budget"]["spent"] == 6.125  # for programs, as ever


def test_alarms_are_told_whole_each_time_and_counted_over_a_start() -> None:
    """A device under a new key is another one; what was found before this start is known."""
    heard: list[Any] = []
    teller = Teller(heard.append)
    teller.begin({"kind": "ready"}, {("node-1", b"k1"): ("before", 2)})
    teller.alarmed([("node-1", b"k1", "again"), ("node-0", b"k0", "first")])

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
MAP = Heatmap(
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
    MAP, credible=None, certified=None, verdict=Verdict("assumptions", "it cannot be")
)


def carried(found: Heatmap) -> dict[str, Any]:
    """Return the map's event as a browser reads it: JSON knows no NaN."""
    event: dict[str, Any] = json.loads(json.dumps(telling.drawn(1, found, 0.1), allow_nan=False))
    return event


def test_what_is_told_is_heard() -> None:
    """Estimator, reason, chances and both bands."""
    event = carried(MAP)
    credible, certified, verdict = heard(event)

    assert verdict == MAP.verdict
    assert (event["estimator"], event["chosen"]) == ("posterior", "it can")
    assert credible is not None
    assert certified is not None
    assert (credible.level, credible.expected_error, certified.level) == (0.8, 0.125, 0.9)
    assert credible.present.tolist() == SURE.present.tolist()
    assert credible.numbers.tolist() == SURE.numbers.tolist()
    assert credible.band is not None
    assert np.abs(credible.band.low - BAND.low).max() <= 1e-6


def test_rounding_never_makes_a_band_narrower() -> None:
    """A bound that holds for nine readings of ten must hold for the same nine afterwards."""
    _, certified, _ = heard(carried(MAP))

    assert certified is not None
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
    assert heard(event) == (None, None, DOUBTED.verdict)
    assert heard(older) == (None, None, None)
    assert [fact.sentence for fact in sure_facts(DOUBTED)][1:] == [WRONG]
    with pytest.raises(ValueError, match="says how sure it is"):
        replace(DOUBTED, credible=SURE)


def test_nobody_is_an_answer_of_its_own_wherever_a_map_is_told() -> None:
    """It is neither a map nor the want of one; and a map of somebody has the chance too."""
    even = np.full((1, 3), 1 / 3)
    found = Heatmap(
        MAP.grid, even, PROMISE, 0.0, "nobody is there: with chance 0.980", nobody=0.98
    )
    event = carried(found)

    assert (event["status"], event["mass"], event["nobody"]) == ("nobody", None, 0.98)
    assert on_terminal(event, "") == [f"map of round {event['number']}: {found.status}"]
    again = shown(event, SimpleNamespace(grid=MAP.grid))
    assert isinstance(again, Heatmap)
    assert (again.total, again.nobody, again.status) == (0.0, 0.98, found.status)
    there = carried(replace(MAP, nobody=0.25))
    assert (there["status"], there["nobody"]) == ("solved", 0.25)
