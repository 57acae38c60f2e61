"""What the gateway remembers: one SQLite file that survives kill -9 and a power cut.

A method is a transaction. What a method has returned from is on the disk.
"""

import json
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from sqlalchemy import delete, func, insert, select

from ..intake.outcomes import Again, Alarm, Asked, DeadLetter, Heard, Kept, Key, Known, Who
from ..ledger import Charge, Ledger, terms
from . import heard, till
from .schema import maps, refused, releases, reports, rounds
from .sqlite import opened


class Store:
    """An open store. Not to be shared between processes that write."""

    def __init__(self, path: Path, site: str) -> None:
        """Open the store of a site, or make it.

        Raises:
            OperatorFault: see `sqlite.opened`.
        """
        self._engine = opened(path, site)
        self._reads = self._engine.execution_options(reading=True)

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    def number_of(self, planned: bytes) -> int:
        """Return the number that a planned round was sent under, or the next that is free.

        They only go up, whatever plans there have been: a device refuses a number it has passed.
        """
        sent = select(rounds.c.number).where(rounds.c.planned == planned)
        with self._reads.connect() as connection:
            greatest = connection.scalar(select(func.max(rounds.c.number))) or 0
            return connection.scalar(sent) or 1 + greatest

    def opened_s(self, name: bytes | None = None) -> float | None:
        """Return when a round was first asked, or the last of all; None when it never was."""
        wanted = select(func.max(rounds.c.opened_s))
        with self._reads.connect() as connection:
            return connection.scalar(wanted if name is None else wanted.filter_by(name=name))

    def check(self, promised: str, budget: Fraction) -> None:
        """Hold a promise against what was promised here before; a smaller one is kept.

        Nothing is kept before the first charge, for nobody has been promised anything by then.

        Args:
            promised: as `ledger.terms` writes it.

        Raises:
            OperatorFault: it is another promise, or a larger one.
        """
        with self._reads.connect() as connection:
            till.check(connection, promised, budget)
            least = till.budget(connection)
        if least is not None and budget < least:
            with self._engine.begin() as connection:
                till.hold_to(connection, promised, budget)

    def open_round(self, asked: Asked, budget: Fraction) -> str:
        """Charge a round and keep its bytes; return why it must not be opened, or nothing.

        A round that is in the store already was charged then and is not charged again: the
        devices answer it with the same bytes.

        Raises:
            OperatorFault: what was charged before is the price of another promise, or was
                promised to stay within less.
        """
        planned, name, plan, message, rho = asked
        now_s, promised = time.time(), terms(plan.guarantee)
        with self._engine.begin() as connection:
            till.check(connection, promised, budget)
            if connection.scalar(select(rounds.c.name).where(rounds.c.name == name)):
                return ""
            if why := Ledger(budget, till.charged(connection)).refusal(plan.number, rho):
                return why
            row = {"number": plan.number, "mechanism": plan.mechanism, "opened_s": now_s}
            row |= {"planned": planned, "name": name, "message": message}
            connection.execute(insert(rounds).values(row))
            till.charge(connection, name, Charge(rho), now_s)
            till.hold_to(connection, promised, budget)
        return ""

    def keep(
        self,
        kept: Sequence[Kept],
        letters: Sequence[DeadLetter] = (),
        extra: Sequence[Again] = (),
        more: Sequence[Heard] = (),
        alarms: Sequence[Alarm] = (),
    ) -> None:
        """Keep a batch: what counts, dead letters, charges for second answers, the rest.

        Args:
            more: genuine messages that do not count.
        """
        now_s = time.time()
        with self._engine.begin() as connection:
            heard.keep(connection, kept, more, now_s)
            heard.refuse(connection, letters, now_s)
            till.charge_again(connection, extra, now_s)
            heard.raise_alarms(connection, alarms, now_s)

    def close_round(self, name: bytes, values: Sequence[int | None], count: int) -> None:
        """Keep the release of a round."""
        with self._engine.begin() as connection:
            connection.execute(
                insert(releases).values(
                    round=name, values=json.dumps(list(values)), reports=count, at_s=time.time()
                )
            )

    def keep_map(self, name: bytes, body: str) -> None:
        """Keep the map of a round, as it is about to be published; a later one replaces it."""
        with self._engine.begin() as connection:
            connection.execute(delete(maps).where(maps.c.round == name))
            connection.execute(insert(maps).values(round=name, body=body, at_s=time.time()))

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
        wanted = select(releases.c["values"], releases.c.reports).where(releases.c.round == name)
        with self._reads.connect() as connection:
            row = connection.execute(wanted).first()
        return None if row is None else (json.loads(row[0]), row[1])

    def map_of(self, name: bytes) -> str | None:
        """Return the map of a round as it was published, or None."""
        with self._reads.connect() as connection:
            return connection.scalar(select(maps.c.body).where(maps.c.round == name))

    def charges(self) -> tuple[Charge, ...]:
        """Return everything that was charged, oldest first."""
        with self._reads.connect() as connection:
            return till.charged(connection)

    def refused(self, limit: int = 100) -> list[DeadLetter]:
        """Return the newest dead letters, newest first."""
        wanted = select(refused.c.topic, refused.c.why, refused.c.frame)
        with self._reads.connect() as connection:
            rows = connection.execute(wanted.order_by(refused.c.id.desc()).limit(limit))
            return [DeadLetter(*row) for row in rows]
