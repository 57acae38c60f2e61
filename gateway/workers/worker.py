"""A worker: it takes its share of the parts, works on them, and hands them on."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
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
from . import folds
from .part import Part, Surroundings
from .parts import devices_of
from .shares import share

GLANCES = 5  # signs of life in the time of a lease
LONGEST_S = 0.5  # between two: a part whose worker died waits no longer for us to notice

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
                self._turn()
            except DatabaseError as fault:
                log.warning("the database does not answer the worker", why=str(fault.orig))
            except Exception:  # a worker that gives up gives nobody its parts
                log.exception("a worker's turn failed")
            # Without the database we cannot know, and others may have them by now.
            self._drop([part for part in self._parts.values() if not part.surely_ours()])
            self._woken.wait(min(self._workers.lease_s / GLANCES, LONGEST_S))
            self._woken.clear()
        parts = list(self._parts.values())
        self._drop(parts)
        with suppress(DatabaseError):  # the leases run out by themselves
            self._leases.leave()

    def _turn(self) -> None:
        """Renew what we have, give back what is too much, take what is free."""
        if self._around.devices is not self._known:
            self._known = self._around.devices
            self._rebuild()
        began_s = time.monotonic()
        beat = self._leases.beat(self._parts)
        for lease in beat.kept & self._parts.keys():
            self._parts[lease].sure_until_s = began_s + self._workers.lease_s
        self._drop([part for lease, part in self._parts.items() if lease not in beat.kept])
        quota = share(self._leases.holder, beat.living, self._workers.partitions)
        if surplus := sorted(self._parts)[quota:]:
            self._drop([self._parts[lease] for lease in surplus])
            self._leases.give(surplus)
        elif more := quota - len(self._parts):
            began_s = time.monotonic()
            taken = self._leases.take(self._workers.partitions, more)
            self._begin(taken, began_s + self._workers.lease_s)

    def _begin(self, taken: Sequence[Lease], sure_until_s: float) -> None:
        for lease in taken:
            self._parts[lease] = Part(lease, sure_until_s, self._around)
        if taken:
            log.info("parts taken", parts=[lease.part for lease in taken], of=self._total())

    def _drop(self, dropped: Iterable[Part]) -> None:
        """Close parts, all at once: each waits for its last commit and for the broker."""
        if not (parts := list(dropped)):
            return
        with ThreadPoolExecutor(len(parts), "goodbye") as crew:
            list(crew.map(Part.close, parts))
        for part in parts:
            del self._parts[part.lease]
        log.info("parts left", parts=[part.lease.part for part in parts], of=self._total())

    def _rebuild(self) -> None:
        """Begin those parts anew whose devices are no longer what they were."""
        devices, partitions = self._around.devices, self._workers.partitions
        stale = [
            part
            for lease, part in self._parts.items()
            if part.devices != devices_of(devices, lease.part, partitions)
        ]
        leases = [part.lease for part in stale]
        sure_until_s = min((part.sure_until_s for part in stale), default=0.0)
        self._drop(stale)
        self._begin(leases, sure_until_s)

    def _total(self) -> int:
        return self._workers.partitions
