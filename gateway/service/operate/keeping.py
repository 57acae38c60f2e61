"""Chores beside the rounds, on one slow thread: old readings forgotten, the log written back.

A chore that fails is told of and done again in its turn: forgetting old readings must not stop
the taking of new ones, and none may stop the others.
"""

import math
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import structlog

from ...settings.operating import Storage
from ...store.store import Store
from .metrics import Metrics


class Chore(NamedTuple):
    """Something to be done every so often; the first time at once."""

    every_s: float
    do: Callable[[], object]


class Chores:
    """The thread; a context manager."""

    def __init__(self, *chores: Chore) -> None:
        self._due = dict.fromkeys(chores, 0.0)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chores", daemon=True)

    def __enter__(self) -> "Chores":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the thread, once the chore that is being done is done."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            for chore, due_s in self._due.items():
                if time.monotonic() >= due_s and not self._stopping.is_set():
                    self._due[chore] = time.monotonic() + chore.every_s
                    self._do(chore)
            left_s = min(self._due.values(), default=0.0) - time.monotonic()
            self._stopping.wait(max(left_s, 0.01))

    def _do(self, chore: Chore) -> None:
        try:
            chore.do()
        except Exception as fault:
            log.warning("a chore failed", chore=_named(chore), why=type(fault).__name__)


def _named(chore: Chore) -> str:
    return getattr(chore.do, "__name__", type(chore.do).__name__)


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
