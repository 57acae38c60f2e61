"""What a store needs now and then: old readings forgotten, its log written back."""

import math
import time

import structlog

from ..operating import Storage
from ..storage.store import Store
from .chores import Chore
from .metrics import Metrics

FORGET_S, WRITE_BACK_S = 3600.0, 300.0
COUNTED = 1000  # letters: more are too many, however many

log = structlog.get_logger()


def keeping(settings: Storage, store: Store, metrics: Metrics | None = None) -> tuple[Chore, ...]:
    """Return the chores of a store, as [store] says; its gauges are looked up when read."""

    def forget() -> None:
        """Forget what is older than it need be; what was charged stays."""
        gone = store.retain(time.time(), settings.keep_days, settings.refused_days)
        if gone:
            log.info("old rows are forgotten", rows=gone)

    if metrics is not None:
        metrics.before_reading(lambda: _gauge(metrics, store))
    return Chore(FORGET_S, forget), Chore(WRITE_BACK_S, store.write_back)


def _gauge(metrics: Metrics, store: Store) -> None:
    free_bytes = store.free_bytes()
    metrics.disk_free.set(math.nan if free_bytes is None else free_bytes)
    metrics.outbox.set(len(store.letters(COUNTED)))
