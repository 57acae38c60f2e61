"""The series of `/metrics`: counts, times and states of a gateway, and of no single device.

A label that names a device would show when somebody is in which room, so there is none.
"""

import math
import time
from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ..intake.outcomes import KINDS

OUTCOMES = ("closed", "silent")
SUMS = ("opened", "few", "unfit", "stopped")  # how a shard's sum ended; few: below its threshold
SUM_STEPS = ("join", "share", "mask", "confirm", "reveal")
SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The series of one gateway, in a registry of their own; any thread adds to them."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()

        def counter(name: str, says: str, *labels: str) -> Counter:
            return Counter(f"heatveil_{name}", says, labels, registry=registry)

        def gauge(name: str, says: str, *labels: str) -> Gauge:
            return Gauge(f"heatveil_{name}", says, labels, registry=registry)

        def histogram(name: str, says: str) -> Histogram:
            return Histogram(f"heatveil_{name}", says, buckets=SECONDS, registry=registry)

        self.received = counter("messages", "Messages that came off the wire")
        self.committed = counter("reports", "Reports that count, on the disk")
        self.absorbed = counter("duplicates", "Messages that had come before, bit for bit")
        self.missing = counter("missing", "Numbers that devices skipped: messages that never came")
        self.refused = counter("refused", "Messages that do not count", "kind")
        self.alarms = counter("alarms", "Devices found to have broken their own noise")
        self.batches = counter("batches", "Commits of what came off the wire")
        self.batch_seconds = histogram("batch_seconds", "From the first of a batch to its commit")
        self.store_retries = counter("store_retries", "Attempts that the disk refused")
        self.receipts = counter("receipts", "Receipts sent to devices")
        self.waiting = gauge("inbox_messages", "Messages that wait to be decided")
        self.connected = gauge("broker_connected", "1 while the broker has us")
        self.connections = counter("broker_connections", "Connections to the broker")
        self.rounds = counter("rounds", "Rounds that ended", "outcome")
        self.sums = counter("sums", "Secure sums of a shard that ended", "outcome")
        self.sum_dropped = counter("sum_dropped", "Devices that a sum lost at a step", "step")
        self.sum_suspects = counter("sum_suspects", "Devices whose shares did not fit in a sum")
        self.round_reports = gauge("round_reports", "Devices that answered the last round")
        self.round_enrolled = gauge("round_enrolled", "Devices that the last round asked")
        self.gather_seconds = histogram("gather_seconds", "From a round's opening to its close")
        self.solve_seconds = histogram("solve_seconds", "Wall time to draw a map")
        self.budget_left = gauge("budget_left_rho", "rho that may still be spent")
        self.budget_spent = gauge("budget_spent_rho", "rho that has been spent")
        self.epsilon = gauge("budget_epsilon", "epsilon of the whole promise")
        self.epsilon_spent = gauge("budget_spent_epsilon", "epsilon that all rounds amount to")
        self.rounds_left = gauge("rounds_left", "Rounds that the budget still pays for")
        self.outbox = gauge("outbox_messages", "Results that the broker has not taken yet")
        self.quarantined = gauge("quarantined_devices", "Devices that are shut out")
        self.disk_free = gauge("disk_free_bytes", "Room where the store is")
        self.viewers = gauge("viewers", "Live pages that are open")
        self.ready = gauge("ready", "1 while every part works")
        # From nought, all of them: in a series that begins at one, no alert sees a rise.
        for kind in KINDS:
            self.refused.labels(kind)
        for outcome in OUTCOMES:
            self.rounds.labels(outcome)
        for outcome in SUMS:
            self.sums.labels(outcome)
        for step in SUM_STEPS:
            self.sum_dropped.labels(step)
        self._refresh: list[Callable[[], None]] = []

    def call_before_reading(self, refresh: Callable[[], None]) -> None:
        """Call this each time that somebody reads: for gauges that are only then looked up."""
        self._refresh.append(refresh)

    def refresh(self) -> None:
        """Look up what is only looked up when somebody reads; it may wait for the disk."""
        for refresh in self._refresh:
            refresh()

    def render_known(self) -> bytes:
        """Return all series in Prometheus' own format, as they are known now."""
        return bytes(generate_latest(self.registry))

    def render_fresh(self) -> bytes:
        """Return all series, looked up."""
        self.refresh()
        return self.render_known()


Event = dict[str, Any]


class EventCounter:
    """Hears events on any thread and keeps the series that follow from them."""

    def __init__(self, metrics: Metrics, clock: Callable[[], float] = time.monotonic) -> None:
        self._metrics, self._clock = metrics, clock
        self._opened: tuple[int, float] | None = None  # number and time of the round that is open
        self._connected = False
        self._kinds: dict[str, Callable[[Event], None]] = {
            "round": self._count_round,
            "reports": self._count_reports,
            "release": self._release,
            "map": self._map,
            "budget": self._count_budget,
            "health": self._count_health,
            "quarantine": self._quarantine,
        }

    def take_event(self, event: Event) -> None:
        """Take an event; those that nothing is counted of are let pass."""
        if take := self._kinds.get(event["kind"]):
            take(event)

    def _count_round(self, event: Event) -> None:
        self._opened = event["number"], self._clock()
        self._metrics.round_enrolled.set(event["enrolled"])
        self._metrics.round_reports.set(0)

    def _count_reports(self, event: Event) -> None:
        self._metrics.round_reports.set(event["came"])
        self._metrics.round_enrolled.set(event["enrolled"])

    def _release(self, event: Event) -> None:
        self._metrics.rounds.labels("closed" if event["reports"] else "silent").inc()
        self._metrics.round_reports.set(event["reports"])
        if self._opened is not None and self._opened[0] == event["number"]:
            self._metrics.gather_seconds.observe(self._clock() - self._opened[1])
            self._opened = None

    def _map(self, event: Event) -> None:
        self._metrics.solve_seconds.observe(event["seconds"])

    def _count_budget(self, event: Event) -> None:
        self._metrics.budget_left.set(event["left"])
        self._metrics.budget_spent.set(event["spent"])
        self._metrics.epsilon.set(event["epsilon"])
        self._metrics.epsilon_spent.set(event["epsilon_spent"])
        # In a window what is left comes back: no number to be warned of.
        left = math.nan if "window_h" in event else event["rounds_left"]
        self._metrics.rounds_left.set(left)

    def _count_health(self, event: Event) -> None:
        connected = bool(event["parts"].get("broker", {}).get("ok"))
        if connected and not self._connected:
            self._metrics.connections.inc()
        self._connected = connected
        self._metrics.connected.set(connected)

    def _quarantine(self, event: Event) -> None:
        self._metrics.quarantined.set(len(event["devices"]))
