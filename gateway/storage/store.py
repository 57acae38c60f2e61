"""What the gateway remembers: a SQLite file, or PostgreSQL, that survives kill -9 and power cuts.

A method is a transaction. What a method has returned from is on the disk.
"""

import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sqlalchemy import Engine

from ..deployment import Deployment
from ..faults import OvertakenFault, ReplacedFault
from ..intake.outcomes import Again, Alarm, Asked, DeadLetter, Heard, Kept, Letter
from ..ledger import Charge, Ledger
from ..terms import terms, unit_of
from . import asked as rows
from . import dead, forgotten, heard, till
from . import post as outbox
from .asked import Vacant
from .opening import opened
from .places import Place, place_of
from .recall import Recall
from .upkeep import Upkeep


class Store(Recall, Upkeep):
    """An open store. Not to be shared between processes that write, but for workers' parts."""

    _charges = 0  # that were there when a round was last charged: they never become fewer

    def __init__(self, place: Place, site: str) -> None:
        """Open the store of a site, or make it.

        Every method that writes may raise a `ReplacedFault`: see `identity`.

        Raises:
            OperatorFault: see `opening.opened`.
        """
        self.place = place
        self._engine, self._reads, self.identity = opened(place, site)

    @classmethod
    def of(cls, deployment: Deployment) -> "Store":
        """Return the store that a deployment names.

        Raises:
            OperatorFault: see `opening.opened`.
        """
        return cls(place_of(deployment), deployment.site.name)

    @property
    def engine(self) -> Engine:
        """What writes; for rows that are no batch, as those of workers are."""
        return self._engine

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    def check(self, promised: str, budget: Fraction) -> None:
        """Hold a promise against what was promised here before; a smaller one is kept.

        Nothing is kept before the first charge, for nobody has been promised anything by then.

        Args:
            promised: as `terms.terms` writes it.

        Raises:
            OperatorFault: it is another promise, or a larger one; or rounds are missing here.
        """
        with self._reads.connect() as connection:
            self._check_whole(connection)
            till.check(connection, promised, budget)
            least = till.budget(connection)
        if least is not None and budget < least:
            with self._engine.begin() as connection:
                till.hold_to(connection, promised, budget)

    def open_round(
        self, asked: Asked, budget: Fraction, *, paid: bool = True, enrolled: int | None = None
    ) -> str:
        """Charge a round and keep its bytes; return why it must not be opened, or nothing.

        A round that is in the store already was charged then and is not charged again: the
        devices answer it with the same bytes.

        Args:
            paid: False where the gateway draws the noise: nothing is told before the round
                closes, and it is charged then. What it will cost is held back until then.
            enrolled: how many devices are asked.

        Raises:
            OperatorFault: what was charged before is the price of another promise, or was
                promised to stay within less; or rounds are missing here, which others found out.
        """
        now_s, promised = time.time(), terms(asked.plan.guarantee)
        with self._engine.begin() as connection:
            till.lock(connection)
            self._check_whole(connection)
            till.check(connection, promised, budget)
            if rows.known(connection, asked.name):
                return ""
            held, charged = Charge(rows.owed(connection)), till.charged(connection)
            if len(charged) < self._charges:
                raise ReplacedFault(
                    f"the ledger in {self.place} has {len(charged)} charges, and had "
                    f"{self._charges}: an older one was put in its place"
                )
            self._charges = len(charged)
            ledger = Ledger(budget, charged).charged([held])
            unit = unit_of(asked.plan.guarantee)
            if why := ledger.refusal(asked.plan.number, asked.rho, unit):
                return why
            rows.write(connection, asked, enrolled, now_s)
            if paid:
                till.charge(connection, asked.name, Charge(asked.rho), now_s)
            till.hold_to(connection, promised, budget)
        return ""

    def witness(self, asked: Asked, found: str) -> None:
        """Hold the ledger against a round that was asked with the site's key.

        Args:
            found: where it was found, as the beginning of a sentence.

        Raises:
            ForgottenFault: the ledger does not know it; from then on whatever writes here, too.
        """
        with self._engine.begin() as connection:
            till.lock(connection)
            if forgotten.knows(connection, asked.name):
                return
            forgotten.note(connection, asked, time.time())
            fault = forgotten.fault(connection, self.place, found)
        if fault is not None:
            self.identity.condemn(fault)

    def _check_whole(self, connection: Any) -> None:
        if fault := forgotten.fault(connection, self.place):
            raise fault

    def lack(self) -> forgotten.Lack | None:
        """Return what the ledger lacks, as far as it was found out, or None."""
        with self._reads.connect() as connection:
            return forgotten.lack(connection)

    def charge_lost(self, lost: Sequence[Asked], promised: str, budget: Fraction) -> None:
        """Have rounds charged that the ledger lacks, which may be more than the budget holds.

        Args:
            lost: of one whose rho is nought only the number is used up.
            promised, budget: of the deployment, as for `check`.
        """
        now_s = time.time()
        with self._engine.begin() as connection:
            till.lock(connection)
            till.check(connection, promised, budget)
            for one in lost:
                forgotten.note(connection, one, now_s, forgotten.LOST)
                if one.rho:
                    till.charge(connection, one.name, Charge(one.rho), now_s)
                    till.hold_to(connection, promised, budget)

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
            self._before(connection, kept)
            heard.keep(connection, kept, more, now_s)
            dead.refuse(connection, letters, now_s)
            till.charge_again(connection, extra, now_s)
            heard.raise_alarms(connection, alarms, now_s)

    def _before(self, connection: Any, kept: Sequence[Kept]) -> None:
        """Do what must be done in the transaction that keeps a batch: a part's store does."""

    def close_round(
        self,
        name: bytes,
        values: Sequence[int | None],
        count: int,
        *,
        charge: Charge | None = None,
        post: Sequence[Letter] = (),
        outcome: str = "closed",
        summed: int | None = None,
    ) -> bool:
        """Keep the release of a round, what it cost, and what is to be published of it.

        All of it or nothing; where a round was closed before, nothing, and False is returned:
        what stands is what was published.

        Args:
            charge: for a round that was opened with paid=False.
            summed: of how many devices the reports were added up, by workers; the round was
                closed for it.

        Raises:
            OvertakenFault: another gateway has opened the round again since it was summed; it is
                that one's to release.
        """
        now_s = time.time()
        with self._engine.begin() as connection:
            till.lock(connection)
            if summed is not None and (
                rows.is_open(connection, name) or rows.answered(connection, name) != summed
            ):
                raise OvertakenFault
            if not rows.close(connection, name, values, count, outcome, now_s):
                return False
            if charge is not None:
                till.charge(connection, name, charge, now_s)
            outbox.post(connection, post, now_s)
        return True

    def abandon(self, name: bytes) -> None:
        """Give up a round that nothing was released of, and never will be: it costs nothing."""
        with self._engine.begin() as connection:
            till.lock(connection)
            rows.abandon(connection, name, time.time())

    def keep_map(
        self, name: bytes, body: str, post: Sequence[Letter] = (), vacant: Vacant | None = None
    ) -> None:
        """Keep a round's map, what is to be published of it, and the empty room that it left."""
        now_s = time.time()
        with self._engine.begin() as connection:
            rows.draw(connection, name, body, now_s, vacant)
            outbox.post(connection, post, now_s)
