"""Looks on while a mechanism is played: how long each verb took, and what was released."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..mechanisms import Mechanism
from .choices import refused, undrawn
from .stages import Stage

_DOING = {
    "plan": "working out the noise",
    "report": "blurring the readings",
    "release": "gathering the reports",
    "recover": "drawing the map",
}
VERBS = tuple(_DOING)
# So many reports are a crowd: whoever waits for them hears how many there are, and how fast.
_CROWD = 2_000
SEEDED = (
    "in everybody, for this is not private: it was an experiment with --seed, and whoever knows "
    "the seed can repeat the noise and take it off"
)


@dataclass
class Watch:
    """What was seen of one protocol."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(VERBS, 0.0))
    releases: list[Any] = field(default_factory=list)
    reports: int = 0
    stage: Stage = lambda verb: None  # hears which verb begins

    def over(
        self,
        mechanism: Mechanism,
        seeded: bool = False,
        reporter: Callable[[Any], Callable[[Any, Any], list[int]]] | None = None,
    ) -> Mechanism:
        """Return the same mechanism, watched.

        Args:
            seeded: the noise can be repeated; then every Round's guarantee says so.
            reporter: makes of a Round what reports to it, (reading, rng) -> payload, for a
                mechanism whose devices keep something ready; None for its own report.

        Raises:
            OperatorFault: from the new plan, where the query cannot be served, and from the
                new recover, where its estimator cannot draw such a map.
        """

        made = reporter or (lambda round: partial(mechanism.report, round))
        ready: dict[str, Any] = {}  # for the round at hand

        def plan(query: Any, releases: Sequence[Any]) -> Any:
            with self._timed("plan"), refused():
                round = mechanism.plan(query, releases)
            if round is None or not seeded:
                return round
            return round._replace(guarantee=round.guarantee._replace(trust=SEEDED))

        def report(round: Any, reading: Any, rng: Any) -> list[int]:
            if self.reports < _CROWD:  # then the last word says more
                self.stage(_DOING["report"])
            if ready.get("round") is not round:
                ready.update(round=round, report=made(round))
            began_s = time.perf_counter()
            payload: list[int] = ready["report"](reading, rng)
            self.seconds["report"] += time.perf_counter() - began_s
            self.reports += 1
            if self.reports % _CROWD == 0:
                self.stage(f"{_DOING['report']}, {self.reports:,} so far{self.rate()}")
            return payload

        def release(round: Any, payloads: Any, rng: Any) -> Any:
            with self._timed("release"):
                self.releases.append(mechanism.release(round, payloads, rng))
            return self.releases[-1]

        def recover(query: Any, releases: Any) -> Any:
            with self._timed("recover"), undrawn():
                return mechanism.recover(query, releases)

        return Mechanism(mechanism.name, plan, report, release, recover)

    def rate(self) -> str:
        """Return in words how many reports a second were made; empty where there are few."""
        if self.reports < _CROWD:
            return ""
        return f" ({self.reports / max(self.seconds['report'], 1e-9):,.0f} reports a second)"

    @contextmanager
    def _timed(self, verb: str) -> Iterator[None]:
        self.stage(_DOING[verb])
        began_s = time.perf_counter()
        yield
        self.seconds[verb] += time.perf_counter() - began_s
