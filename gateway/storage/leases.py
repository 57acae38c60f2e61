"""Who has which part of the devices, by the clock of the database alone.

A lease is a row: part, holder, until when, and an epoch that goes up when it changes hands. The
epoch is what fences: a commit of a worker holds its row first (`hold`), so that the part cannot
change hands while it is written, and who has lost it cannot write for it, however late that one
wakes up. Below the parts, from -2 down, stand the workers themselves, in the order in which they
joined: who is alive is counted from these rows. PostgreSQL only.
"""

from collections.abc import Iterable
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
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError

from .patience import Stopped
from .schema import leases

FREE = ""  # holder of a part that nobody has
FIRST_WORKER = -2  # -1 is left for who leads
FORGOTTEN = 20  # leases after which a worker that was not heard of is no worker

NOW_S: Any = cast(extract("epoch", func.clock_timestamp()), Float)


class LeaseLost(Stopped):
    """Another worker has the part, or may have it: nothing was written, nothing is let go."""


class Lease(NamedTuple):
    """A part in somebody's hands; the epoch is good for this one time."""

    part: int
    holder: str
    epoch: int


class Beat(NamedTuple):
    """What a sign of life was answered with."""

    kept: frozenset[Lease]
    living: list[str]  # workers, in the order in which they joined


def hold(connection: Any, lease: Lease, idle_s: float) -> None:
    """Keep a lease from changing hands until this transaction ends.

    Args:
        idle_s: a transaction in which nothing happens for so long is ended by the database. A
            worker that is stopped half way would else keep its part from everybody for ever.

    Raises:
        LeaseLost: it has changed hands already.
    """
    limit = func.set_config("idle_in_transaction_session_timeout", str(int(1000 * idle_s)), True)
    mine = leases.c.part == lease.part, leases.c.holder == lease.holder
    held = select(limit).where(*mine, leases.c.epoch == lease.epoch).with_for_update(read=True)
    if connection.execute(held).first() is None:
        raise LeaseLost(f"part {lease.part}, epoch {lease.epoch}, is no longer {lease.holder}'s")


class Leases:
    """The leases of one worker. A method is a transaction."""

    def __init__(self, engine: Engine, holder: str, lease_s: float) -> None:
        self._engine, self.holder, self._lease_s = engine, holder, lease_s
        self._until_s = NOW_S + lease_s

    def join(self, partitions: int) -> None:
        """Be counted as a worker from now on; make the rows of the parts where there are none."""
        rows = [
            {"part": part, "holder": FREE, "until_s": 0.0, "epoch": 0}
            for part in range(partitions)
        ]
        with self._engine.begin() as connection:
            made = postgresql.insert(leases).on_conflict_do_nothing()
            connection.execute(made, rows)
        lowest = func.least(func.min(leases.c.part), FIRST_WORKER + 1) - 1
        row = select(lowest, literal(self.holder), self._until_s, literal(0))
        while True:
            try:
                with self._engine.begin() as connection:
                    names = ["part", "holder", "until_s", "epoch"]
                    connection.execute(insert(leases).from_select(names, row))
                return
            except IntegrityError:  # another worker joined in the same moment
                continue

    def beat(self, held: Iterable[Lease]) -> Beat:
        """Renew these leases and our own row; return which are still ours, and who is alive."""
        pairs = [(lease.part, lease.epoch) for lease in held]
        ours = leases.c.holder == self.holder
        place = tuple_(leases.c.part, leases.c.epoch)
        renewed = update(leases).values(until_s=self._until_s)
        parts = renewed.where(ours, place.in_(pairs)).returning(leases.c.part, leases.c.epoch)
        with self._engine.begin() as connection:
            found = connection.execute(parts) if pairs else ()
            kept = frozenset(Lease(part, self.holder, epoch) for part, epoch in found)
            known = connection.execute(renewed.where(ours, leases.c.part <= FIRST_WORKER))
            long_ago = leases.c.until_s < NOW_S - FORGOTTEN * self._lease_s
            connection.execute(delete(leases).where(leases.c.part <= FIRST_WORKER, long_ago))
            alive = leases.c.part <= FIRST_WORKER, leases.c.until_s > NOW_S
            rows = select(leases.c.holder).where(*alive).order_by(leases.c.part.desc())
            living = list(connection.scalars(rows))
        if not known.rowcount:  # we were away for so long that we were forgotten
            self.join(0)
            living.append(self.holder)
        return Beat(kept, living)

    def take(self, partitions: int, most: int) -> list[Lease]:
        """Take free and expired parts, so many at most."""
        free = or_(leases.c.holder == FREE, leases.c.until_s < NOW_S)
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

    def give(self, given: Iterable[Lease]) -> None:
        """Give parts back, so that others need not wait until the leases run out."""
        pairs = [(lease.part, lease.epoch) for lease in given]
        if not pairs:
            return
        place = tuple_(leases.c.part, leases.c.epoch)
        ours = leases.c.holder == self.holder, place.in_(pairs)
        with self._engine.begin() as connection:
            connection.execute(update(leases).where(*ours).values(holder=FREE, until_s=0.0))

    def leave(self) -> None:
        """Be no worker any more, and have nothing."""
        ours = leases.c.holder == self.holder
        with self._engine.begin() as connection:
            connection.execute(delete(leases).where(ours, leases.c.part <= FIRST_WORKER))
            parts = update(leases).where(ours, leases.c.part >= 0)
            connection.execute(parts.values(holder=FREE, until_s=0.0))
