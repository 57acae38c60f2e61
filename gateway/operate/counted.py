"""What is told of rounds, budget and health, counted for `/metrics`; intake counts its own."""

import time
from collections.abc import Callable
from typing import Any

from .metrics import Metrics

Event = dict[str, Any]


class Counted:
    """Hears events on any thread and keeps the series that follow from them."""

    def __init__(self, metrics: Metrics, clock: Callable[[], float] = time.monotonic) -> None:
        self._metrics, self._clock = metrics, clock
        self._opened: tuple[int, float] | None = None  # number and time of the round that is open
        self._connected = False
        self._kinds: dict[str, Callable[[Event], None]] = {
            "round": self._round,
            "reports": self._reports,
            "release": self._release,
            "map": self._map,
            "budget": self._budget,
            "health": self._health,
            "quarantine": self._quarantine,
        }

    def hear(self, event: Event) -> None:
        """Take an event; those that nothing is counted of are let pass."""
        if take := self._kinds.get(event["kind"]):
            take(event)

    def _round(self, event: Event) -> None:
        self._opened = event["number"], self._clock()
        self._metrics.round_enrolled.set(event["enrolled"])
        self._metrics.round_reports.set(0)

    def _reports(self, event: Event) -> None:
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

    def _budget(self, event: Event) -> None:
        self._metrics.budget_left.set(event["left"])
        self._metrics.budget_spent.set(event["spent"])
        self._metrics.epsilon.set(event["epsilon"])
        self._metrics.epsilon_spent.set(event["epsilon_spent"])
        self._metrics.rounds_left.set(event["rounds_left"])

    def _health(self, event: Event) -> None:
        connected = bool(event["parts"].get("broker", {}).get("ok"))
        if connected and not self._connected:
            self._metrics.connections.inc()
        self._connected = connected
        self._metrics.connected.set(connected)

    def _quarantine(self, event: Event) -> None:
        self._metrics.quarantined.set(len(event["devices"]))
