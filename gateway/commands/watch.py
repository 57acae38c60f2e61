"""Looks on while a mechanism is played: how long each verb took, and what was released."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
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

    def over(self, mechanism: Mechanism, seeded: bool = False) -> Mechanism:
        """Return the same mechanism, watched.

        Args:
            seeded: the noise can be repeated; then every Round's guarantee says so.

        Raises:
            OperatorFault: from the new plan, where the query cannot be served, and from the
                new recover, where its estimator cannot draw such a map.
        """

        def plan(query: Any, releases: Sequence[Any]) -> Any:
            with self._timed("plan"), refused():
                round = mechanism.plan(query, releases)
            if round is None or not seeded:
                return round
            return round._replace(guarantee=round.guarantee._replace(trust=SEEDED))

        def report(round: Any, reading: Any, rng: Any) -> list[int]:
            self.reports += 1
            with self._timed("report"):
                return mechanism.report(round, reading, rng)

        def release(round: Any, payloads: Any, rng: Any) -> Any:
            with self._timed("release"):
                self.releases.append(mechanism.release(round, payloads, rng))
            return self.releases[-1]

        def recover(query: Any, releases: Any) -> Any:
            with self._timed("recover"), undrawn():
                return mechanism.recover(query, releases)

        return Mechanism(mechanism.name, plan, report, release, recover)

    @contextmanager
    def _timed(self, verb: str) -> Iterator[None]:
        self.stage(_DOING[verb])
        began_s = time.perf_counter()
        yield
        self.seconds[verb] += time.perf_counter() - began_s
