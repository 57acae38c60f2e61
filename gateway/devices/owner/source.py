"""The gateway's database, as the key holder reads it: one moment of it, and not a byte changed.

SQLite itself refuses every write here. A database that no gateway has open is read without
the files that SQLite would lay beside it: made by another user, they would shut the gateway
out of its own store.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from edge import wire

from ...faults import OperatorFault
from ...storage.schema import SCHEMA

Numbers = tuple[int, int]  # of the first and the last round that is wanted

ALL: Numbers = (0, 1 << 48)
_OF_THESE = "WHERE ?1 = 0 OR round IN (SELECT name FROM rounds WHERE number BETWEEN ?1 AND ?2)"


class Stored(NamedTuple):
    """A report as the gateway keeps it; nothing in it is believed before its MAC is checked."""

    device: str
    epoch: int
    seq: int
    round: bytes
    frame: bytes
    key_id: bytes  # of the enrolment under which it came


class Source:
    """An open database. Made by `reading`."""

    def __init__(self, connection: sqlite3.Connection, path: Path, log: Path | None) -> None:
        """Take a connection, and the log that must not appear while it is used."""
        self._connection, self._path, self._log = connection, path, log

    def rounds(self, site: str, site_key: bytes) -> Mapping[bytes, Any]:
        """Return the rounds that the site signed, by their four-byte names."""
        found: dict[bytes, Any] = {}
        rows = self._connection.execute("SELECT name, mechanism, message FROM rounds")
        for name, mechanism, message in rows:
            try:
                plan = wire.unpack_round(message, site_key, wire.round_topic(site, mechanism))
            except Exception:  # whatever bytes do to a decoder
                continue  # its reports are left out, with that for a reason
            if wire.name_of(plan) == name:
                found[name] = plan
        return found

    def count(self, rounds: Numbers) -> int:
        """Return how many reports there are of rounds with these numbers."""
        rows = self._connection.execute(f"SELECT count(*) FROM reports {_OF_THESE}", rounds)
        return int(rows.fetchone()[0])

    def reports(self, rounds: Numbers) -> Iterator[Stored]:
        """Yield every report of rounds with these numbers, by device, boot and message.

        Raises:
            OperatorFault: after the last one, when a gateway opened the database meanwhile.
        """
        statement = f"SELECT device, epoch, seq, round, frame, key_id FROM reports {_OF_THESE} "
        try:  # here, or its reader would be taken for the one at fault
            rows = self._connection.execute(statement + "ORDER BY device, epoch, seq", rounds)
            yield from map(Stored._make, rows)
        except sqlite3.Error as fault:
            raise _unread(self._path, fault) from fault
        if self._log is not None and self._log.exists():
            raise OperatorFault(
                "a gateway opened its database meanwhile; one moment of it must be read, or "
                "readings could be missed without a word. Nothing was written; run it again"
            )

    def boots(self) -> dict[tuple[str, bytes], int]:
        """Return the newest boot that was heard of each device, under each of its keys."""
        try:
            rows = self._connection.execute("SELECT device, key_id, epoch FROM newest").fetchall()
        except sqlite3.Error as fault:
            raise _unread(self._path, fault) from fault
        return {(row[0], row[1]): row[2] for row in rows}


@contextmanager
def reading(path: Path, site: str) -> Iterator[Source]:
    """Open the database of a site for reading alone, as it stands at this moment.

    Raises:
        OperatorFault: it cannot be read, is no store of this heatveil's or is another site's,
            or a gateway opened it meanwhile.
    """
    log = path.with_name(path.name + "-wal")
    idle = not log.exists()
    try:
        uri = path.resolve().as_uri() + "?mode=ro" + ("&immutable=1" if idle else "")
        connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    except sqlite3.Error as fault:
        raise _unread(path, fault) from fault
    try:
        connection.text_factory = lambda text: text.decode(errors="replace")  # a forger's too
        connection.execute("PRAGMA query_only=ON")
        connection.execute("BEGIN")
        _check(connection, path, site)
        yield Source(connection, path, log if idle else None)
    except sqlite3.Error as fault:
        raise _unread(path, fault) from fault
    finally:
        connection.close()


def _check(connection: sqlite3.Connection, path: Path, site: str) -> None:
    found, owner = connection.execute("SELECT schema, site FROM about").fetchone() or (None, None)
    if found != SCHEMA:
        raise OperatorFault(
            f"the database {path} holds schema {found}, and this heatveil knows schema {SCHEMA}: "
            "it would misread what came. Run the heatveil that wrote it"
        )
    if owner != site:
        raise OperatorFault(
            f"the database {path} belongs to site {owner}, not to {site}: keys of one site open "
            "nothing of another. Name that site's deployment file"
        )


def _unread(path: Path, fault: sqlite3.Error) -> OperatorFault:
    return OperatorFault(
        f"the database {path} cannot be read ({fault}); it must be the one that the gateway of "
        "this deployment keeps, for the frames to be opened are in it. Mend [site] database in "
        "the deployment file, or read it as a user who may"
    )
