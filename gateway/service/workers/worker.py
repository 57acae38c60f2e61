"""A worker: it takes its share of the parts, works on them, and gives them back.

It watches the broker on a link of its own: a worker that cannot reach the broker would else keep
its share from those who can, for as long as it can reach the database.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress

from sqlalchemy.exc import DatabaseError

from ...devices.enrol.enrol import Devices
from ...faults import OperatorFault
from ...logs import log
from ...settings.deployment import Deployment
from ...store.places import describe_fault
from ...store.store import Store
from ..intake.door import Guard
from ..intake.outcomes import Alarm
from ..mqtt.pump import Pump
from ..mqtt.service import Link
from ..operate.health import GONE
from ..operate.metrics import Metrics
from . import leases, rounds
from .leases import UNANSWERED, Lease, Leases
from .part import GOODBYE_S, Part, Surroundings, end_old_sessions_quietly, select_devices


def compute_share(holder: str, living: Sequence[str], partitions: int) -> int:
    """Return the share of a worker, so that all shares together are all parts.

    Who joined first has the larger one where parts do not go up evenly, so that a worker that
    joins or dies moves as few parts as can be.

    >>> [compute_share(name, ["ada", "bob", "cy"], 8) for name in ("ada", "bob", "cy")]
    [3, 3, 2]
    """
    if holder not in living:
        return 0
    each, more = divmod(partitions, len(living))
    return each + (living.index(holder) < more)


class HeldParts:
    """The parts by their leases; for one thread, but for `parts`, which any may ask for."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._parts: dict[Lease, Part] = {}
        self._leaving: dict[Lease, threading.Thread] = {}

    @property
    def parts(self) -> list[int]:
        """The parts that are worked on, in order."""
        return sorted(lease.part for lease in list(self._parts))

    @property
    def held(self) -> list[Lease]:
        """All leases that must be renewed, those too of which we are about to let go."""
        return [*self._parts, *self._leaving]

    def start_parts(self, taken: Sequence[Lease], until_s: float, around: Surroundings) -> None:
        """Work on these parts, surely ours until then."""
        for lease in taken:
            self._parts[lease] = Part(lease, until_s, around)
        if taken:
            log.info("took partitions", part=_list(taken), of=self._partitions)

    def keep_only(self, kept: Collection[Lease], until_s: float) -> None:
        """Let go of all parts but these, which are surely ours until then."""
        for lease in kept & self._parts.keys():
            self._parts[lease].sure_until_s = until_s
        self._leave([part for lease, part in self._parts.items() if lease not in kept])

    def leave_beyond(self, quota: int) -> int:
        """Let go of what is too much; return how many more there may be."""
        self._leave([self._parts[lease] for lease in sorted(self._parts)[quota:]])
        return quota - len(self._parts)

    def leave_unsure(self) -> None:
        """Let go of parts that another may have by now."""
        self._leave([part for part in self._parts.values() if not part.is_surely_ours()])

    def set_devices(self, devices: Devices) -> None:
        """Let go of parts whose devices are others now: they are begun anew."""
        new = {
            lease: select_devices(devices, lease.part, self._partitions) for lease in self._parts
        }
        self._leave([part for part in self._parts.values() if part.devices != new[part.lease]])

    def pop_closed(self) -> list[Lease]:
        """Return the leases that nobody works for any more, and forget them."""
        gone = [lease for lease, closing in self._leaving.items() if not closing.is_alive()]
        for lease in gone:
            del self._leaving[lease]
        return gone

    def let_go_of_all(self, patience_s: float) -> None:
        """Let go of everything, and wait for the last commits."""
        self.leave_beyond(0)
        until_s = time.monotonic() + patience_s
        for closing in self._leaving.values():
            closing.join(max(until_s - time.monotonic(), 0))

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
            left = _list(part.lease for part in parts)
            log.info("releasing partitions", part=left, of=self._partitions)


def _list(leases: Iterable[Lease]) -> str:
    return " ".join(str(lease.part) for lease in sorted(leases))


class BrokerSight:
    """The link, which takes nothing and says nothing; begins at once, ends with `close`."""

    def __init__(
        self,
        deployment: Deployment,
        holder: str,
        pump: Pump,
        say: Callable[[str, bool, str], object],
        away: Callable[[float], None],
    ) -> None:
        """Begin to look.

        Args:
            say: hears how the part "broker" is.
            away: hears, before anything else comes, how many seconds we have seen nothing: what
                devices said meanwhile comes at once, and is no flood.
        """
        self._say, self._away = say, away
        self._lock = threading.Lock()
        self._lost_s: float | None = None  # since when no link of ours is what it should be
        self._blind_s: float | None = time.monotonic()  # since when the broker does not have us
        name = f"heatveil-{deployment.site.name}-worker-{holder}"
        self._link = Link(
            deployment.mqtt, name, pump, lasting=False, on_state=self._take_link_state
        )

    def is_blind_for(self, seconds: float) -> bool:
        """Return whether the broker has not had us for so long."""
        since_s = self._blind_s
        return since_s is not None and time.monotonic() - since_s >= seconds

    def note_link(self, up: bool) -> None:
        """Note how any link of this worker is; all are lost with the broker, and one is first."""
        now_s = time.monotonic()
        with self._lock:
            lost_s, self._lost_s = self._lost_s, None if up else self._lost_s or now_s
        if up and lost_s is not None:
            self._away(now_s - lost_s)

    def close(self) -> None:
        """Say goodbye."""
        self._link.close(GOODBYE_S)

    def _take_link_state(self, up: bool, why: str) -> None:
        self.note_link(up)
        self._blind_s = None if up else self._blind_s or time.monotonic()
        self._say("broker", up, "" if up else why or GONE)


GLANCES = 5  # signs of life in the time of a lease
LONGEST_S = 0.5  # between two: a part whose worker died waits no longer for us to notice
LAST_COMMITS_S = 1.5  # for the last commits, when we are told to stop


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
            away: see `BrokerSight`.

        Raises:
            OperatorFault: the mechanism of the deployment cannot be gathered in parts.
        """
        fold = rounds.find_fold(deployment.rounds.mechanism)
        self.holder, self._workers = holder, deployment.workers
        self._store, self._say = store, say
        self._leases = Leases(store.engine, holder, self._workers.lease_s)
        self._held_parts = HeldParts(self._workers.partitions)
        self._pump = Pump("parts")
        self._sight = BrokerSight(deployment, holder, self._pump, say, away)
        shared = store, self._pump, fold, alarm, metrics, guard, self._sight.note_link
        self._around = Surroundings(deployment, devices, *shared)
        self._known, self._mark, self._joined = devices, leases.hash_devices(devices), False
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

    def replace_devices(self, devices: Devices) -> None:
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
        return self._held_parts.parts

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._turn()
                self._say("store", True, "")
                self._say("parts", self._joined, _describe_own_parts(self.parts, self._joined))
            except DatabaseError as fault:
                log.warning(
                    "the database does not answer; the worker tries again",
                    why=describe_fault(fault),
                )
                self._say("store", False, UNANSWERED(why=describe_fault(fault)))
            except OperatorFault as fault:
                log.error("this worker takes no partition", why=str(fault))
                self._say("parts", False, str(fault))
            except Exception:  # a worker that gives up gives nobody its parts
                log.exception("a worker failed to renew or take partitions; it tries again")
            # Without the database we cannot know, and others may have them by now.
            self._held_parts.leave_unsure()
            self._woken.wait(min(self._workers.lease_s / GLANCES, LONGEST_S))
            self._woken.clear()
        self._held_parts.let_go_of_all(LAST_COMMITS_S)
        with suppress(DatabaseError):  # the leases run out by themselves
            leases.leave_workers(self._store.engine, self.holder)

    def _turn(self) -> None:
        """Renew what we have, give back what is too much, take what is free."""
        partitions, lease_s = self._workers.partitions, self._workers.lease_s
        engine, held_parts = self._store.engine, self._held_parts
        began_s = time.monotonic()
        held_parts.keep_only(self._leases.renew(held_parts.held), began_s + lease_s)
        if (devices := self._around.devices) is not self._known:
            self._known, self._mark = devices, leases.hash_devices(devices)
            held_parts.set_devices(devices)
        us = self.holder, lease_s, self._mark
        blind = self._sight.is_blind_for(lease_s if self._joined else 0)
        if not self._joined and not blind:
            leases.join_workers(engine, *us, partitions)
            self._joined = True
            end_old_sessions_quietly(self._around.deployment, self._store)
        living = leases.renew_membership(engine, *us) if self._joined else []
        self._joined = self.holder in living  # not if we were away until we were forgotten
        more = held_parts.leave_beyond(
            0 if blind else compute_share(self.holder, living, partitions)
        )
        self._leases.give_back(held_parts.pop_closed())
        if blind and not held_parts.held and self._joined:  # let others have our share
            leases.leave_workers(engine, self.holder)
            self._joined = False
        if more > 0:
            began_s = time.monotonic()
            taken = self._leases.take_parts(partitions, more)
            held_parts.start_parts(taken, began_s + lease_s, self._around)


def _describe_own_parts(parts: Sequence[int], joined: bool) -> str:
    if not joined:
        return "it takes no part before the broker has it"
    return f"it works on {' '.join(map(str, parts))}" if parts else "all parts are others'"
