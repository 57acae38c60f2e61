"""Frames to exact readings, boot by boot: what is not beyond doubt is left out, with a reason.

In order: is the device enrolled, did it sign these bytes, do the columns beside them say the
same, did the site ask that round, is there a key for that boot, and are all the numbers that
come out ones that the sensor can have given. A wrong key gives others, as blurred again as
before; one of them condemns its whole boot, for the rest may be in range by luck.

The gateway's database is read as it stands at one moment. SQLite itself refuses every write here,
and a database that no gateway has open is read without the files that SQLite would lay beside
it: made by another user, they would shut the gateway out of its own store.

Where exact readings are kept: a new file for its owner alone, which says NOT PRIVATE itself.

SQLite, with the tables `not_private` (what this is, in sentences), `readings` and `left_out`;
or CSV with these sentences as comments above its header. The table `about` makes the service
refuse the file should it ever be named as the gateway's database: the two are never joined.
"""

import csv
import math
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from edge.core import entropy, wire
from edge.host import post

from ...faults import OperatorFault
from ...mechanisms import TABLE, find_mechanism
from ...store.schema import SCHEMA
from ..enrol.enrol import Devices

CLAMPED = "at the clamp"  # the sensor may have seen more than this, and clamped it
CUT = "cut by the frame"  # blurred beyond what a frame holds: the reading is lost

WORDS = (
    "NOT PRIVATE: exact readings, with the noise taken off by a key holder.",
    "Nothing is promised against whoever holds this file: where every source of warmth stood can "
    "be seen in it.",
    "Do not publish it, do not join it with the gateway's database, and remove it when it has "
    "served its purpose.",
)
_TABLES = """
CREATE TABLE about (schema TEXT PRIMARY KEY, site TEXT NOT NULL);
CREATE TABLE not_private (sentence TEXT NOT NULL);
CREATE TABLE readings (
    device TEXT NOT NULL, epoch INTEGER NOT NULL, seq INTEGER NOT NULL,
    round INTEGER NOT NULL, sensor INTEGER NOT NULL,
    grains INTEGER,  -- whole number that the sensor gave; null where it is lost
    exponent INTEGER NOT NULL,  -- a grain is 2**-exponent kelvin
    kelvin REAL,  -- above the baseline
    note TEXT NOT NULL,
    PRIMARY KEY (device, epoch, seq, sensor)
) WITHOUT ROWID;
CREATE TABLE left_out (device TEXT NOT NULL, epoch INTEGER NOT NULL, why TEXT NOT NULL,
    frames INTEGER NOT NULL);
"""


class ExactReading(NamedTuple):
    """One exact reading."""

    device: str
    epoch: int
    seq: int
    round: int  # its number
    sensor: int
    grains: int | None
    exponent: int
    kelvin: float | None
    note: str


class UnopenedFrames(NamedTuple):
    """Frames of one boot that were not opened, and why."""

    device: str
    epoch: int
    why: str
    frames: int


def check_output_path(out: Path, database: Path) -> None:
    """Check that readings may be kept at this place.

    Raises:
        OperatorFault: it is the gateway's database or belongs to it, is there already, is in no
            folder that we may write to, or is of no known kind.
    """
    ours = [database.with_name(database.name + end) for end in ("", "-wal", "-shm", "-journal")]
    if out.resolve() in [path.resolve() for path in ours] or database in out.parents:
        raise OperatorFault(
            f"--out {out} is the gateway's database or a part of it, from which the page is "
            "served; exact readings must not be in it. Name another file"
        )
    if out.exists() or out.is_symlink():
        raise OperatorFault(
            f"--out {out} is there already; exact readings must go to a new file, so that nothing "
            "else is replaced or mixed with them. Remove it or give another path"
        )
    if out.suffix not in _WRITERS:
        raise OperatorFault(
            f"--out {out} ends in {out.suffix or 'nothing'}; it must end in .sqlite or .csv, "
            "which selects the format. Name another file"
        )
    if not out.absolute().parent.is_dir() or not os.access(out.absolute().parent, os.W_OK):
        raise OperatorFault(
            f"--out {out} is not in a folder that exists and is writable; no reading was opened. "
            "Make the folder, or name another file"
        )


def write_readings(
    out: Path,
    site: str,
    rows: Iterable[ExactReading],
    left: Callable[[], Iterable[UnopenedFrames]],
) -> None:
    """Write a new file, whole or not at all, readable by its owner alone.

    Args:
        left: gives what was left out; called when all rows are written.

    Raises:
        OperatorFault: it cannot be written.
    """
    half = out.with_name(f".{out.name}.{os.getpid()}.part")
    ours: list[Path] = []
    try:
        for path in (out, half):  # the first only holds the name, so that nobody is overwritten
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            ours.append(path)
        _WRITERS[out.suffix](half, site, rows, left)
        with half.open("rb") as file:
            os.fsync(file.fileno())
        half.replace(out)
        ours.clear()
    except (OSError, sqlite3.Error) as fault:
        why = getattr(fault, "strerror", None) or str(fault)
        raise OperatorFault(
            f"--out {out} cannot be written ({why}); no incomplete file was left there. Free disk "
            "space, or name another file"
        ) from fault
    finally:
        for path in ours:
            path.unlink(missing_ok=True)


def _write_sqlite(
    path: Path,
    site: str,
    rows: Iterable[ExactReading],
    left: Callable[[], Iterable[UnopenedFrames]],
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA journal_mode=OFF")  # nobody else sees the file before it is whole
        file.executescript("BEGIN;" + _TABLES)
        file.execute("INSERT INTO about VALUES (?, ?)", (WORDS[0], site))
        file.executemany("INSERT INTO not_private VALUES (?)", [(words,) for words in WORDS])
        file.executemany("INSERT INTO readings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        file.executemany("INSERT INTO left_out VALUES (?, ?, ?, ?)", left())
        file.execute("COMMIT")


def _write_csv(
    path: Path,
    site: str,
    rows: Iterable[ExactReading],
    left: Callable[[], Iterable[UnopenedFrames]],
) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {words}\n" for words in (*WORDS, f"site {site}"))
        table = csv.writer(file, lineterminator="\n")
        table.writerow(ExactReading._fields)
        table.writerows(rows)
        file.writelines(
            f"# left out: {frames} of {device}, boot {epoch}: {why}\n"
            for device, epoch, why, frames in left()
        )


_WRITERS = {".sqlite": _write_sqlite, ".csv": _write_csv}


RoundRange = tuple[int, int]  # the numbers of the first and the last round that is wanted

ALL: RoundRange = (0, 1 << 48)
_OF_THESE = "WHERE ?1 = 0 OR round IN (SELECT name FROM rounds WHERE number BETWEEN ?1 AND ?2)"


class StoredReport(NamedTuple):
    """A report as the gateway keeps it; nothing in it is believed before its MAC is checked."""

    device: str
    epoch: int
    seq: int
    round: bytes
    frame: bytes
    key_id: bytes  # of the enrolment under which it came


class ReportSource:
    """An open database. Made by `reading`."""

    def __init__(self, connection: sqlite3.Connection, path: Path, log: Path | None) -> None:
        """Take a connection, and the log that must not appear while it is used."""
        self._connection, self._path, self._log = connection, path, log

    def read_rounds(self, site: str, site_key: bytes) -> Mapping[bytes, Any]:
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

    def count_reports(self, rounds: RoundRange) -> int:
        """Return how many reports there are of rounds with these numbers."""
        rows = self._connection.execute(f"SELECT count(*) FROM reports {_OF_THESE}", rounds)
        return int(rows.fetchone()[0])

    def read_reports(self, rounds: RoundRange) -> Iterator[StoredReport]:
        """Yield the reports of every device, in the order of device, boot and message.

        Args:
            rounds: first to last, both included; `ALL` also brings reports of rounds that the
                store does not know.

        Raises:
            OperatorFault: after the last one, when a gateway opened the database meanwhile.
        """
        statement = f"SELECT device, epoch, seq, round, frame, key_id FROM reports {_OF_THESE} "
        try:  # here, or its reader would be taken for the one at fault
            rows = self._connection.execute(statement + "ORDER BY device, epoch, seq", rounds)
            yield from map(StoredReport._make, rows)
        except sqlite3.Error as fault:
            raise _make_unreadable_fault(self._path, fault) from fault
        if self._log is not None and self._log.exists():
            raise OperatorFault(
                "a gateway opened the database while it was being read, so readings could be "
                "missing. Nothing was written; run this again"
            )

    def read_newest_boots(self) -> dict[tuple[str, bytes], int]:
        """Return the newest boot that was heard of each device, under each of its keys."""
        try:
            rows = self._connection.execute("SELECT device, key_id, epoch FROM newest").fetchall()
        except sqlite3.Error as fault:
            raise _make_unreadable_fault(self._path, fault) from fault
        return {(row[0], row[1]): row[2] for row in rows}


@contextmanager
def open_source(path: Path, site: str) -> Iterator[ReportSource]:
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
        raise _make_unreadable_fault(path, fault) from fault
    try:
        connection.text_factory = lambda text: text.decode(errors="replace")  # a forger's too
        connection.execute("PRAGMA query_only=ON")
        connection.execute("BEGIN")
        _check(connection, path, site)
        yield ReportSource(connection, path, log if idle else None)
    except sqlite3.Error as fault:
        raise _make_unreadable_fault(path, fault) from fault
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


def _make_unreadable_fault(path: Path, fault: sqlite3.Error) -> OperatorFault:
    return OperatorFault(
        f"the database {path} cannot be read ({fault}); the frames to be opened are in the "
        "database of this deployment's gateway. Correct [site] database in the deployment file, "
        "or run this as a user who may read it"
    )


STRANGER = "the device is not enrolled in the devices file"
OLDER = "it came under another key than the device is enrolled with now"
FORGED = "its device did not sign these bytes"
MOVED = "the columns beside the frame are not what the device signed"
UNASKED = "the round that it answers is not there, is none, or the site did not sign it"
MISPLACED = "it answers for other sensors than its device has"
SEALED = "its device is sealed: nobody can take the noise off"
CLOSED = "no key was given for this boot"
SPOILT = "the key of this boot does not fit: it gives readings that no sensor has"


class Keys(Protocol):
    """Who has the keys of boots."""

    def find_boot_key(self, name: str, epoch: int) -> bytes | None:
        """Return the key of a device's boot, None when it is not among them."""


class UnveilingPass:
    """One pass over the frames; afterwards `left` says what was left out."""

    def __init__(self, devices: Devices, rounds: Mapping[bytes, Any], keys: Keys) -> None:
        self._devices, self._rounds, self._keys = devices, rounds, keys
        self._left: Counter[tuple[str, int, str]] = Counter()
        self.frames = self.readings = 0  # opened so far
        self._drawn_from: tuple[Any, Any] = None, None  # of which params, for how many sensors

    @property
    def left(self) -> list[UnopenedFrames]:
        """What was left out so far."""
        return [UnopenedFrames(*place, frames) for place, frames in self._left.items()]

    def unveil_reports(self, reports: Iterable[StoredReport]) -> Iterator[ExactReading]:
        """Yield the readings of reports that come ordered by device and boot."""
        for (name, epoch), boot in groupby(reports, key=lambda stored: stored[:2]):
            opened: list[list[ExactReading]] = []
            for stored in boot:
                found = self._open_report(stored)
                if isinstance(found, str):
                    self._left[name, epoch, found] += 1
                else:
                    opened.append(found)
            if (name, epoch, SPOILT) in self._left:
                self._left[name, epoch, SPOILT] += len(opened)
                continue
            self.frames += len(opened)
            for rows in opened:
                self.readings += len(rows)
                yield from rows

    def _open_report(self, stored: StoredReport) -> list[ExactReading] | str:
        """Return the readings behind a report, or why it is not opened."""
        device = self._devices.by_name.get(stored.device)
        if device is None:
            return STRANGER
        topic = wire.topic(self._devices.site, device.name, "data")
        try:
            report = post.unpack_report(stored.frame, device.mac_key, topic, device.name)
        except Exception:  # whatever bytes do to a decoder, the next frame is waiting
            return FORGED if stored.key_id == device.key_id else OLDER
        if (report.epoch, report.seq, report.round) != stored[1:4]:
            return MOVED
        plan = self._rounds.get(report.round)
        if plan is None or plan.mechanism not in TABLE:
            return UNASKED
        half = find_mechanism(plan.mechanism).unveiling
        # One more parameter asks for noise from tables.
        if half is None or len(plan.params) not in (half.PARAMS, half.PARAMS + 1):
            return UNASKED
        if [report.payload[0], len(report.payload) - 1] != list(device.place):
            return MISPLACED
        if device.mode == "sealed":
            return SEALED
        key = self._keys.find_boot_key(device.name, report.epoch)
        if key is None:
            return CLOSED
        try:
            tables = self._find_noise_tables(half, plan, device.place.sensors)
            return _unveil_report(half, plan, report, key, tables)
        except (ValueError, OverflowError):  # signed by the site, and no round for all that
            return UNASKED

    def _find_noise_tables(self, half: Any, plan: Any, sensors: int) -> Any:
        """Return what devices of so many sensors draw this round's noise from, made once."""
        like = plan.params, sensors
        if like != self._drawn_from[0]:
            self._drawn_from = like, half.find_tables(plan, sensors)
        return self._drawn_from[1]


def _unveil_report(
    half: Any, plan: Any, report: Any, key: bytes, tables: Any
) -> list[ExactReading] | str:
    params, most = half.params_of(plan), (1 << (half.bits(plan) - 1)) - 1
    first, *blurred = report.payload
    rng = entropy.open_epoch(key, report.sender, report.epoch, report.seq, first)
    rows = []
    opened = half.unveil(plan, report.payload, rng, tables)
    for sensor, grains in enumerate(opened.values, first):
        where = (report.sender, report.epoch, report.seq, plan.number, sensor)
        if abs(blurred[sensor - first]) >= most:
            rows.append(ExactReading(*where, None, params.exponent, None, CUT))
            continue
        if not params.low <= grains <= params.high:
            return SPOILT
        note = CLAMPED if grains in (params.low, params.high) else ""
        kelvin = math.ldexp(grains, -params.exponent)
        rows.append(ExactReading(*where, grains, params.exponent, kelvin, note))
    return rows
