"""Everybody hears of an event, whoever else fails; and the log holds no reading."""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import structlog.testing

from edge.core.records import Guarantee
from gateway.service import telling
from gateway.service.ledger import Charge, Ledger
from gateway.service.telling import Teller

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
