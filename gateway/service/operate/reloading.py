"""The deployment file, read again while the gateway runs: what of it may change, and what may not.

A changed promise is another promise, and a changed store, site or broker is another gateway: for
those it is stopped and started, with everything that is checked then. The rest is taken between
two rounds. Whatever is wrong with the new file, the old one stays in force, whole: half of a file
is nobody's deployment.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog

from ...devices.enrol.check import check_together
from ...devices.enrol.enrol import Devices, load_devices
from ...faults import OperatorFault
from ...mechanisms import of
from ...settings import config
from ...settings.deployment import Deployment

log = structlog.get_logger()

# What may change while we run: whole tables, or the keys of one; beside what a mechanism says.
LIVE: dict[str, set[str] | None] = {
    "rounds": {"every_s", "gather_s", "solve_s", "quorum", "hours"},
    "guard": None,
    "homeassistant": None,
}


def reread(path: Path, deployment: Deployment, devices: Devices) -> tuple[Deployment, Devices]:
    """Return the deployment and the devices as their files now say, if those may be taken.

    Raises:
        OperatorFault: a file is wrong, or says something else that cannot change while we run.
    """
    new = config.load(path)
    if fixed := sorted(_fixed(deployment, new)):
        raise OperatorFault(
            f"{', '.join(fixed)} changed in {path}, which a gateway that runs cannot take: its "
            "rounds, its store and its session at the broker rest on it. Stop the gateway and "
            "start it again, or change it back"
        )
    enrolled = load_devices(new.site.devices, new.site.name)
    if enrolled.site_key != devices.site_key:
        raise OperatorFault(
            f"the devices file {new.site.devices} holds another fleet, with another key for its "
            "rounds; a round that is open is signed with the old one. Stop the gateway and start "
            "it again"
        )
    check_together(new, enrolled)
    plan = of(new).plan
    if plan(config.query(new), []) != plan(config.query(deployment), []):
        raise OperatorFault(
            f"{path} would ask the devices for something else than before, though no key says so: "
            "is the room's own file another one? Stop the gateway and start it again"
        )
    return new, enrolled


def _fixed(old: Deployment, new: Deployment) -> set[str]:
    """Return the keys that differ and may not, as [table] key."""
    differing, own = set(), of(old).live_keys
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

    def ask(self) -> None:
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
                log.exception("what was asked for could not be done")
