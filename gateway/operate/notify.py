"""What a service manager is told of us: systemd's notify protocol, over a datagram socket.

Under anything else, and on a terminal, nothing is said and nothing fails: a gateway must not end
because nobody wanted to hear of it.

Source: the manual page sd_notify(3).
"""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress

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
