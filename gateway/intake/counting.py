"""What the writer says of itself: series of `/metrics`, and whether the store takes what came."""

from collections import Counter
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from sqlalchemy.exc import DatabaseError

from ..operate.health import Health
from ..operate.metrics import Metrics
from .judge import Verdict

P = ParamSpec("P")
T = TypeVar("T")


class Counting:
    """Counts for metrics and health, either of which may be missing."""

    def __init__(self, metrics: Metrics | None, health: Health | None) -> None:
        self._metrics, self._health = metrics, health

    def came(self, messages: int, waiting: int) -> None:
        """So many messages are about to be decided, and so many wait behind them."""
        if self._metrics is not None:
            self._metrics.received.inc(messages)
            self._metrics.waiting.set(waiting)

    def stored(self, verdict: Verdict, unheard: Counter[str], seconds: float) -> None:
        """A batch is committed, so long after its first message was taken."""
        metrics = self._metrics
        if metrics is None:
            return
        metrics.batches.inc()
        metrics.batch_seconds.observe(seconds)
        metrics.committed.inc(len(verdict.kept))
        metrics.absorbed.inc(len(verdict.again))
        metrics.missing.inc(verdict.missing)
        metrics.alarms.inc(len(verdict.alarms))
        metrics.receipts.inc(len(verdict.receipts) + len(verdict.again))
        for kind, count in (unheard + Counter(one.kind for one in verdict.letters)).items():
            metrics.refused.labels(kind).inc(count)

    def watched(self, do: Callable[P, T]) -> Callable[P, T]:
        """Return the same function, which says how it went with the store."""

        def watched(*args: P.args, **words: P.kwargs) -> T:
            try:
                found = do(*args, **words)
            except DatabaseError as fault:
                if self._metrics is not None:
                    self._metrics.store_retries.inc()
                self._say(False, f"the store does not take what came: {fault.orig}")
                raise
            self._say(True)
            return found

        return watched

    def _say(self, ok: bool, why: str = "") -> None:
        if self._health is not None:
            self._health.say("store", ok, why)
