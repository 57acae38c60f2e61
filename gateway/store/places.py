"""Where a store is: a file of SQLite's, or a database of PostgreSQL's; and waiting for either.

That a backup holds the file, or that there is no room, is nobody's fault and passes, so the answer
is to try again. Whatever else the database objects to is a message's fault, or ours, and another
attempt would end alike.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec, TypeVar

from sqlalchemy.exc import DatabaseError, DBAPIError, OperationalError

from ..logs import log
from ..settings.deployment import Deployment


@dataclass(frozen=True)
class Database:
    """A database at PostgreSQL; what it says of itself never holds a secret."""

    words: str = field(repr=False)  # libpq's, or an address; without the password
    password_file: Path | None = None

    def __str__(self) -> str:
        return "at PostgreSQL"


Place = Path | Database


def find_place(deployment: Deployment) -> Place:
    """Return where a deployment keeps what comes."""
    if deployment.store.postgresql is None:
        return deployment.site.database
    return Database(deployment.store.postgresql, deployment.store.password_file)


def has_store(deployment: Deployment) -> bool:
    """Return whether there is a store to look into: looking must not make one."""
    return deployment.store.postgresql is not None or deployment.site.database.exists()


AGAIN_S = 0.2
# PostgreSQL's: it is read only for now, a transaction was cancelled by its neighbours.
PASSING = ("25006", "40001", "40P01")
P = ParamSpec("P")
T = TypeVar("T")


class Stopped(Exception):
    """Whoever waited for the disk was told to stop; nothing was written."""


def is_disk_fault(fault: BaseException) -> bool:
    """Return whether this is the database's trouble: locked, full, broken, out of reach."""
    if isinstance(fault, DBAPIError) and fault.connection_invalidated:
        return True
    state = getattr(getattr(fault, "orig", None), "sqlstate", None)
    return isinstance(fault, OperationalError) or type(fault) is DatabaseError or state in PASSING


def describe_fault(fault: DBAPIError) -> str:
    """Return what a database objects to: the first line, for PostgreSQL names rows in others."""
    return str(fault.orig).strip().partition("\n")[0].strip()


def retry_until_stored(
    stopping: threading.Event, do: Callable[P, T], *args: P.args, **words: P.kwargs
) -> T:
    """Return what it returns, once the disk lets it. Not to be called under a lock.

    Raises:
        Stopped: we were told to stop first.
    """
    while True:
        try:
            return do(*args, **words)
        except DBAPIError as fault:
            if not is_disk_fault(fault):
                raise
            if stopping.is_set():
                raise Stopped from fault
            log.warning("the store does not answer, trying again", why=describe_fault(fault))
            stopping.wait(AGAIN_S)
