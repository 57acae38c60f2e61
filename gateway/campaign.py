"""One round after another: plan, charge, ask, gather, release, draw, publish.

A round is charged in the store before it is published: answers cannot be unsaid. A gateway
that died in the middle finds the round in the store, pays nothing for it and takes the answers
that are there: a device answers a round it knows with the bytes it sent before.
"""

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ParamSpec, Protocol, TypeVar

from edge import wire
from edge.entropy import sealed
from edge.records import Release

from . import config, telling
from .asking import opened, signed
from .deployment import Deployment
from .enrolment.enrol import Devices
from .faults import OperatorFault
from .intake.outcomes import Asked
from .intake.writer import Intake
from .ledger import Ledger, price, terms
from .mechanisms import named
from .rounds import OpenRound
from .solver import Solver
from .storage.patience import Stopped, patiently
from .storage.store import Store

GLANCE_S = 0.1  # how often a gathering looks whether it is to stop
STOPPED = "it was stopped"
P = ParamSpec("P")
T = TypeVar("T")


class Publish(Protocol):
    """Sends a message."""

    def __call__(self, topic: str, payload: bytes, *, retain: bool = False) -> None: ...


@dataclass
class Campaign:
    """The rounds of one deployment, and what they need."""

    deployment: Deployment
    devices: Devices
    store: Store
    intake: Intake
    solver: Solver
    publish: Publish
    tell: Callable[[telling.Event], None]
    stopping: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        """Plan the first round, to know its price.

        Raises:
            OperatorFault: there is none, or its database holds another promise, or a smaller.
        """
        self._mechanism = named(self.deployment.rounds.mechanism)
        self._query = config.query(self.deployment)
        try:
            self._guarantee = self._mechanism.plan(self._query, []).guarantee
        except ValueError as fault:
            raise OperatorFault(f"no round can be planned: {fault}") from fault
        self._price = price(self._guarantee)
        self._budget = self._price * self.deployment.privacy.readings
        self.store.check(terms(self._guarantee), self._budget)

    def stop(self) -> None:
        """Make `run` return soon. An open round stays open, for the next start."""
        self.stopping.set()
        self.solver.stop()

    def ledger(self) -> Ledger:
        """Return the budget of this deployment and what was charged to it."""
        return Ledger(self._budget, self.store.charges())

    def run(self, rounds: int | None) -> str:
        """Run this many rounds, or as many as may be; return the sentence why it ended."""
        try:
            return self._run(rounds)
        except Stopped:
            return STOPPED

    def _run(self, rounds: int | None) -> str:
        releases: list[Any] = []
        done, due_s = 0, time.monotonic() + self._rest_s()
        self._tell_ledger()
        while planned := self._mechanism.plan(self._query, releases):
            number = self._kept(self.store.number_of, wire.name_of(planned))
            asked = signed(planned, number, self.devices)
            if stored := self._kept(self.store.release, asked.name):
                releases.append(Release(asked.plan, *stored))
                continue
            known = self._kept(self.store.opened_s, asked.name) is not None
            if not done:
                self._resume(releases, known)
            if rounds is not None and done >= rounds:
                return f"as many rounds as were asked for have been run: {done}"
            if not known and self.stopping.wait(max(due_s - time.monotonic(), 0)):
                return STOPPED
            due_s = time.monotonic() + self.deployment.rounds.every_s
            if why := self._kept(self.store.open_round, asked, self._budget):
                return why
            self._tell_ledger()
            closed = self._gather(asked)
            if closed is None:
                return STOPPED
            releases.append(self._release(closed))
            if releases[-1].reports:  # else there is nothing new to be drawn
                self._draw(releases)
            done += 1
        if not done:
            self._resume(releases, False)
        return f"all {len(releases)} readings that the promise is for have been taken"

    def _rest_s(self) -> float:
        """Return what is left of the pause after the last round, whoever started it."""
        every_s = self.deployment.rounds.every_s
        last_s = self._kept(self.store.opened_s)
        return 0 if last_s is None else min(max(every_s - (time.time() - last_s), 0), every_s)

    def _resume(self, releases: list[Any], known: bool) -> None:
        """Make good what a gateway that died may not have come to."""
        if not known:  # no round is open: devices must not find a released one
            topic = wire.round_topic(self.devices.site, self._mechanism.name)
            self.publish(topic, b"", retain=True)
        self._draw(releases)

    def _gather(self, asked: Asked) -> OpenRound | None:
        """Publish a round and return it with its answers, closed; None when stopped."""
        topic = wire.round_topic(self.devices.site, asked.plan.mechanism)
        gather_s = self.deployment.rounds.gather_s
        stored = self._kept(self.store.answers, asked.name)
        closes_s = time.monotonic() + gather_s
        round = opened(asked, self.devices, stored, closes_s)
        self.intake.open(round)
        self.publish(topic, asked.message, retain=True)
        self.tell(telling.asked(round, gather_s))
        while not self.intake.wait_complete(GLANCE_S) and time.monotonic() < closes_s:
            if self.stopping.is_set():
                return None  # it stays retained and open, for the next start
        self.publish(topic, b"", retain=True)  # who comes now is asked nothing
        return self.intake.close_round()

    def _release(self, closed: OpenRound) -> Release:
        """Fold the answers, and keep the release before anybody sees it."""
        began_s = time.monotonic()
        payloads = [closed.reports[sender].payload for sender in sorted(closed.reports)]
        release = self._mechanism.release(closed.plan, payloads, sealed(os.urandom(32)))
        self._kept(self.store.close_round, closed.name, release.values, release.reports)
        self.tell(telling.released(release, time.monotonic() - began_s))
        return release

    def _draw(self, releases: list[Any]) -> None:
        """Draw, keep and publish the map of all releases so far; the silent ones count too."""
        if not (heard := [release for release in releases if release.reports]):
            return
        began_s, last = time.monotonic(), heard[-1].round
        result = self.solver.recover(self._mechanism.name, self._query, releases)
        if result is None:
            return  # stopped; the next start draws it
        event = telling.drawn(last.number, result, time.monotonic() - began_s)
        body = json.dumps(event)
        self._kept(self.store.keep_map, wire.name_of(last), body)
        self.publish(wire.map_topic(self.devices.site, last.mechanism), body.encode(), retain=True)
        self.tell(event)

    def _tell_ledger(self) -> None:
        self.tell(telling.spent(self._kept(self.ledger), self._price, self._guarantee))

    def _kept(self, do: Callable[P, T], *args: P.args, **words: P.kwargs) -> T:
        """Ask the store, and ask again while the disk will not."""
        return patiently(self.stopping, do, *args, **words)
