"""The store as one part of a worker's sees it: fenced, with sums, and with everybody's round."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from edge import cbor, wire

from ..intake.outcomes import Kept
from ..storage import leases, tallies
from ..storage.leases import Lease
from ..storage.store import Store
from . import standing
from .folds import Fold, combined
from .standing import Standing


class PartStore(Store):
    """What a part keeps, as long as its lease is ours; on the engine of another store."""

    def __init__(self, store: Store, lease: Lease, fold: Fold, idle_s: float) -> None:
        """Share the engine of a store, which stays the caller's to close.

        Args:
            idle_s: how long the database bears with a transaction that says nothing.
        """
        self.place, self._engine, self._reads = store.place, store._engine, store._reads
        self.identity = store.identity
        self._lease, self._fold, self._idle_s = lease, fold, idle_s

    def standing(self) -> Standing | None:
        """Return the round that was asked last, open or closed."""
        with self._reads.connect() as connection:
            return standing.last(connection)

    def answered_by(self, name: bytes) -> list[str]:
        """Return the devices, of whatever part, whose reports count in a round."""
        with self._reads.connect() as connection:
            return standing.answered_by(connection, name)

    def _before(self, connection: Any, kept: Sequence[Kept]) -> None:
        """Hold our lease and the round; add what counts to its sums.

        Raises:
            LeaseLost: another worker has the part.
            RoundOver: what was to count came too late.
        """
        leases.hold(connection, self._lease, self._idle_s)
        answers: dict[bytes, list[list[int]]] = defaultdict(list)
        for report in kept:
            answers[report.round].append(payload_of(report.frame))
        if answers:
            standing.hold_open(connection, answers)
        for name, payloads in answers.items():
            sums = combined(self._fold, payloads)
            tallies.add(connection, name, self._lease.part, sums, len(payloads))


def payload_of(frame: bytes) -> list[int]:
    """Return the payload of a frame that has been found genuine."""
    body = cbor.decode(frame[: -wire.MAC_BYTES])
    return [body[5], *body[4]]
