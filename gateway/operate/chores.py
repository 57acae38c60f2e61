"""What is done now and then beside the rounds: one slow thread, each chore at its own pace.

A chore that fails is told of and done again in its turn: forgetting old readings must not stop
the taking of new ones, and none may stop the others.
"""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import structlog

log = structlog.get_logger()


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
