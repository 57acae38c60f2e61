"""The series of `/metrics`: counts, times and states of a gateway, and of no single device.

A label that names a device would show when somebody is in which room, so there is none.
"""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ..intake.outcomes import KINDS

OUTCOMES = ("closed", "silent")
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
        self.round_reports = gauge("round_reports", "Devices that answered the last round")
        self.round_enrolled = gauge("round_enrolled", "Devices that the last round asked")
        self.gather_seconds = histogram("gather_seconds", "From a round's opening to its close")
        self.solve_seconds = histogram("solve_seconds", "Time to draw a map")
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
        self._refresh: list[Callable[[], None]] = []

    def before_reading(self, refresh: Callable[[], None]) -> None:
        """Call this each time that somebody reads: for gauges that are only then looked up."""
        self._refresh.append(refresh)

    def refresh(self) -> None:
        """Look up what is only looked up when somebody reads; it may wait for the disk."""
        for refresh in self._refresh:
            refresh()

    def said(self) -> bytes:
        """Return all series in Prometheus' own format, as they are known now."""
        return bytes(generate_latest(self.registry))

    def text(self) -> bytes:
        """Return all series, looked up."""
        self.refresh()
        return self.said()
