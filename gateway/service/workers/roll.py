"""What a worker is called: by people, and by the database, which must not mistake it.

The workers of a site as rows beside their leases: who is at work, and what all agree on.

Part -1 is what they agree on: its epoch is into how many parts the devices are split, its time the
length of a lease. From -2 down stand the workers, in the order in which they joined; the epoch of
one is the mark of the devices that it knows, so that everybody sees whose file is an old one.
"""

import os
import socket
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import Engine, delete, func, insert, literal, not_, or_, select, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError

from ...devices.enrol.enrol import Devices
from ...faults import OperatorFault
from ...store.leases import FREE, NOW_S, running
from ...store.schema import leases


def unique_name(name: str | None = None) -> str:
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


def mark_of(devices: Devices) -> int:
    """Return a number that two lists of devices have in common if they are the same."""
    rows = sorted((name, one.key_id.hex(), one.place) for name, one in devices.by_name.items())
    said = repr((devices.site, rows)).encode() + devices.site_key
    return int.from_bytes(sha256(said).digest()[:4], "big") >> 1


def join(engine: Engine, holder: str, lease_s: float, mark: int, partitions: int) -> None:
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
    at_work = connection.scalars(select(leases.c.holder).where(_workers, running(long_s))).all()
    if at_work:
        raise OperatorFault(
            f"partitions = {partitions} and lease_s = {lease_s:g} under [workers], but "
            f"{', '.join(at_work)} work with {parts} and {long_s:g}: devices would be in two "
            "parts or in none. Give all of them the same file, and change it while all are stopped"
        )
    connection.execute(update(leases).where(agreed).values(epoch=partitions, until_s=lease_s))


def sign(engine: Engine, holder: str, lease_s: float, mark: int) -> list[str]:
    """Give a sign of life; return who is alive. We are not among them if we were forgotten."""
    ours = update(leases).where(_workers, leases.c.holder == holder)
    gone = delete(leases).where(_workers, not_(running(lease_s, FORGOTTEN)))
    alive = select(leases.c.holder).where(_workers, running(lease_s))
    with engine.begin() as connection:
        connection.execute(ours.values(until_s=NOW_S + lease_s, epoch=mark))
        connection.execute(gone)
        return list(connection.scalars(alive.order_by(leases.c.part.desc())))


def leave(engine: Engine, holder: str) -> None:
    """Be no worker any more, and have nothing."""
    ours = leases.c.holder == holder
    with engine.begin() as connection:
        connection.execute(delete(leases).where(ours, _workers))
        parts = update(leases).where(ours, leases.c.part >= 0)
        connection.execute(parts.values(holder=FREE, until_s=0.0))


def called(engine: Engine, lease_s: float, partitions: int) -> Roll:
    """Return who is at work, who has gone without a goodbye, and which parts are nobody's."""
    alive = running(lease_s).label("alive")
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
