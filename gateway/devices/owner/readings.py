"""Where exact readings are kept: a new file for its owner alone, which says NOT PRIVATE itself.

SQLite, with the tables `not_private` (what this is, in sentences), `readings` and `left_out`;
or CSV with these sentences as comments above its header. The table `about` makes the service
refuse the file should it ever be named as the gateway's database: the two are never joined.
"""

import csv
import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ...faults import OperatorFault

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


class Row(NamedTuple):
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


class LeftOut(NamedTuple):
    """Frames of one boot that were not opened, and why."""

    device: str
    epoch: int
    why: str
    frames: int


def check_new(out: Path, database: Path) -> None:
    """Check that readings may be kept at this place.

    Raises:
        OperatorFault: it is the gateway's database or belongs to it, is there already, is in no
            folder that we may write to, or is of no known kind.
    """
    ours = [database.with_name(database.name + end) for end in ("", "-wal", "-shm", "-journal")]
    if out.resolve() in [path.resolve() for path in ours] or database in out.parents:
        raise OperatorFault(
            f"--out {out} is the gateway's database or a part of it; exact readings must be in a "
            "file of their own, for that one is served to everybody. Give another path"
        )
    if out.exists() or out.is_symlink():
        raise OperatorFault(
            f"--out {out} is there already; exact readings must go to a new file, so that nothing "
            "else is replaced or mixed with them. Remove it or give another path"
        )
    if out.suffix not in _WRITERS:
        raise OperatorFault(
            f"--out {out} ends in {out.suffix or 'nothing'}; it must be .sqlite or .csv, which "
            "say how to write it. Give such a name"
        )
    if not out.absolute().parent.is_dir() or not os.access(out.absolute().parent, os.W_OK):
        raise OperatorFault(
            f"--out {out} is in no folder that we may write to; readings must have their place "
            "before any is opened. Make the folder or give another path"
        )


def write_readings(
    out: Path, site: str, rows: Iterable[Row], left: Callable[[], Iterable[LeftOut]]
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
            f"--out {out} cannot be written ({why}); half of the readings would look like all of "
            "them, so none are left there. Make room for it, or give another path"
        ) from fault
    finally:
        for path in ours:
            path.unlink(missing_ok=True)


def _sqlite(
    path: Path, site: str, rows: Iterable[Row], left: Callable[[], Iterable[LeftOut]]
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA journal_mode=OFF")  # nobody else sees the file before it is whole
        file.executescript("BEGIN;" + _TABLES)
        file.execute("INSERT INTO about VALUES (?, ?)", (WORDS[0], site))
        file.executemany("INSERT INTO not_private VALUES (?)", [(words,) for words in WORDS])
        file.executemany("INSERT INTO readings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        file.executemany("INSERT INTO left_out VALUES (?, ?, ?, ?)", left())
        file.execute("COMMIT")


def _csv(
    path: Path, site: str, rows: Iterable[Row], left: Callable[[], Iterable[LeftOut]]
) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {words}\n" for words in (*WORDS, f"site {site}"))
        table = csv.writer(file, lineterminator="\n")
        table.writerow(Row._fields)
        table.writerows(rows)
        file.writelines(
            f"# left out: {frames} of {device}, boot {epoch}: {why}\n"
            for device, epoch, why, frames in left()
        )


_WRITERS = {".sqlite": _sqlite, ".csv": _csv}
