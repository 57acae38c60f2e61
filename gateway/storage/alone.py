"""One process to a database or a folder: a lock that goes with the process, however it ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..faults import OperatorFault


@contextmanager
def held(lock: Path, unusable: str, taken: str) -> Iterator[None]:
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
        raise OperatorFault(taken) from fault
    try:
        yield
    finally:
        os.close(opened)


@contextmanager
def alone(database: Path) -> Iterator[None]:
    """Hold a site's database against every other gateway, for as long as the block lasts.

    The lock is on a file beside it: SQLite's own are on the database, and come and go.

    Raises:
        OperatorFault: another gateway holds it, or there is no such place.
    """
    real = database.resolve()
    beside = real.with_name(real.name + ".lock")
    unusable = (
        f"the database {database} cannot be locked: {beside} cannot be written ({{why}}); the "
        "lock keeps a second gateway off, which would throw the first off the broker. Mend "
        "[site] database in the deployment file, or its folder"
    )
    taken = (
        f"another gateway runs on the database {database}; one at a time may, for two would "
        "throw each other off the broker and open rounds behind each other's back. Stop the "
        "other one first"
    )
    with held(beside, unusable, taken):
        yield
