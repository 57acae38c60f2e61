"""That a store is still the one that was opened: looked at with every commit.

A file that is deleted or replaced under a gateway takes every write as before, and is gone with
the process. So after each commit, and before anybody is told of it, the path must still lead to
the files that were opened. A file over which another is written keeps its number: so a gateway
that runs writes a mark into the file's header, a number at random that no copy of before has and
that `heatveil backup` takes out, and looks for it before each commit and after. At PostgreSQL the
same holds of a database that is dropped and made anew: its tables have other numbers.
"""

import secrets
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event

from ..faults import OperatorFault, ReplacedFault
from ..logs import log
from . import sqlite
from .places import Place
from .sqlite import ENDS

# Of the cluster, of the database, and of one table, which none shares that was made later.
NUMBERS = (
    "SELECT (pg_control_system()).system_identifier, oid, to_regclass('about')::oid "
    "FROM pg_database WHERE datname = current_database()"
)


class Identity:
    """Of one engine, from when it is made to when it is disposed of; any thread may look."""

    def __init__(self, engine: Engine, place: Place) -> None:
        """Note what is open now, and look at every commit of this engine from now on."""
        self.fault: ReplacedFault | None = None
        self._place, self._heard = place, list[Callable[[], object]]()
        self._lock = threading.Lock()
        self._look = _Numbers(engine) if not isinstance(place, Path) else _Files(engine, place)
        commit = engine.dialect.do_commit

        def committed(connection: Any) -> None:
            self.check(connection)
            commit(connection)
            if self._look.after_commit:
                self.check(connection)

        # Every commit passes here, whoever began the transaction; there is no event after one.
        engine.dialect.do_commit = committed  # type: ignore[method-assign, assignment]

    def call_on_loss(self, heard: Callable[[], object]) -> None:
        """Have this called once, on the thread that finds that the store is another."""
        self._heard.append(heard)

    def write_mark(self) -> None:
        """Write a new mark into the header of a file; for who alone may write to it for long."""
        if isinstance(self._look, _Files):
            self._look.mark()

    def declare_lost(self, fault: ReplacedFault) -> None:
        """Let nobody go on with this store, whatever its files say, and have that heard.

        Raises:
            ReplacedFault: this one; from then on always.
        """
        with self._lock:
            first, self.fault = self.fault is None, self.fault or fault
        if first:
            log.error("the gateway stops using the store", why=str(fault))
            for heard in self._heard:
                heard()
        raise self.fault

    def check(self, connection: Any = None) -> None:
        """Look whether the store is the one that was opened.

        Args:
            connection: the driver's, in whose transaction PostgreSQL is asked.

        Raises:
            ReplacedFault: it is not; from then on always.
        """
        if self.fault is None and (what := self._look.wrong(connection)):
            with self._lock:
                first, self.fault = self.fault is None, self.fault or ReplacedFault(what)
            if first:
                self.fault = ReplacedFault(f"{what}. {self._look.rescued()}")
                log.error(
                    "the store is missing or another one; the gateway stops using it", why=what
                )
                for heard in self._heard:
                    heard()
        if self.fault is not None:
            raise self.fault


class _Files:
    """A store at SQLite: the numbers of its files, which a connection of ours holds open.

    So no other file can have their numbers, and what they hold can be saved after they are gone.
    """

    after_commit = True

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine, self._path = engine, path.absolute()
        self._marks, self._looking = list[int](), threading.Lock()
        self._over = False  # whether another file was written over ours
        self._anchor = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._anchor.execute("SELECT count(*) FROM sqlite_master").fetchone()
        self._size, self._known = 0, [_find_file_numbers(self._locate_file(end)) for end in ENDS]
        event.listen(engine, "engine_disposed", lambda _: self._anchor.close())
        event.listen(engine, "connect", lambda *_: self._check_new_connection())

    def _locate_file(self, end: str) -> Path:
        return self._path.with_name(self._path.name + end)

    def _check_new_connection(self) -> None:
        """A connection made later must not be to another file, where it would make one."""
        if what := self.wrong():
            raise ReplacedFault(what)

    def wrong(self, _: Any = None) -> str:
        for end, known in zip(ENDS, self._known, strict=True):
            path = self._locate_file(end)
            if (found := _find_file_numbers(path)) != known:
                how = "is no longer there" if found is None else "is another file"
                return f"{path} {how} than when it was opened" if found else f"{path} {how}"
        with suppress(OSError):
            size = self._path.stat().st_size
            if size < self._size:
                self._over = True
                return f"{self._path} is shorter than it was: another was copied over it"
            self._size = size
        with self._looking:  # no new mark is written meanwhile
            if self._marks and (seen := self._read_mark()) is not None:
                if seen not in self._marks:
                    self._over = True
                    return f"{self._path} is without our mark: another was copied over it"
                if seen == self._marks[-1]:
                    self._marks = [seen]
        return ""

    def mark(self) -> None:
        """Write a new mark, which reaches the file when its log is written back."""
        new = secrets.randbelow(2**31 - 1) + 1
        with self._looking:
            self._marks = [*(self._marks or [self._read_mark() or 0]), new]
        with self._engine.begin() as connection:
            connection.exec_driver_sql(f"PRAGMA user_version = {new}")

    def _read_mark(self) -> int | None:
        """Return the mark in the file itself, whatever its log says; None if none can be read."""
        # Opened by SQLite, for closing a file in any other way lets go of the locks on it.
        where = f"{self._path.as_uri()}?mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(where, uri=True)) as file:
                # While the log is written back, the header says more pages than are there yet;
                # SQLite would call that malformed, and a sound store would be given up.
                file.execute("PRAGMA writable_schema = ON")
                found: int = file.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.OperationalError:
            return None
        except sqlite3.DatabaseError:
            return -1  # it is no store
        return found

    def rescued(self) -> str:
        """Save what the files hold, if it is whole; return what became of it, as a sentence."""
        if self._over:
            return "What it held is written over"
        out, before = self._path.with_name(self._path.name + ".rescued"), 1
        while out.exists():  # of another time, which nobody has looked at
            before += 1
            out = self._path.with_name(f"{self._path.name}.rescued-{before}")
        try:
            sqlite.rescue_store(self._anchor, out)
        except (OSError, sqlite3.Error, OperatorFault) as fault:
            return f"What it held could not be saved ({' '.join(str(fault).split())})"
        return f"What it held, to the last receipt, is saved as {out}"


class _Numbers:
    """A store at PostgreSQL: the numbers of its cluster, database and tables."""

    after_commit = False  # what is written holds its table until then

    def __init__(self, engine: Engine) -> None:
        borrowed = engine.raw_connection()
        try:
            self._known = self._read_numbers(borrowed)
            borrowed.rollback()
        finally:
            borrowed.close()

    def _read_numbers(self, connection: Any) -> Any:
        with closing(connection.cursor()) as cursor:
            return cursor.execute(NUMBERS).fetchone()

    def wrong(self, connection: Any = None) -> str:
        if connection is None or self._read_numbers(connection) == self._known:
            return ""
        return "the database at PostgreSQL was dropped and made anew, or is another server's"

    def rescued(self) -> str:
        return "What it held is in PostgreSQL's own backups, if anywhere"


def _find_file_numbers(path: Path) -> tuple[int, int] | None:
    """Return by what the system knows a file, or None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
