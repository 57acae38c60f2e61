"""One gateway to a database: a lock that goes with the process, however it ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .faults import OperatorFault


@contextmanager
def alone(database: Path) -> Iterator[None]:
    """Hold a site's database against every other gateway, for as long as the block lasts.

    The lock is on a file beside it: SQLite's own are on the database, and come and go.

    Raises:
        OperatorFault: another gateway holds it, or there is no such place.
    """
    real = database.resolve()
    beside = real.with_name(real.name + ".lock")
    try:
        lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise OperatorFault(
            f"the database {database} cannot be locked: {beside} cannot be written "
            f"({fault.strerror}); the lock keeps a second gateway off, which would throw "
            "the first off the broker. Mend [site] database in the deployment file, or its folder"
        ) from fault
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as fault:
        os.close(lock)
        raise OperatorFault(
            f"another gateway runs on the database {database}; one at a time may, for two would "
            "throw each other off the broker and open rounds behind each other's back. Stop the "
            "other one first"
        ) from fault
    try:
        yield
    finally:
        os.close(lock)
