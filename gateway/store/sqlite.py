"""SQLite, made to keep its promises; and its file as a file: room on the disk, log, copy."""

import os
import sqlite3
import stat
import uuid
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event

from ..faults import OperatorFault
from ..logs import log
from .places import Place

ENDS = ("", "-wal", "-shm")  # of the names of a store's files


def measure_free_bytes(path: Path) -> int | None:
    """Return how many bytes may still be written beside a file, or None where nobody knows."""
    try:
        found = os.statvfs(path.resolve().parent)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def make_private(path: Path) -> None:
    """Let nobody but its owner read a store: which device spoke when, and what was refused.

    SQLite gives the files beside it the mode of the file itself, so that one is made first.

    Raises:
        OSError: it cannot be made, or is not ours to change.
    """
    with suppress(FileExistsError):  # one that is there is not opened: SQLite's locks would go
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    for end in ENDS:
        beside = path.with_name(path.name + end)
        with suppress(FileNotFoundError):
            if (mode := stat.S_IMODE(beside.stat().st_mode)) & 0o077:
                beside.chmod(0o600)
                log.warning(
                    "other users here could read the store; its permissions are now 600",
                    file=str(beside),
                    mode=f"{mode:04o}",
                )


def truncate_wal(engine: Engine) -> bool:
    """Truncate the write-ahead log of SQLite; return whether it is empty."""
    borrowed = engine.raw_connection()  # it must not be in a transaction
    try:
        cursor = borrowed.cursor()
        cursor.execute("PRAGMA busy_timeout=1000")
        try:
            busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            cursor.execute("PRAGMA busy_timeout=2000")
    except sqlite3.OperationalError:
        return False
    finally:
        borrowed.close()
    return not busy


def rewrite_file(path: Path) -> None:
    """Write a file anew that no store has open: what was deleted stands in its free pages.

    Raises:
        OperatorFault: it cannot be, such as where another program reads it: the bytes stand.
    """
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("VACUUM")
            if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                raise sqlite3.OperationalError("another program reads it")
    except sqlite3.Error as fault:
        raise OperatorFault(
            f"the rows are deleted, but {path} could not be rewritten ({fault}): until it is, "
            "their bytes remain in it, or in the log beside it. Close whatever has it open, free "
            "disk space, and run heatveil delete again"
        ) from fault


def make_read_only_address(path: Path) -> str:
    """Return the address under which SQLite opens a file for reading and leaves nothing beside it.

    Without a log beside it nobody has it open, and SQLite would make one, which then belongs to
    whoever reads and keeps the gateway out; told that nobody writes, it does not.
    """
    log = path.with_name(path.name + "-wal")
    return path.resolve().as_uri() + ("?mode=ro" if log.exists() else "?mode=ro&immutable=1")


def backup_store(place: Place, out: Path, *, again: bool = False) -> None:
    """Write a copy of the store, as it is at one moment, to a file that must not be there.

    Args:
        again: it may be there, and is replaced at once by a copy that is whole.

    Raises:
        OperatorFault: it is there, cannot be written, or the store is not SQLite's.
    """
    if not isinstance(place, Path):
        raise OperatorFault(
            "the store is in PostgreSQL, which heatveil does not copy. Run pg_dump on it, which "
            "makes a consistent copy"
        )
    taken = OperatorFault(
        f"{out} is there already and is not written over, for it may be the only good copy. "
        "Name another file, or remove that one"
    )
    if out.exists() and not again:
        raise taken
    beside = out.with_name(f".{out.name}.{uuid.uuid4().hex[:8]}")
    try:
        _copy(place, beside)
        if again:
            os.replace(beside, out)
        else:
            os.link(beside, out)  # unlike a rename it never takes the place of another file
        _flush(out.resolve().parent)
    except FileExistsError as fault:
        raise taken from fault
    except (OSError, sqlite3.Error) as fault:
        raise OperatorFault(
            f"the store {place} cannot be copied to {out} ({fault}); no incomplete copy was left "
            "there. Free disk space, make the folder writable, or name another"
        ) from fault
    finally:
        beside.unlink(missing_ok=True)


def find_rescued(path: Path) -> Path | None:
    """Return the newest file that a gateway saved when the store at this path was taken away."""
    named = os.listdir(path.parent) if path.parent.is_dir() else []
    found = [path.parent / one for one in named if one.startswith(f"{path.name}.rescued")]
    return max(found, key=lambda one: one.stat().st_mtime, default=None)


def find_copies(path: Path) -> list[str]:
    """Return the names of copies beside a store, of before it was migrated or taken away.

    Nothing is deleted in them, however old. One that begins with a dot was not finished.
    """
    kinds = (f"{path.name}.schema*", f"{path.name}.rescued*", f".{path.name}.*")
    return sorted(one.name for kind in kinds for one in path.parent.glob(kind))


def rescue_store(source: sqlite3.Connection, out: Path) -> None:
    """Write what a connection holds open, though its path may lead elsewhere, to a new file.

    Raises:
        OSError: it is there already, or cannot be written.
        sqlite3.Error: what was read is not whole; no file is left.
    """
    try:
        _write(source, out)
    except sqlite3.Error:
        out.unlink(missing_ok=True)
        raise


def _copy(place: Path, beside: Path) -> None:
    """Write the copy, and see that it is whole: SQLite's own check, and as many rows."""
    where, began = make_read_only_address(place), place.stat()
    with closing(sqlite3.connect(where, uri=True, timeout=10, isolation_level=None)) as source:
        _write(source, beside)
    ended = place.stat()
    same = (began.st_mtime_ns, began.st_size) == (ended.st_mtime_ns, ended.st_size)
    if where.endswith("immutable=1") and not (same and make_read_only_address(place) == where):
        raise sqlite3.DatabaseError("a gateway was started meanwhile; try again")


def _write(source: sqlite3.Connection, out: Path) -> None:
    os.close(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    source.execute("BEGIN")  # the copy and the count are of this one moment
    try:
        rows = _count_rows(source)
        with closing(sqlite3.connect(out)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, wherever it is carried
            copy.execute("PRAGMA user_version=0")  # the mark is the running gateway's
            said = copy.execute("PRAGMA integrity_check").fetchone()[0]
            found = _count_rows(copy)
    finally:
        source.execute("ROLLBACK")
    if said != "ok" or found != rows:
        raise sqlite3.DatabaseError(f"the copy is not whole: {said}")
    _flush(out)


def _count_rows(connection: sqlite3.Connection) -> dict[str, int]:
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    counts = ((name, f'SELECT count(*) FROM "{name}"') for (name,) in names)
    return {name: connection.execute(count).fetchone()[0] for name, count in counts}


def _flush(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def make_engine(path: Path) -> Engine:
    """Return an engine on a file; nothing is opened yet."""
    # What a statement carried must not end up in a log with its error.
    engine = create_engine(f"sqlite:///{path}", hide_parameters=True)
    _hold_to_promises(engine)
    return engine


def _hold_to_promises(engine: Engine) -> None:
    """Make commits survive a power cut, and transactions really be transactions.

    Left to itself Python's sqlite3 opens transactions late and not at all for CREATE
    TABLE, so a failure half way leaves half a schema behind. We send BEGIN ourselves:
    IMMEDIATE for writers, so that what was read under it still holds when it is written.
    """

    @event.listens_for(engine, "connect")
    def _set_up_connection(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA busy_timeout=2000")
        connection.execute("PRAGMA secure_delete=ON")  # not every SQLite is built so
        connection.execute("PRAGMA journal_size_limit=8388608")  # after a reader held it open

    @event.listens_for(engine, "begin")
    def _begin_transaction(connection: Any) -> None:
        reading = connection.get_execution_options().get("reading", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
