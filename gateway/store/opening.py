"""The store opened: only where it is ours, with its tables in it.

One process to a database or a folder: a lock that goes with the process, however it ends.

At PostgreSQL it is an advisory lock, on a connection of its own. It goes with the connection, so a
server that was started again has forgotten it. A thread looks every second, and takes it again.
What is in the database does not rest on it: rounds are opened and charged under a row lock. It
keeps two gateways from being in each other's way.
"""

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, insert, inspect, select, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ..faults import OperatorFault, TakenFault
from ..logs import log
from . import postgres, sqlite
from .identity import Identity
from .migrations import OLDEST, migrate_tables
from .places import Database, Place
from .schema import METADATA, SCHEMA, about

OPENING = 0x68656174  # of the advisory lock under which tables are made


def open_store(place: Place, site: str) -> tuple[Engine, Engine, Identity]:
    """Return an engine for writing and one for reading, on a store with this site's tables.

    And what looks, at each commit, whether it still is that store.

    Raises:
        OperatorFault: it cannot be opened, is no store, is another site's or another heatveil's.
    """
    if isinstance(place, Path):
        _check_rescued(place)
        with suppress(OSError):  # where it cannot be written, SQLite says so
            sqlite.make_private(place)
    engine = sqlite.make_engine(place) if isinstance(place, Path) else postgres.make_engine(place)
    # A reading method sees one moment, however many questions it asks.
    moment = {} if isinstance(place, Path) else {"isolation_level": "REPEATABLE READ"}
    reads = engine.execution_options(reading=True, **moment)
    try:
        with reads.begin() as connection:  # where all is well, whoever writes is not kept waiting
            there = inspect(connection).has_table("about")
        if not there:
            _make(engine, place, site)
        with reads.begin() as connection:
            found = _read_schema(connection)
            if found in range(OLDEST, SCHEMA):
                _check_owner(connection, place, site)  # another's is not even brought up
        if found in range(OLDEST, SCHEMA):
            _migrate_store(engine, place, found)
        with reads.begin() as connection:
            check_is_ours(connection, place, site)
        return engine, reads, Identity(engine, place)
    except BaseException as fault:
        engine.dispose()
        if isinstance(fault, SQLAlchemyError):
            raise make_unusable_fault(place, fault) from fault
        raise


def _check_rescued(path: Path) -> None:
    """Check that no store is begun anew beside what was saved of the one before.

    Raises:
        OperatorFault: a gateway saved it when its store was taken away, and nobody looked since.
    """
    saved = sqlite.find_rescued(path)
    if saved is not None and not path.exists():
        fault = OperatorFault(
            f"the database {path} is missing, and {saved} is the copy that a gateway saved when "
            "it disappeared; with a new database everything spent would be forgotten, and spent "
            f"again. Put the copy back: mv {saved} {path}; or, to forget all of it, move the "
            "copy elsewhere"
        )
        fault.status = 4  # no service manager is to start us again before somebody has looked
        raise fault


def _make(engine: Engine, place: Place, site: str) -> None:
    """Make the tables of a new store.

    Raises:
        OperatorFault: others are there: of a database that many use, by the names of ours.
    """
    with engine.begin() as connection:
        _lock(connection)
        found = set(inspect(connection).get_table_names())
        if "about" in found:
            return  # somebody else was quicker
        if others := found if isinstance(place, Path) else found & METADATA.tables.keys():
            raise OperatorFault(
                f"the database {place} already holds tables of another program "
                f"({min(others)}), and heatveil needs one of its own. Name another "
                f"{_name_store_setting(place)}"
            )
        METADATA.create_all(connection)
        connection.execute(insert(about).values(schema=SCHEMA, site=site))


_COPIES = 4  # a copy, the tables anew, and in SQLite's log twice as much


def _migrate_store(engine: Engine, place: Place, found: int) -> None:
    """Change an older store's tables to ours, all of them or none; a copy is kept of a file.

    Raises:
        OperatorFault: the disk has no room for it.
    """
    kept = "by pg_dump alone, if at all"
    if isinstance(place, Path):
        needed = _COPIES * place.stat().st_size
        free = sqlite.measure_free_bytes(place)
        if free is not None and free < needed:
            raise OperatorFault(
                f"the database {place} is of an earlier version and has to be written anew, for "
                f"which the disk needs {needed // 1_000_000 + 1} MB and has "
                f"{free // 1_000_000} MB free. Make room, and start again; nothing has changed"
            )
        log.info("brings the store up to the current schema; a large one takes minutes", was=found)
        copy = place.with_name(f"{place.name}.schema{found}")
        sqlite.backup_store(place, copy, again=True)
        kept = copy.name
    with engine.begin() as connection:
        _lock(connection)
        if _read_schema(connection) == found:  # and no other worker was quicker
            migrate_tables(connection, found, SCHEMA)
    log.info("migrated the store to the current schema", was=found, schema=SCHEMA, copy=kept)


def _read_schema(connection: Any) -> int:
    found: int = connection.scalar(select(about.c.schema))
    return found


def check_is_ours(connection: Any, place: Place, site: str) -> None:
    """See that a store is ours.

    Raises:
        OperatorFault: it is another heatveil's, or another site's.
    """
    found = _read_schema(connection)
    if found != SCHEMA:
        raise OperatorFault(
            f"the database {place} has schema {found}, and this version of heatveil knows schema "
            f"{SCHEMA}: it would misread what was spent. Run the version that wrote it, or "
            f"name another {_name_store_setting(place)}"
        )
    _check_owner(connection, place, site)


def _check_owner(connection: Any, place: Place, site: str) -> None:
    owner = connection.scalar(select(about.c.site))
    if owner != site:
        raise OperatorFault(
            f"the database {place} belongs to site {owner}, not to {site}: what one room's people "
            f"have spent is not another's. Name another {_name_store_setting(place)}"
        )


def make_unusable_fault(place: Place, fault: SQLAlchemyError) -> OperatorFault:
    """Return what to tell whoever named a place where no store can be opened."""
    why = " ".join(str(getattr(fault, "orig", fault)).split())
    need = "a writable SQLite file" if isinstance(place, Path) else "one that we may write to"
    return OperatorFault(
        f"the database {place} cannot be opened ({why}); it must be {need}, because nothing is "
        f"acknowledged before it is stored. Mend "
        f"{_name_store_setting(place).removeprefix('file under ')} in the deployment file"
    )


def _name_store_setting(place: Place) -> str:
    return "file under [site] database" if isinstance(place, Path) else "[store] postgresql"


def _lock(connection: Any) -> None:
    """Let nobody else make or change tables until this transaction ends; SQLite does so itself."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": OPENING})


LOOK_S = 1.0
# Of the server: a leader whose machine has lost its power says no goodbye, and a server that does
# not ask whether it is still there would keep its lock, two hours by default.
NOTICED = {"tcp_keepalives_idle": 5, "tcp_keepalives_interval": 2, "tcp_keepalives_count": 3}


@contextmanager
def hold_database_lock(
    database: Database, taken: str, lost: Callable[[], None] | None
) -> Iterator[None]:
    """Hold the lock of a site's gateway for as long as the block lasts.

    Raises:
        OperatorFault: another holds it (`TakenFault`), or the database cannot be reached.
    """
    engine = postgres.make_engine(database).execution_options(isolation_level="AUTOCOMMIT")
    over = threading.Event()
    try:
        try:
            connection = _take(engine)
        except DBAPIError as fault:
            raise make_unusable_fault(database, fault) from fault
        if connection is None:
            raise TakenFault(taken)
        words = (engine, connection, over, lost)
        keeper = threading.Thread(target=_keep, args=words, name="lock", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            over.set()
            keeper.join()
    finally:
        engine.dispose()


def _take(engine: Engine) -> Connection | None:
    """Return a connection that holds the lock, or None where another does."""
    connection = engine.connect()
    try:
        where = connection.scalar(text("SELECT current_schema()"))
        digest = sha256(f"heatveil/{where}/".encode()).digest()
        key = int.from_bytes(digest[:8], "big", signed=True)
        for name, value in NOTICED.items():
            connection.execute(text(f"SET {name} = {value}"))
        ours = connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": key})
    except BaseException:
        connection.close()
        raise
    if ours:
        return connection
    connection.close()
    return None


def _keep(
    engine: Engine,
    connection: Connection | None,
    over: threading.Event,
    lost: Callable[[], None] | None,
) -> None:
    """Look that the lock is still held, and take it again when the server forgot it."""
    told = False
    while not over.wait(LOOK_S):
        try:
            if connection is not None:
                connection.scalar(text("SELECT 1"))
                continue
            connection = _take(engine)
        except DBAPIError:
            _let_go(connection)
            connection = None
            continue
        if connection is None and not told:
            told = True
            log.error("another gateway took over the database while this one could not reach it")
            if lost is not None:
                lost()
    if connection is not None:  # by itself the server sees a moment later that we have gone
        with suppress(DBAPIError):
            connection.scalar(text("SELECT pg_advisory_unlock_all()"))
    _let_go(connection)


def _let_go(connection: Connection | None) -> None:
    """Close a connection, and not only return it to those that are used again: it has the lock."""
    if connection is not None:
        connection.invalidate()
        connection.close()


@contextmanager
def lock_file(lock: Path, unusable: str, taken: str) -> Iterator[None]:
    """Hold a lock file against every other process, for as long as the block lasts.

    Args:
        unusable: what to say where the file cannot be opened; `{why}` is put in.
        taken: what to say where another process holds it.

    Raises:
        OperatorFault: one of the two.
    """
    try:
        opened = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise OperatorFault(unusable.replace("{why}", str(fault.strerror))) from fault
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as fault:
        os.close(opened)
        raise TakenFault(taken) from fault
    try:
        yield
    finally:
        os.close(opened)


def locate_lock(place: Path) -> Path:
    """Return the file that a gateway holds beside its database."""
    real = place.resolve()
    return real.with_name(real.name + ".lock")


@contextmanager
def lock_store(place: Place, *, lost: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold a site's store against every other gateway, for as long as the block lasts.

    In a folder the lock is on a file beside the database: SQLite's own are on it, and come and
    go. At PostgreSQL it is an advisory lock, which goes with our connection.

    Args:
        lost: called, on another thread, when another gateway took the lock while PostgreSQL was
            out of reach.

    Raises:
        OperatorFault: another gateway holds it, or there is no such place.
    """
    taken = (
        f"another gateway runs on the database {place}; one at a time may, for two would "
        "throw each other off the broker and open rounds behind each other's back. Stop the "
        "other one first"
    )
    if not isinstance(place, Path):
        with hold_database_lock(place, taken, lost):
            yield
        return
    beside = locate_lock(place)
    unusable = (
        f"the database {place} cannot be locked: {beside} cannot be written ({{why}}); the "
        "lock keeps a second gateway off, which would throw the first off the broker. Mend "
        "[site] database in the deployment file, or its folder"
    )
    with lock_file(beside, unusable, taken):
        yield
