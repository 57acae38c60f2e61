"""A gateway under a service manager: when it is ready, how it is, and that it lives.

Ready is when the broker has us for the first time: until then nothing is gathered, and what waits
for us at a start must wait. The page is up before, so `systemctl start` that does not come back
can be asked why. Under anything else, and on a terminal, nothing is said and nothing fails.

Source: the manual page sd_notify(3).
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import structlog

PATIENCE_S = 1.0  # a manager that does not read is not waited for any longer


class Notifier:
    """Tells the service manager that started us; any thread may. Nothing here raises."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        """Find out who is to be told.

        Args:
            environment: instead of this process's own.
        """
        found = os.environ if environment is None else environment
        self._address = _address(found.get("NOTIFY_SOCKET", ""))
        self.watchdog_s = None if self._address is None else _watchdog_s(found)

    def ready(self) -> bool:
        """Say that we serve; return whether anybody was told, as all of these do."""
        return self._say("READY=1")

    def reloading(self) -> bool:
        """Say that the deployment file is being read again; `ready` ends it."""
        # Since 253 a manager tells by the time whether this answers its own request.
        now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        return self._say("RELOADING=1", f"MONOTONIC_USEC={now_us}")

    def stopping(self) -> bool:
        """Say that we are about to end."""
        return self._say("STOPPING=1")

    def status(self, sentence: str) -> bool:
        """Say how we are, in a line that `systemctl status` shows."""
        return self._say(f"STATUS={' '.join(sentence.split())}")

    def watchdog(self) -> bool:
        """Say that we are alive: every `watchdog_s` seconds, where that is not None."""
        return self._say("WATCHDOG=1")

    def _say(self, *fields: str) -> bool:
        if self._address is None:
            return False
        with suppress(OSError, ValueError):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
                link.settimeout(PATIENCE_S)
                link.connect(self._address)
                link.sendall("\n".join(fields).encode("utf-8", "replace"))
            return True
        return False


def _address(given: str) -> str | None:
    """Return what to connect to; an @ stands for the zero byte of an abstract name."""
    if not hasattr(socket, "AF_UNIX") or given[:1] not in ("/", "@") or len(given) < 2:
        return None
    return "\0" + given[1:] if given[0] == "@" else given


def _watchdog_s(environment: Mapping[str, str]) -> float | None:
    """Return how often to say that we are alive: half of the time after which we are killed."""
    try:
        allowed_us = int(environment.get("WATCHDOG_USEC", ""))
        meant = int(environment.get("WATCHDOG_PID", "") or os.getpid())
    except ValueError:
        return None
    return allowed_us / 2e6 if allowed_us > 0 and meant == os.getpid() else None


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
