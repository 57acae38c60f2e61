"""Who works for a site, who leads it, and who has which part: by PostgreSQL and its clock alone.

A lease is a row: part, holder, until when, and an epoch that goes up when it changes hands. The
epoch is what fences: a commit of a worker holds its row first (`hold_lease`), so that the part
cannot change hands while it is written, and who has lost it cannot write for it, however late that
one wakes up.

Part -1 is what the workers agree on: its epoch is into how many parts the devices are split, its
time the length of a lease. From -2 down stand the workers, in the order in which they joined; the
epoch of one is the mark of the devices that it knows, so that everybody sees whose file is old.

The lead is the lock of `store.opening.lock_store`, which goes with the leader's connection: a
leader that is killed has a successor within about a second. One that hangs and lives keeps the
lead, so let a service manager watch it.
"""

import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import (
    Engine,
    Float,
    cast,
    delete,
    extract,
    func,
    insert,
    literal,
    not_,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError

from recovery.maps.sentence import Wording

from ...devices.enrol.enrol import Devices
from ...faults import OperatorFault, TakenFault
from ...logs import log
from ...store.opening import lock_store
from ...store.places import Place, Stopped
from ...store.schema import leases

FREE = ""  # holder of a part that nobody has

NOW_S: Any = cast(extract("epoch", func.clock_timestamp()), Float)


class LeaseLost(Stopped):
    """Another worker has the part, or may have it: nothing was written, nothing is let go."""


class Lease(NamedTuple):
    """A part in somebody's hands; the epoch is good for this one time."""

    part: int
    holder: str
    epoch: int


def make_running_condition(lease_s: float, past: float = 0.0) -> Any:
    """Return the condition for rows whose time is not over, or not for so many leases.

    One that ends later than any lease can was written before the database's clock was set back,
    and is over: its holder, if it lives, has renewed it within the blink of an eye.
    """
    return leases.c.until_s.between(NOW_S - past * lease_s, NOW_S + 2 * lease_s)


def hold_lease(connection: Any, lease: Lease, idle_s: float) -> None:
    """Keep a lease from changing hands until this transaction ends; it may be renewed meanwhile.

    Args:
        idle_s: a transaction in which nothing happens for so long is ended by the database. A
            worker that is stopped half way would else keep its part from everybody for ever.

    Raises:
        LeaseLost: it has changed hands already.
    """
    limit = func.set_config("idle_in_transaction_session_timeout", str(int(1000 * idle_s)), True)
    mine = leases.c.part == lease.part, leases.c.holder == lease.holder
    held = select(limit).where(*mine, leases.c.epoch == lease.epoch)
    # FOR KEY SHARE: a slow commit must not keep the renewal waiting, only `take_parts`.
    if connection.execute(held.with_for_update(read=True, key_share=True)).first() is None:
        raise LeaseLost(f"part {lease.part}, epoch {lease.epoch}, is no longer {lease.holder}'s")


class Leases:
    """The leases of one worker. A method is a transaction."""

    def __init__(self, engine: Engine, holder: str, lease_s: float) -> None:
        self._engine, self.holder, self._lease_s = engine, holder, lease_s
        self._until_s = NOW_S + lease_s

    def renew(self, held: Iterable[Lease]) -> frozenset[Lease]:
        """Renew these leases; return which are still ours."""
        place, pairs = _list_lease_keys(held)
        if not pairs:
            return frozenset()
        parts = update(leases).where(leases.c.holder == self.holder, place.in_(pairs))
        renewed = parts.values(until_s=self._until_s).returning(leases.c.part, leases.c.epoch)
        with self._engine.begin() as connection:
            rows = connection.execute(renewed).all()
        return frozenset(Lease(part, self.holder, epoch) for part, epoch in rows)

    def take_parts(self, partitions: int, most: int) -> list[Lease]:
        """Take free and expired parts, so many at most."""
        free = or_(leases.c.holder == FREE, not_(make_running_condition(self._lease_s)))
        wanted = select(leases.c.part).where(leases.c.part.between(0, partitions - 1), free)
        # Who is in the middle of a commit holds its row, and has not lost it yet.
        found = wanted.order_by(leases.c.part).limit(most).with_for_update(skip_locked=True).cte()
        taken = (
            update(leases)
            .where(leases.c.part == found.c.part)
            .values(holder=self.holder, until_s=self._until_s, epoch=leases.c.epoch + 1)
            .returning(leases.c.part, leases.c.epoch)
        )
        with self._engine.begin() as connection:
            rows = connection.execute(taken).all()
        return sorted(Lease(part, self.holder, epoch) for part, epoch in rows)

    def give_back(self, given: Iterable[Lease]) -> None:
        """Give parts back, so that others need not wait until the leases run out."""
        place, pairs = _list_lease_keys(given)
        if pairs:
            ours = leases.c.holder == self.holder, place.in_(pairs)
            with self._engine.begin() as connection:
                connection.execute(update(leases).where(*ours).values(holder=FREE, until_s=0.0))


def _list_lease_keys(held: Iterable[Lease]) -> tuple[Any, list[tuple[int, int]]]:
    """Return the columns that name a lease, and their values in these."""
    return tuple_(leases.c.part, leases.c.epoch), [(one.part, one.epoch) for one in held]


def make_unique_name(name: str | None = None) -> str:
    """Return a name that no process had before: given or of this machine, with a mark.

    A worker that was killed and started again is another: the old one may still be about.
    """
    return f"{name or socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}"


AGREED, FIRST_WORKER = -1, -2
FORGOTTEN = 20  # leases after which a worker that was not heard of is no worker

_workers = leases.c.part <= FIRST_WORKER


class Member(NamedTuple):
    """A worker: what it is called, the mark of its devices, whether it lives, its parts."""

    holder: str
    mark: int
    alive: bool
    parts: int


class Roll(NamedTuple):
    """The workers in the order in which they joined, and the parts that none of them has."""

    members: Sequence[Member]
    nobodys: Sequence[int]


def hash_devices(devices: Devices) -> int:
    """Return a number that two lists of devices have in common if they are the same."""
    rows = sorted((name, one.key_id.hex(), one.place) for name, one in devices.by_name.items())
    said = repr((devices.site, rows)).encode() + devices.site_key
    return int.from_bytes(sha256(said).digest()[:4], "big") >> 1


def join_workers(engine: Engine, holder: str, lease_s: float, mark: int, partitions: int) -> None:
    """Be counted as a worker from now on; make the rows of the parts where there are none.

    Raises:
        OperatorFault: others are at work who split the devices otherwise.
    """
    free = {"holder": FREE, "until_s": 0.0, "epoch": 0}
    rows = [{"part": AGREED, **free}, *({"part": part, **free} for part in range(partitions))]
    lowest = func.least(func.min(leases.c.part), FIRST_WORKER + 1) - 1
    row = select(lowest, literal(holder), NOW_S + lease_s, literal(mark))
    while True:
        try:
            with engine.begin() as connection:
                connection.execute(postgresql.insert(leases).on_conflict_do_nothing(), rows)
                _agree(connection, partitions, lease_s)
                names = ["part", "holder", "until_s", "epoch"]
                connection.execute(insert(leases).from_select(names, row))
            return
        except IntegrityError:  # another worker joined in the same moment
            continue


def _agree(connection: Any, partitions: int, lease_s: float) -> None:
    agreed = leases.c.part == AGREED
    wanted = select(leases.c.epoch, leases.c.until_s).where(agreed).with_for_update()
    parts, long_s = connection.execute(wanted).one()
    if (parts, long_s) == (partitions, lease_s):
        return
    at_work = connection.scalars(
        select(leases.c.holder).where(_workers, make_running_condition(long_s))
    ).all()
    if at_work:
        raise OperatorFault(
            f"partitions = {partitions} and lease_s = {lease_s:g} under [workers], but "
            f"{', '.join(at_work)} run with {parts} and {long_s:g}: devices would be in two "
            "partitions or in none. Give all workers the same file, and change it only while all "
            "are stopped"
        )
    connection.execute(update(leases).where(agreed).values(epoch=partitions, until_s=lease_s))


def renew_membership(engine: Engine, holder: str, lease_s: float, mark: int) -> list[str]:
    """Give a sign of life; return who is alive. We are not among them if we were forgotten."""
    ours = update(leases).where(_workers, leases.c.holder == holder)
    gone = delete(leases).where(_workers, not_(make_running_condition(lease_s, FORGOTTEN)))
    alive = select(leases.c.holder).where(_workers, make_running_condition(lease_s))
    with engine.begin() as connection:
        connection.execute(ours.values(until_s=NOW_S + lease_s, epoch=mark))
        connection.execute(gone)
        return list(connection.scalars(alive.order_by(leases.c.part.desc())))


def leave_workers(engine: Engine, holder: str) -> None:
    """Be no worker any more, and have nothing."""
    ours = leases.c.holder == holder
    with engine.begin() as connection:
        connection.execute(delete(leases).where(ours, _workers))
        parts = update(leases).where(ours, leases.c.part >= 0)
        connection.execute(parts.values(holder=FREE, until_s=0.0))


def read_roll(engine: Engine, lease_s: float, partitions: int) -> Roll:
    """Return who is at work, who has gone without a goodbye, and which parts are nobody's."""
    alive = make_running_condition(lease_s).label("alive")
    counted = or_(_workers, leases.c.part.between(0, partitions - 1))
    wanted = select(leases.c.part, leases.c.holder, leases.c.epoch, alive).where(counted)
    with engine.connect() as connection:
        rows = connection.execute(wanted.order_by(leases.c.part.desc())).all()
    held = Counter(holder for part, holder, _, alive in rows if part >= 0 and alive)
    members = [
        Member(holder, mark, alive, held[holder])
        for part, holder, mark, alive in rows
        if part <= FIRST_WORKER
    ]
    taken = {part for part, holder, _, alive in rows if alive and holder != FREE}
    return Roll(members, sorted(set(range(partitions)) - taken))


LOOK_S = 1.0
UNANSWERED = Wording("store.silent", "the database does not answer: {why}")
STANDBY = Wording(
    "rounds.standby",
    "standby: another gateway leads this site, and this one takes over when that is gone",
)()


@contextmanager
def hold_lead(place: Place, say: Callable[[str, bool, str], object]) -> Iterator[None]:
    """Lead a site for as long as the block lasts; at PostgreSQL wait for the lead first.

    It waits on the caller's thread, which a signal may interrupt. A leader whose lead was taken
    while the database was out of reach ends as if it were told to.

    Args:
        say: hears how the part "rounds" is while it waits.

    Raises:
        OperatorFault: the store is a file and another gateway has it, or there is no such place.
    """
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(lock_store(place, lost=_is_deposed))
                break
            except TakenFault:
                if isinstance(place, Path):
                    raise
                say("rounds", False, STANDBY)
                time.sleep(LOOK_S)
        yield


def _is_deposed() -> None:
    log.error(
        "another gateway leads this site now; this one ends. Started again, it waits as a standby"
    )
    os.kill(os.getpid(), signal.SIGTERM)
