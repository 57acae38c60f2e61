"""The series of a gateway: Prometheus can read them, and no device is among them."""

import threading
from typing import Any
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gateway.service.intake.outcomes import KINDS
from gateway.service.operate.health import Health
from gateway.service.operate.metrics import Counted, Metrics
from gateway.web.server import Page

DEVICE = "room-214-north"
# What others call: a series that is renamed empties a dashboard and silences an alert.
NAMES = {
    "alarms", "batch_seconds", "batches", "broker_connected", "broker_connections",
    "budget_epsilon", "budget_left_rho", "budget_spent_epsilon", "budget_spent_rho",
    "disk_free_bytes", "duplicates", "gather_seconds",
    "inbox_messages", "messages", "outbox_messages", "quarantined_devices", "ready", "receipts",
    "refused", "reports", "round_enrolled", "round_reports", "rounds", "rounds_left",
    "solve_seconds", "store_retries", "viewers",
}  # fmt: skip
EVENTS: list[dict[str, Any]] = [
    {"kind": "ready", "site": "lab", "enrolled": 4},
    {"kind": "health", "ready": True, "parts": {"broker": {"ok": True, "why": ""}}},
    {"kind": "round", "number": 1, "name": "00", "enrolled": 4, "gather_s": 30},
    {"kind": "reports", "number": 1, "came": 3, "enrolled": 4, "refused": 0, "late": 0},
    {"kind": "release", "number": 1, "reports": 3, "values": [1, None, 2, 3], "seconds": 0.1},
    {"kind": "map", "number": 1, "seconds": 0.7},
    {
        "kind": "budget",
        "left": 0.25,
        "spent": 0.75,
        "epsilon": 8.0,
        "epsilon_spent": 6.5,
        "rounds_left": 2,
    },
    {"kind": "health", "ready": False, "parts": {"broker": {"ok": False, "why": DEVICE}}},
    {"kind": "health", "ready": True, "parts": {"broker": {"ok": True, "why": ""}}},
    {"kind": "alarm", "alarms": [{"device": DEVICE, "why": DEVICE, "times": 1}]},
    {"kind": "quarantine", "devices": [{"device": DEVICE, "why": DEVICE, "since_s": 1.0}]},
]


def _read(text: str) -> dict[str, float]:
    """Return every sample by its name and labels, read as Prometheus reads it."""
    return {
        "".join([sample.name.removeprefix("heatveil_"), *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _scraped(page: Page) -> tuple[str, str]:
    """Return the kind and the text of /metrics."""
    with urlopen(f"{page.url}metrics", timeout=30) as answer:
        return answer.headers["content-type"], answer.read().decode()


def test_events_are_counted() -> None:
    """A round of three of four, a broker that was lost once, a budget three quarters spent."""
    metrics, times = Metrics(), iter([100.0, 107.0])
    counted = Counted(metrics, lambda: next(times))
    for event in EVENTS:
        counted.hear(event)
    found = _read(metrics.text().decode())

    assert (found["round_reports"], found["round_enrolled"]) == (3, 4)
    assert found["rounds_totalclosed"] == 1
    assert (found["gather_seconds_sum"], found["gather_seconds_count"]) == (7, 1)
    assert found["solve_seconds_sum"] == 0.7
    assert (found["budget_left_rho"], found["budget_spent_rho"], found["rounds_left"]) == (
        0.25,
        0.75,
        2,
    )
    assert (found["budget_epsilon"], found["budget_spent_epsilon"]) == (8.0, 6.5)
    assert (found["broker_connected"], found["broker_connections_total"]) == (1, 2)
    assert found["quarantined_devices"] == 1


def test_the_text_holds_all_series_and_no_device() -> None:
    """Over the wire, after everything that names a device was told."""
    health, metrics = Health("broker"), Metrics()
    with Page("127.0.0.1", 0, health=health, metrics=metrics) as page:
        for event in EVENTS:
            page.feed.put(event)
        waiting = _read(_scraped(page)[1])["ready"]
        health.say("broker", True)
        kind, text = _scraped(page)
    families = list(text_string_to_metric_families(text))

    assert kind.startswith("text/plain; version=1.0.0")
    assert DEVICE not in text
    assert {one.name.removeprefix("heatveil_") for one in families} >= NAMES
    labels = {key for one in families for sample in one.samples for key in sample.labels}
    assert labels <= {"kind", "outcome", "step", "le"}
    assert (waiting, _read(text)["ready"]) == (0, 1)


def test_every_label_begins_at_nought() -> None:
    """The first forged message of a year is a rise from nought to one, which an alert can see."""
    found = _read(Metrics().text().decode())

    assert {found[f"refused_total{kind}"] for kind in KINDS} == {0}
    assert (found["rounds_totalsilent"], found["rounds_totalclosed"]) == (0, 0)


@pytest.mark.long
def test_a_store_that_hangs_does_not_hide_the_rest() -> None:
    """What shows that it hangs is asked for just then."""
    free, metrics = threading.Event(), Metrics()
    metrics.before_reading(lambda: free.wait(20))
    metrics.store_retries.inc(7)
    with Page("127.0.0.1", 0, health=Health("store"), metrics=metrics) as page:
        found = _read(_scraped(page)[1])
        free.set()

    assert found["store_retries_total"] == 7


def test_health_tells_what_is_news() -> None:
    """Said twice it is no news; another reason is."""
    health = Health("store", "broker")
    begun = health.ready, health.parts()["store"].why
    news = [
        health.say("store", True), health.say("store", True), health.say("broker", False, "a"),
        health.say("broker", False, "b"), health.say("broker", False, "b"),
    ]  # fmt: skip

    assert begun == (False, "it has not started yet")
    assert news == [True, False, True, True, False]
    assert not health.ready
    assert health.say("broker", True)
    assert health.ready
