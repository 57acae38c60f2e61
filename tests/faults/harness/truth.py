"""What the devices wrote down is held against the store; and frames that a test makes itself."""

import hashlib
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import cbor2

from edge.core import wire
from edge.core.records import Report
from edge.mechanisms import thermal
from gateway.devices.enrol import enrol

# The judge: what devices wrote down before they sent it, against what the store holds.

Numbers = tuple[str, int, int]  # device, epoch, seq


class Truth(NamedTuple):
    """What became of all readings."""

    readings: int
    counted: int
    refused: int
    lost: int
    doubled: int
    altered: int
    foreign: int

    @property
    def whole(self) -> bool:
        """Whether every reading is there once, as it was sent, and nothing else."""
        return not (self.lost or self.doubled or self.altered or self.foreign)


def said(logs: Iterable[Path]) -> dict[Numbers, bytes]:
    """Return what devices wrote down: the SHA-256 of each frame; a torn last line is none."""
    found: dict[Numbers, bytes] = {}
    for log in logs:
        for line in log.read_text().splitlines(keepends=True) if log.exists() else []:
            words = line.split()
            if not line.endswith("\n") or words[0] != "+":
                continue
            numbers, digest = (words[1], int(words[2]), int(words[3])), bytes.fromhex(words[4])
            assert found.setdefault(numbers, digest) == digest, f"two frames under {numbers}"
    return found


@contextmanager
def reading(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a store beside its gateway, for reading."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=20)) as opened:
        yield opened


def ask(database: Path | str, statement: str, *values: Any) -> list[Any]:
    """Return the rows of a question to the store; none while it is not there yet.

    Args:
        database: SQLite's file, or libpq's words for a database of PostgreSQL.
    """
    if isinstance(database, str):
        return _asked(database, statement.replace("?", "%s"), values)
    try:
        with reading(database) as opened:
            return opened.execute(statement, values).fetchall()
    except sqlite3.OperationalError as fault:
        if "no such table" in str(fault) or "unable to open" in str(fault):
            return []
        raise


def _asked(words: str, statement: str, values: Any) -> list[Any]:
    import psycopg

    until_s = time.monotonic() + 60
    while True:
        try:
            with psycopg.connect(words, connect_timeout=5) as opened:
                return opened.execute(statement, values).fetchall()
        except psycopg.errors.UndefinedTable:
            return []
        except psycopg.OperationalError:  # it was killed, and comes back
            if time.monotonic() > until_s:
                raise
            time.sleep(0.05)


def judged(logs: Iterable[Path], database: Path | str) -> Truth:
    """Return what became of everything that devices had written down when this was called."""
    logs = list(logs)
    wrote = said(logs)
    counted = ask(database, "SELECT device, epoch, seq, frame, round FROM reports")
    heard = ask(database, "SELECT device, epoch, seq, digest FROM heard")
    rows = [((row[0], row[1], row[2]), hashlib.sha256(bytes(row[3])).digest()) for row in counted]
    rows += [((row[0], row[1], row[2]), bytes(row[3])) for row in heard]
    often = Counter(numbers for numbers, _ in rows)
    since = said(logs) if often.keys() - wrote.keys() else wrote  # while we asked
    answers = Counter((row[0], bytes(row[4])) for row in counted)
    return Truth(
        readings=len(wrote),
        counted=len(counted),
        refused=len(heard),
        lost=len(wrote.keys() - often.keys()),
        doubled=sum(more - 1 for more in (*often.values(), *answers.values())),
        altered=sum(since.get(numbers, digest) != digest for numbers, digest in rows),
        foreign=len(often.keys() - since.keys()),
    )


def charges(database: Path | str) -> tuple[int, Fraction, int]:
    """Return rounds that were asked, everything that was charged, and charges beside a round's."""
    rounds = ask(database, "SELECT count(*) FROM rounds")[0][0]
    rows = ask(database, "SELECT rho, device FROM charges")
    return rounds, sum((Fraction(rho) for rho, _ in rows), Fraction(0)), len(rows) - rounds


def sound(database: Path | str) -> bool:
    """Return whether SQLite finds its own file whole."""
    return ask(database, "PRAGMA integrity_check") == [("ok",)]


# Frames that a test makes itself, with the keys of an enrolled device or with others.


class Forge:
    """What may be said under a name: genuine, forged, and nothing of the kind."""

    def __init__(self, folder: Path, database: Path) -> None:
        site = json.loads((folder / "devices.json").read_text())["site"]
        self.known = enrol.load_devices(folder / "devices.json", site)
        self.site, self.names = site, list(self.known.by_name)
        self._database = database

    def plan(self, number: int | None = None) -> Any:
        """Return a round as it was asked; None for the last."""
        rows = ask(self._database, "SELECT number, message FROM rounds ORDER BY number")
        message = dict(rows)[rows[-1][0] if number is None else number]
        return wire.unpack_round(
            message, self.known.site_key, wire.round_topic(self.site, "thermal")
        )

    def topic(self, name: str, leaf: str = "data") -> str:
        """Return a topic of a device."""
        return str(wire.topic(self.site, name, leaf))

    def frame(
        self,
        name: str,
        plan: Any,
        epoch: int,
        seq: int,
        value: int = 7,
        *,
        key: bytes | None = None,
        on: str | None = None,
    ) -> bytes:
        """Return a frame of a device; or by another's key, or for another topic."""
        one = self.known.by_name[name]
        report = Report(wire.name_of(plan), name, epoch, seq, [one.place.sensor, value])
        key = one.mac_key if key is None else key
        return bytes(wire.pack_report(report, key, on or self.topic(name), thermal.bits(plan)))

    def signed(self, name: str, body: dict[int, Any]) -> bytes:
        """Return anything at all, signed as the device signs."""
        packed = cbor2.dumps(body)
        return bytes(wire.sign(packed, self.known.by_name[name].mac_key, self.topic(name)))
