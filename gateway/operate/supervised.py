"""A gateway under a service manager: when it is ready, how it is, and that it lives.

Ready is when the broker has us for the first time: until then nothing is gathered, and what waits
for us at a start must wait. The page is up before, so `systemctl start` that does not come back
can be asked why.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from .notify import Notifier

# Threads without which a gateway does nothing more, however well the others do.
VITAL = ("intake", "gateway", "outbox", "chores", "page")

log = structlog.get_logger()


class Supervised:
    """Tells the service manager what the service tells; a context manager.

    Where there is none it does nothing. A thread of ours that has died, or stands still, is no
    life: the manager is told nothing more, and starts us anew.
    """

    moving: Callable[[], bool] = staticmethod(lambda: True)  # whether what must move has moved

    def __init__(self, notify: Notifier | None = None) -> None:
        """Begin.

        Args:
            notify: instead of one of this process's own environment.
        """
        self._notify = notify or Notifier()
        self._lock, self._over = threading.Lock(), threading.Event()
        self._ready = False
        self._watched: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def __enter__(self) -> "Supervised":
        if self._notify.watchdog_s is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping()
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take one of the service's events; it never waits for long, and never raises."""
        if event["kind"] != "health":
            return
        parts = event["parts"]
        self._notify.status(
            "; ".join(f"{name}: {part['why']}" for name, part in parts.items() if not part["ok"])
            or "all parts work"
        )
        with self._lock:
            first = not self._ready and parts.get("broker", {}).get("ok", False)
            self._ready = self._ready or first
        if first:
            self._watched = [one for one in threading.enumerate() if one.name in VITAL]
            self._notify.ready()

    def reloading(self) -> None:
        """Say that the file is being read again; `reloaded` must follow."""
        self._notify.reloading()

    def reloaded(self) -> None:
        """Say that it was, whether it could be taken or not."""
        if self._ready:
            self._notify.ready()

    def stopping(self) -> None:
        """Say that we are about to end, once."""
        if not self._over.is_set():
            self._notify.stopping()

    def _run(self) -> None:
        while not self._over.wait(self._notify.watchdog_s):
            if dead := [one.name for one in self._watched if not one.is_alive()]:
                log.error(
                    "a thread has ended and must not; we are to be started anew", threads=dead
                )
                continue
            if not self.moving():
                log.error(
                    "the rounds, the link or the writer stand still; we are to be started anew"
                )
                continue
            self._notify.watchdog()
