"""A gateway under a service manager: when it is ready, that it lives, and its file read again.

Ready is when the broker has us for the first time: until then nothing is gathered, and what waits
for us at a start must wait. The page is up before, so `systemctl start` that does not come back
can be asked why. Under anything else, and on a terminal, nothing is said and nothing fails.

Of the deployment file a changed promise is another promise, and a changed store, site or broker is
another gateway: for those it is stopped and started, with everything that is checked then. The
rest is taken between two rounds. Where the new file is wrong, the old one stays in force, whole.

Source: the manual page sd_notify(3).
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ...devices.enrol.check import check_devices_fit
from ...devices.enrol.enrol import Devices, load_devices
from ...faults import OperatorFault
from ...logs import log
from ...mechanisms import find_for_deployment
from ...settings import config
from ...settings.deployment import Deployment

PATIENCE_S = 1.0  # a manager that does not read is not waited for any longer


def notify_service_manager(address: str, *fields: str) -> bool:
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


def find_watchdog_s(environment: Mapping[str, str]) -> float | None:
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
        self._watchdog_s = find_watchdog_s(environment)
        self._say = partial(notify_service_manager, environment.get("NOTIFY_SOCKET", ""))
        self._lock, self._over = threading.Lock(), threading.Event()
        self._ready = False
        self._watched: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def __enter__(self) -> "Supervised":
        if self._watchdog_s is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.notify_stopping()
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def take_event(self, event: Mapping[str, Any]) -> None:
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

    def notify_reloading(self) -> None:
        """Say that the file is being read again; `notify_reloaded` must follow."""
        # Since 253 a manager tells by the time whether this answers its own request.
        now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._say("RELOADING=1", f"MONOTONIC_USEC={now_us}")

    def notify_reloaded(self) -> None:
        """Say that it was, whether it could be taken or not."""
        if self._ready:
            self._say("READY=1")

    def notify_stopping(self) -> None:
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


# What may change while we run: whole tables, or the keys of one; beside what a mechanism says.
LIVE: dict[str, set[str] | None] = {
    "rounds": {"every_s", "gather_s", "solve_s", "quorum", "hours"},
    "guard": None,
    "homeassistant": None,
}


def reread_files(
    path: Path, deployment: Deployment, devices: Devices
) -> tuple[Deployment, Devices]:
    """Return the deployment and the devices as their files now say, if those may be taken.

    Raises:
        OperatorFault: a file is wrong, or says something else that cannot change while we run.
    """
    new = config.load_deployment(path)
    if fixed := sorted(_find_fixed(deployment, new)):
        raise OperatorFault(
            f"{', '.join(fixed)} changed in {path}, which takes effect only at a restart: the "
            "rounds, the store or the session at the broker depend on it. Restart the gateway, "
            "or change it back"
        )
    enrolled = load_devices(new.site.devices, new.site.name)
    if enrolled.site_key != devices.site_key:
        raise OperatorFault(
            f"the devices file {new.site.devices} holds another fleet with another site key, and "
            "the open round is signed with the old one. Restart the gateway"
        )
    check_devices_fit(new, enrolled)
    plan = find_for_deployment(new).plan
    if plan(config.make_query(new), []) != plan(config.make_query(deployment), []):
        raise OperatorFault(
            f"with {path} the rounds would differ from before, although no setting in it changed: "
            "the room file did, perhaps. Restart the gateway"
        )
    return new, enrolled


def _find_fixed(old: Deployment, new: Deployment) -> set[str]:
    """Return the keys that differ and may not, as [table] key."""
    differing, own = set(), find_for_deployment(old).live_keys
    for table in type(old).model_fields:
        before, after = getattr(old, table), getattr(new, table)
        live = LIVE.get(table, set())
        if live is None or before == after:
            continue
        if before is None or after is None:  # the table of another mechanism
            differing.add(f"[{table}]")
            continue
        ours: Any = type(before).model_fields
        names = {name for name in ours if getattr(before, name) != getattr(after, name)}
        names -= live | own.get(table, frozenset())
        differing |= {f"[{table}] {name}" for name in names}
    return differing


class Reloading:
    """Does something each time that it is asked to, on a thread of its own; a context manager.

    A signal may come at any moment, and its handler must not wait for a disk: it only asks.
    """

    def __init__(self, do: Callable[[], None]) -> None:
        self._do, self._over = do, False
        self._asked = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reload", daemon=True)

    def request(self) -> None:
        """Have it done; returns at once."""
        self._asked.set()

    def __enter__(self) -> "Reloading":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._asked.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._asked.wait()
            self._asked.clear()
            if self._over:
                return
            try:
                self._do()
            except Exception:  # the next request must find somebody
                log.exception(
                    "the reload failed by the fault that follows here; the gateway goes on, and "
                    "what was changed holds in part at most. Correct that and reload again, or "
                    "restart the gateway"
                )
