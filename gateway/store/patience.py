"""Trying again while the disk will not: a backup holds the file, or there is no room.

That is nobody's fault and passes, so the answer is to wait. Whatever else the database objects
to is a message's fault, or ours, and another attempt would end alike.
"""

import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import structlog
from sqlalchemy.exc import DatabaseError, DBAPIError, OperationalError

AGAIN_S = 0.2
# PostgreSQL's: it is read only for now, a transaction was cancelled by its neighbours.
PASSING = ("25006", "40001", "40P01")
P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger()


class Stopped(Exception):
    """Whoever waited for the disk was told to stop; nothing was written."""


def of_the_disk(fault: BaseException) -> bool:
    """Return whether this is the database's trouble: locked, full, broken, out of reach."""
    if isinstance(fault, DBAPIError) and fault.connection_invalidated:
        return True
    state = getattr(getattr(fault, "orig", None), "sqlstate", None)
    return isinstance(fault, OperationalError) or type(fault) is DatabaseError or state in PASSING


def patiently(
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
            if not of_the_disk(fault):
                raise
            if stopping.is_set():
                raise Stopped from fault
            log.warning(
                "the store does not answer, trying again", why=" ".join(str(fault.orig).split())
            )
            stopping.wait(AGAIN_S)
