"""Who has which part of the devices, by the clock of the database alone.

A lease is a row: part, holder, until when, and an epoch that goes up when it changes hands. The
epoch is what fences: a commit of a worker holds its row first (`hold`), so that the part cannot
change hands while it is written, and who has lost it cannot write for it, however late that one
wakes up. The workers themselves are rows too: see `roll`. PostgreSQL only.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import Engine, Float, cast, extract, func, not_, or_, select, tuple_, update

from .patience import Stopped
from .schema import leases

FREE = ""  # holder of a part that nobody has

NOW_S: Any = cast(extract("epoch", func.clock_timestamp()), Float)


class LeaseLost(Stopped):
    """Another worker has the part, or may have it: nothing was written, nothing is let go."""


class Lease(NamedTuple):
    """A part in somebody's hands; the epoch is good for this one time."""

    part: int
    holder: str
    epoch: int


def running(lease_s: float, past: float = 0.0) -> Any:
    """Return the condition for rows whose time is not over, or not for so many leases.

    One that ends later than any lease can was written before the database's clock was set back,
    and is over: its holder, if it lives, has renewed it within the blink of an eye.
    """
    return leases.c.until_s.between(NOW_S - past * lease_s, NOW_S + 2 * lease_s)


def hold(connection: Any, lease: Lease, idle_s: float) -> None:
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
    # FOR KEY SHARE: a slow commit must not keep the renewal waiting, only `take`.
    if connection.execute(held.with_for_update(read=True, key_share=True)).first() is None:
        raise LeaseLost(f"part {lease.part}, epoch {lease.epoch}, is no longer {lease.holder}'s")


class Leases:
    """The leases of one worker. A method is a transaction."""

    def __init__(self, engine: Engine, holder: str, lease_s: float) -> None:
        self._engine, self.holder, self._lease_s = engine, holder, lease_s
        self._until_s = NOW_S + lease_s

    def renew(self, held: Iterable[Lease]) -> frozenset[Lease]:
        """Renew these leases; return which are still ours."""
        place, pairs = _these(held)
        if not pairs:
            return frozenset()
        parts = update(leases).where(leases.c.holder == self.holder, place.in_(pairs))
        renewed = parts.values(until_s=self._until_s).returning(leases.c.part, leases.c.epoch)
        with self._engine.begin() as connection:
            rows = connection.execute(renewed).all()
        return frozenset(Lease(part, self.holder, epoch) for part, epoch in rows)

    def take(self, partitions: int, most: int) -> list[Lease]:
        """Take free and expired parts, so many at most."""
        free = or_(leases.c.holder == FREE, not_(running(self._lease_s)))
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
        place, pairs = _these(given)
        if pairs:
            ours = leases.c.holder == self.holder, place.in_(pairs)
            with self._engine.begin() as connection:
                connection.execute(update(leases).where(*ours).values(holder=FREE, until_s=0.0))


def _these(held: Iterable[Lease]) -> tuple[Any, list[tuple[int, int]]]:
    """Return the columns that name a lease, and their values in these."""
    return tuple_(leases.c.part, leases.c.epoch), [(one.part, one.epoch) for one in held]
