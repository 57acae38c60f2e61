"""What the gateway asks its store: what was opened, what came, what is known of a batch."""

from collections.abc import Sequence

from sqlalchemy import Engine, func, select

from ..intake.outcomes import DeadLetter, Key, Known, Who
from ..ledger import Charge
from . import asked as rows
from . import dead, heard, till
from .schema import maps, reports, rounds, vacant


class Recall:
    """The half of a store that only reads; each method sees one moment."""

    _reads: Engine

    def number_of(self, planned: bytes) -> int:
        """Return the number that a planned round was sent under, or the next that is free.

        They only go up, whatever plans there have been: a device refuses a number it has passed.
        """
        with self._reads.connect() as connection:
            return rows.number_of(connection, planned)

    def message_of(self, planned: bytes) -> bytes | None:
        """Return the bytes in which a planned round was asked; None where it never was."""
        with self._reads.connect() as connection:
            wanted = select(rounds.c.message).where(rounds.c.planned == planned)
            return connection.scalar(wanted)

    def opened_s(self, name: bytes | None = None) -> float | None:
        """Return when a round was first asked, or the last of all; None when it never was."""
        wanted = select(func.max(rounds.c.opened_s))
        with self._reads.connect() as connection:
            return connection.scalar(wanted if name is None else wanted.filter_by(name=name))

    def answered_s(self, name: bytes) -> float | None:
        """Return when the first report that counts in a round came; None before there is one."""
        with self._reads.connect() as connection:
            wanted = select(func.min(reports.c.taken_s)).where(reports.c.round == name)
            return connection.scalar(wanted)

    def known(self, keys: Sequence[Key], answers: Sequence[tuple[bytes, str]]) -> Known:
        """Return what is in the store of a batch: its keys, and the (round, device) it answers."""
        with self._reads.connect() as connection:
            prices = till.prices(connection, {name for name, _ in answers})
            seen = heard.seen(connection, keys)
            return Known(seen, prices, heard.answered(connection, answers))

    def answers(self, name: bytes) -> list[tuple[str, bytes]]:
        """Return (device, frame) of every report that counts in a round."""
        wanted = select(reports.c.device, reports.c.frame).where(reports.c.round == name)
        with self._reads.connect() as connection:
            return [(row[0], row[1]) for row in connection.execute(wanted.order_by("device"))]

    def newest(self) -> dict[Who, tuple[int, int]]:
        """Return the greatest (epoch, seq) that each device has used, under each of its keys."""
        with self._reads.connect() as connection:
            return heard.greatest(connection)

    def alarms(self) -> dict[Who, tuple[str, int]]:
        """Return why devices need a new key, and how often that was found."""
        with self._reads.connect() as connection:
            return heard.raised_alarms(connection)

    def release(self, name: bytes) -> tuple[list[int | None], int] | None:
        """Return (values, reports) of a closed round, or None when it is not closed."""
        with self._reads.connect() as connection:
            return rows.released(connection, name)

    def map_of(self, name: bytes) -> str | None:
        """Return the map of a round as it was published, or None."""
        with self._reads.connect() as connection:
            return connection.scalar(select(maps.c.body).where(maps.c.round == name))

    def vacant(self) -> bytes | None:
        """Return the empty room as the last map left it, None before there is one."""
        with self._reads.connect() as connection:
            return connection.scalar(select(vacant.c.state))

    def charges(self) -> tuple[Charge, ...]:
        """Return everything that was charged, oldest first."""
        with self._reads.connect() as connection:
            return till.charged(connection)

    def refused(self, limit: int = 100) -> list[DeadLetter]:
        """Return the newest dead letters, newest first."""
        with self._reads.connect() as connection:
            return dead.newest(connection, limit)
