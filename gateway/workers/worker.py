"""A worker: it takes its share of the parts, works on them, and hands them on."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import structlog
from sqlalchemy.exc import DatabaseError

from ..deployment import Deployment
from ..enrolment.enrol import Devices
from ..intake.door import Guard
from ..intake.outcomes import Alarm
from ..mqtt.pump import Pump
from ..operate.metrics import Metrics
from ..storage.leases import Lease, Leases
from ..storage.store import Store
from . import folds, retiring
from .part import Part, Surroundings
from .parts import devices_of
from .shares import share

GLANCES = 5  # signs of life in the time of a lease
LONGEST_S = 0.5  # between two: a part whose worker died waits no longer for us to notice
GOODBYE_S = 1.5  # for the last commits, when we are told to stop

log = structlog.get_logger()


class Worker:
    """One worker of a site; a context manager. It works on a thread of its own."""

    def __init__(
        self,
        deployment: Deployment,
        devices: Devices,
        holder: str,
        store: Store,
        *,
        alarm: Callable[[Sequence[Alarm]], None] = lambda raised: None,
        metrics: Metrics | None = None,
        guard: Guard | None = None,
    ) -> None:
        """Join the workers of the site.

        Args:
            holder: names this process, and no other that ever was.
            store: at PostgreSQL; the caller's to close.
            alarm: hears of devices that need a new key, on threads of ours.

        Raises:
            OperatorFault: the mechanism of the deployment cannot be gathered in parts.
        """
        self._workers = deployment.workers
        self._leases = Leases(store.engine, holder, self._workers.lease_s)
        self._pump = Pump("parts")
        fold = folds.named(deployment.rounds.mechanism)
        self._around = Surroundings(
            deployment, devices, store, self._pump, fold, alarm, metrics, guard
        )
        self._known, self._parts = devices, dict[Lease, Part]()
        self._leaving: dict[Lease, threading.Thread] = {}
        self._stopping, self._woken = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="worker", daemon=True)

    def __enter__(self) -> "Worker":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.join()
        self._pump.close()

    def stop(self) -> None:
        """Begin to hand the parts on; whoever leaves the block waits for it."""
        self._stopping.set()
        self._woken.set()

    def reload(self, devices: Devices) -> None:
        """Work for these devices from now on: the sessions take them up and let others go."""
        self._around = self._around._replace(devices=devices)
        self._woken.set()

    @property
    def devices(self) -> Devices:
        """The devices that we work for, of all parts."""
        return self._around.devices

    @property
    def parts(self) -> list[int]:
        """The parts that we have, in order."""
        return sorted(lease.part for lease in list(self._parts))

    def _run(self) -> None:
        joined = False
        while not self._stopping.is_set():
            try:
                if not joined:
                    self._leases.join(self._workers.partitions)
                    joined = True
                    retiring.begin(self._around.deployment, self._around.store)
                self._turn()
            except DatabaseError as fault:
                log.warning("the database does not answer the worker", why=str(fault.orig))
            except Exception:  # a worker that gives up gives nobody its parts
                log.exception("a worker's turn failed")
            # Without the database we cannot know, and others may have them by now.
            self._leave([part for part in self._parts.values() if not part.surely_ours()])
            self._woken.wait(min(self._workers.lease_s / GLANCES, LONGEST_S))
            self._woken.clear()
        self._leave(list(self._parts.values()))
        until_s = time.monotonic() + GOODBYE_S
        for closing in self._leaving.values():
            closing.join(max(until_s - time.monotonic(), 0))
        with suppress(DatabaseError):  # the leases run out by themselves
            self._leases.leave()

    def _turn(self) -> None:
        """Renew what we have, give back what is too much, take what is free."""
        began_s = time.monotonic()
        beat = self._leases.beat([*self._parts, *self._leaving])
        for lease in beat.kept & self._parts.keys():
            self._parts[lease].sure_until_s = began_s + self._workers.lease_s
        self._leave([part for lease, part in self._parts.items() if lease not in beat.kept])
        devices, partitions = self._around.devices, self._workers.partitions
        if devices is not self._known:  # parts whose devices are others now are begun anew
            self._known = devices
            new = {lease: devices_of(devices, lease.part, partitions) for lease in self._parts}
            self._leave([part for part in self._parts.values() if part.devices != new[part.lease]])
        quota = share(self._leases.holder, beat.living, partitions)
        self._leave([self._parts[lease] for lease in sorted(self._parts)[quota:]])
        gone = [lease for lease, closing in self._leaving.items() if not closing.is_alive()]
        self._leases.give(gone)
        for lease in gone:
            del self._leaving[lease]
        if (more := quota - len(self._parts)) > 0:
            began_s = time.monotonic()
            taken = self._leases.take(partitions, more)
            for lease in taken:
                until_s = began_s + self._workers.lease_s
                self._parts[lease] = Part(lease, until_s, self._around)
            if taken:
                log.info("parts taken", part=_listed(taken), of=partitions)

    def _leave(self, parts: Sequence[Part]) -> None:
        """Begin to close parts; meanwhile they are still ours, so that nobody else begins.

        Each waits for its last commit and for the broker, and we must not: others' leases run.
        """
        for part in parts:
            del self._parts[part.lease]
            closing = threading.Thread(target=part.close, name="goodbye", daemon=True)
            self._leaving[part.lease] = closing
            closing.start()
        if parts:
            left = _listed(part.lease for part in parts)
            log.info("parts left", part=left, of=self._workers.partitions)


def _listed(leases: Iterable[Lease]) -> str:
    return " ".join(str(lease.part) for lease in sorted(leases))
