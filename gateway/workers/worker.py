"""A worker: it takes its share of the parts, works on them, and hands them on."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import structlog
from sqlalchemy.exc import DatabaseError

from ..deployment import Deployment
from ..devices.enrol.enrol import Devices
from ..faults import OperatorFault
from ..intake.door import Guard
from ..intake.outcomes import Alarm
from ..mqtt.pump import Pump
from ..operate.metrics import Metrics
from ..storage.leases import Leases
from ..storage.store import Store
from . import folds, retiring, roll
from .hands import Hands
from .part import Surroundings
from .shares import share
from .sight import Sight

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
        say: Callable[[str, bool, str], object] = lambda *_: None,
        away: Callable[[float], None] = lambda seconds: None,
        metrics: Metrics | None = None,
        guard: Guard | None = None,
    ) -> None:
        """Join the workers of the site.

        Args:
            holder: names this process, and no other that ever was.
            store: at PostgreSQL; the caller's to close.
            alarm: hears of devices that need a new key, on threads of ours.
            say: hears how "store", "broker" and "parts" are, on threads of ours.
            away: see `Sight`.

        Raises:
            OperatorFault: the mechanism of the deployment cannot be gathered in parts.
        """
        fold = folds.named(deployment.rounds.mechanism)
        self.holder, self._workers = holder, deployment.workers
        self._store, self._say = store, say
        self._leases = Leases(store.engine, holder, self._workers.lease_s)
        self._hands = Hands(self._workers.partitions)
        self._pump = Pump("parts")
        self._sight = Sight(deployment, holder, self._pump, say, away)
        shared = store, self._pump, fold, alarm, metrics, guard, self._sight.heard
        self._around = Surroundings(deployment, devices, *shared)
        self._known, self._mark, self._joined = devices, roll.mark_of(devices), False
        self._stopping, self._woken = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="worker", daemon=True)

    def __enter__(self) -> "Worker":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.join()
        self._sight.close()
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
        return self._hands.parts

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._turn()
                self._say("store", True, "")
                self._say("parts", self._joined, _standing(self.parts, self._joined))
            except DatabaseError as fault:
                log.warning("the database does not answer the worker", why=str(fault.orig))
                self._say("store", False, f"the database does not answer: {fault.orig}")
            except OperatorFault as fault:
                log.error("this worker takes no part", why=str(fault))
                self._say("parts", False, str(fault))
            except Exception:  # a worker that gives up gives nobody its parts
                log.exception("a worker's turn failed")
            # Without the database we cannot know, and others may have them by now.
            self._hands.only_sure()
            self._woken.wait(min(self._workers.lease_s / GLANCES, LONGEST_S))
            self._woken.clear()
        self._hands.end(GOODBYE_S)
        with suppress(DatabaseError):  # the leases run out by themselves
            roll.leave(self._store.engine, self.holder)

    def _turn(self) -> None:
        """Renew what we have, give back what is too much, take what is free."""
        partitions, lease_s = self._workers.partitions, self._workers.lease_s
        engine, hands = self._store.engine, self._hands
        began_s = time.monotonic()
        hands.keep(self._leases.renew(hands.held), began_s + lease_s)
        if (devices := self._around.devices) is not self._known:
            self._known, self._mark = devices, roll.mark_of(devices)
            hands.know(devices)
        us = self.holder, lease_s, self._mark
        blind = self._sight.blind_for(lease_s if self._joined else 0)
        if not self._joined and not blind:
            roll.join(engine, *us, partitions)
            self._joined = True
            retiring.begin(self._around.deployment, self._store)
        living = roll.sign(engine, *us) if self._joined else []
        self._joined = self.holder in living  # not if we were away until we were forgotten
        more = hands.at_most(0 if blind else share(self.holder, living, partitions))
        self._leases.give(hands.gone())
        if blind and not hands.held and self._joined:  # let others have our share
            roll.leave(engine, self.holder)
            self._joined = False
        if more > 0:
            began_s = time.monotonic()
            taken = self._leases.take(partitions, more)
            hands.begin(taken, began_s + lease_s, self._around)


def _standing(parts: Sequence[int], joined: bool) -> str:
    if not joined:
        return "it takes no part before the broker has it"
    return f"it works on {' '.join(map(str, parts))}" if parts else "all parts are others'"
