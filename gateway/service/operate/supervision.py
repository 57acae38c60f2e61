"""A gateway under a service manager: when it is ready, and that it lives.

Ready is when the broker has us for the first time: until then nothing is gathered, and what waits
for us at a start must wait. The page is up before, so `systemctl start` that does not come back
can be asked why. Under anything else, and on a terminal, nothing is said and nothing fails.

Source: the manual page sd_notify(3).
"""

import os
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from ...logs import log

PATIENCE_S = 1.0  # a manager that does not read is not waited for any longer


def notify(address: str, *fields: str) -> bool:
    """Tell the service manager that listens at an address; return whether anybody was told.

    It never raises.

    Args:
        address: as NOTIFY_SOCKET gives it; an @ stands for the zero byte of an abstract name.
    """
    if not hasattr(socket, "AF_UNIX") or address[:1] not in ("/", "@") or len(address) < 2:
        return False
    with suppress(OSError, ValueError):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
            link.settimeout(PATIENCE_S)
            link.connect("\0" + address[1:] if address[0] == "@" else address)
            link.sendall("\n".join(fields).encode("utf-8", "replace"))
        return True
    return False


def watchdog_of(environment: Mapping[str, str]) -> float | None:
    """Return how often to say that we are alive: half of the time after which we are killed."""
    try:
        allowed_us = int(environment.get("WATCHDOG_USEC", ""))
        meant = int(environment.get("WATCHDOG_PID", "") or os.getpid())
    except ValueError:
        return None
    heeded = allowed_us > 0 and meant == os.getpid() and environment.get("NOTIFY_SOCKET")
    return allowed_us / 2e6 if heeded else None


# Threads without which a gateway does nothing more, however well the others do.
VITAL = ("intake", "gateway", "outbox", "chores", "page")


class Supervised:
    """Tells the service manager that started us what the service tells; a context manager.

    Where there is none it does nothing. A thread of ours that has died, or stands still, is no
    life: the manager is told nothing more, and starts us anew.
    """

    moving: Callable[[], bool] = staticmethod(lambda: True)  # whether what must move has moved

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._watchdog_s = watchdog_of(environment)
        self._say = partial(notify, environment.get("NOTIFY_SOCKET", ""))
        self._lock, self._over = threading.Lock(), threading.Event()
        self._ready = False
        self._watched: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def __enter__(self) -> "Supervised":
        if self._watchdog_s is not None:
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
        wrong = [f"{name}: {part['why']}" for name, part in parts.items() if not part["ok"]]
        self._say(f"STATUS={' '.join('; '.join(wrong or ['all parts work']).split())}")
        with self._lock:
            first = not self._ready and parts.get("broker", {}).get("ok", False)
            self._ready = self._ready or first
        if first:
            self._watched = [one for one in threading.enumerate() if one.name in VITAL]
            self._say("READY=1")

    def stopping(self) -> None:
        """Say that we are about to end, once."""
        if not self._over.is_set():
            self._say("STOPPING=1")

    def _run(self) -> None:
        while not self._over.wait(self._watchdog_s):
            if dead := [one.name for one in self._watched if not one.is_alive()]:
                log.error(
                    "a vital thread has ended; the service manager will restart the gateway",
                    threads=dead,
                )
            elif not self.moving():
                log.error(
                    "rounds, link or writer hang; the service manager will restart the gateway"
                )
            else:
                self._say("WATCHDOG=1")
