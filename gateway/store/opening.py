"""The store opened: only where it is ours, with its tables in it."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import Engine, insert, inspect, select, text
from sqlalchemy.exc import SQLAlchemyError

from ..faults import OperatorFault
from . import postgres, sqlite
from .identity import Identity
from .migrations import OLDEST, bring_up
from .places import Place
from .schema import METADATA, SCHEMA, about

log = structlog.get_logger()
OPENING = 0x68656174  # of the advisory lock under which tables are made


def opened(place: Place, site: str) -> tuple[Engine, Engine, Identity]:
    """Return an engine for writing and one for reading, on a store with this site's tables.

    And what looks, at each commit, whether it still is that store.

    Raises:
        OperatorFault: it cannot be opened, is no store, is another site's or another heatveil's.
    """
    if isinstance(place, Path):
        _check_rescued(place)
        with suppress(OSError):  # where it cannot be written, SQLite says so
            sqlite.keep_private(place)
    engine = sqlite.engine(place) if isinstance(place, Path) else postgres.engine(place)
    # A reading method sees one moment, however many questions it asks.
    moment = {} if isinstance(place, Path) else {"isolation_level": "REPEATABLE READ"}
    reads = engine.execution_options(reading=True, **moment)
    try:
        with reads.begin() as connection:  # where all is well, whoever writes is not kept waiting
            there = inspect(connection).has_table("about")
        if not there:
            _made(engine, place, site)
        with reads.begin() as connection:
            found = _schema(connection)
            if found in range(OLDEST, SCHEMA):
                _check_owner(connection, place, site)  # another's is not even brought up
        if found in range(OLDEST, SCHEMA):
            _brought_up(engine, place, found)
        with reads.begin() as connection:
            check(connection, place, site)
        return engine, reads, Identity(engine, place)
    except BaseException as fault:
        engine.dispose()
        if isinstance(fault, SQLAlchemyError):
            raise unusable(place, fault) from fault
        raise


def _check_rescued(path: Path) -> None:
    """Check that no store is begun anew beside what was saved of the one before.

    Raises:
        OperatorFault: a gateway saved it when its store was taken away, and nobody looked since.
    """
    saved = sqlite.rescued(path)
    if saved is not None and not path.exists():
        fault = OperatorFault(
            f"{path} is not there, and {saved} holds what a gateway saved when it was taken away: "
            "begun anew, the ledger would give back what is spent. Put it back: mv "
            f"{saved} {path}; or move it elsewhere, if all of that is to be forgotten"
        )
        fault.status = 4  # no service manager is to start us again before somebody has looked
        raise fault


def _made(engine: Engine, place: Place, site: str) -> None:
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
                f"the database {place} holds another program's tables ({min(others)}) and must "
                "hold ours alone: neither would understand the other. Name another "
                f"{_under(place)}"
            )
        METADATA.create_all(connection)
        connection.execute(insert(about).values(schema=SCHEMA, site=site))


def _brought_up(engine: Engine, place: Place, found: int) -> None:
    """Change an older store's tables to ours, all of them or none; a copy is kept of a file."""
    kept = "by pg_dump alone, if at all"
    if isinstance(place, Path):
        copy = place.with_name(f"{place.name}.schema{found}")
        sqlite.backup(place, copy, again=True)
        kept = copy.name
    with engine.begin() as connection:
        _lock(connection)
        if _schema(connection) == found:  # and no other worker was quicker
            bring_up(connection, found, SCHEMA)
    log.info("the store was brought up to date", was=found, schema=SCHEMA, copy=kept)


def _schema(connection: Any) -> int:
    found: int = connection.scalar(select(about.c.schema))
    return found


def check(connection: Any, place: Place, site: str) -> None:
    """See that a store is ours.

    Raises:
        OperatorFault: it is another heatveil's, or another site's.
    """
    found = _schema(connection)
    if found != SCHEMA:
        raise OperatorFault(
            f"the database {place} holds schema {found}, and this heatveil knows schema "
            f"{SCHEMA}: it would misread what was spent. Run the heatveil that wrote it, or "
            f"name another {_under(place)}"
        )
    _check_owner(connection, place, site)


def _check_owner(connection: Any, place: Place, site: str) -> None:
    owner = connection.scalar(select(about.c.site))
    if owner != site:
        raise OperatorFault(
            f"the database {place} belongs to site {owner}, not to {site}: what one room's people "
            f"have spent is not another's. Name another {_under(place)}"
        )


def unusable(place: Place, fault: SQLAlchemyError) -> OperatorFault:
    """Return what to tell whoever named a place where no store can be opened."""
    why = " ".join(str(getattr(fault, "orig", fault)).split())
    need = "a writable SQLite file" if isinstance(place, Path) else "one that we may write to"
    return OperatorFault(
        f"the database {place} cannot be opened ({why}); it must be {need}, because nothing is "
        f"acknowledged before it is stored. Mend {_under(place).removeprefix('file under ')} in "
        "the deployment file"
    )


def _under(place: Place) -> str:
    return "file under [site] database" if isinstance(place, Path) else "[store] postgresql"


def _lock(connection: Any) -> None:
    """Let nobody else make or change tables until this transaction ends; SQLite does so itself."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": OPENING})
