"""What the store does besides rounds: outbox, filters, quarantine, forgetting, room, backup."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from sqlalchemy import Engine

from ..intake.outcomes import Letter
from . import files, post, retention, standing
from .identity import Identity
from .places import Place

PAUSE_S = 0.005  # between two transactions that forget: others are waiting for the file


class Upkeep:
    """The half of a store that any part of the gateway may use at any time."""

    _engine: Engine
    _reads: Engine
    place: Place
    identity: Identity

    def letters(self, limit: int = 100) -> list[Letter]:
        """Return the letters that the broker has not acknowledged, oldest first."""
        with self._reads.connect() as connection:
            return post.waiting(connection, limit)

    def post(self, letters: Sequence[Letter]) -> None:
        """Put letters in the outbox: what is published without anything new being kept."""
        with self._engine.begin() as connection:
            post.post(connection, letters, time.time())

    def posted(self, ids: Iterable[int]) -> None:
        """Strike out letters that the broker has acknowledged."""
        with self._engine.begin() as connection:
            post.gone(connection, ids)

    def filters(self, client: str) -> set[str]:
        """Return what a session that lasts at the broker is subscribed to, as far as we know."""
        with self._reads.connect() as connection:
            return standing.filters_of(connection, client)

    def keep_filters(self, client: str, topics: Iterable[str]) -> None:
        """Keep what a session is subscribed to."""
        with self._engine.begin() as connection:
            standing.keep_filters(connection, client, topics)

    def quarantine(self, name: str, why: str) -> None:
        """Keep that a device is shut out; one that is already stays so for its first reason."""
        with self._engine.begin() as connection:
            standing.shut(connection, name, why, time.time())

    def free(self, name: str) -> None:
        """Keep that a device is no longer shut out."""
        with self._engine.begin() as connection:
            standing.free(connection, name)

    def quarantined(self) -> dict[str, tuple[str, float]]:
        """Return the devices that are shut out: why, and since when, in seconds of the epoch."""
        with self._reads.connect() as connection:
            return standing.shut_out(connection)

    def retain(self, now_s: float, keep_days: float | None, refused_days: float) -> int:
        """Forget what is older than that, in small transactions; return how many rows went."""
        gone = 0
        for step in retention.steps(now_s, keep_days, refused_days):
            some = 1
            while some:
                with self._engine.begin() as connection:
                    some = step(connection)
                gone += some
                time.sleep(PAUSE_S)
        return gone

    def free_bytes(self) -> int | None:
        """Return how much room there is beside the file; None at PostgreSQL."""
        return files.free_bytes(self.place) if isinstance(self.place, Path) else None

    def checkpoint(self) -> bool:
        """Write what is in SQLite's log into the file, and empty the log.

        Returns False, after a second at the most, while a reader needs the log.
        """
        return not isinstance(self.place, Path) or files.checkpoint(self._engine)

    def write_back(self) -> bool:
        """Mark the file anew as this gateway's, and empty its log; as `checkpoint`."""
        self.identity.mark()
        done = self.checkpoint()
        self.identity.check()  # from now on the mark of before is none
        return done

    def backup(self, path: Path) -> None:
        """Write a copy of the file as it stands now, while others write on.

        Raises:
            OperatorFault: there is something already, or it cannot be written; or this is
                PostgreSQL, which has a tool of its own.
        """
        files.backup(self.place, path)
