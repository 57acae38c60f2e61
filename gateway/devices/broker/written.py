"""Files of a broker that are changed in place: whole or not at all, for whom they belong to."""

import os
from pathlib import Path

from ...faults import OperatorFault


def unreadable(path: Path, fault: Exception) -> OperatorFault:
    """Return the fault of a broker's file that is not one."""
    why = getattr(fault, "strerror", None) or str(fault)
    return OperatorFault(
        f"{path} cannot be read ({why}); it says who may come in at the broker, and must be as "
        "`heatveil broker init` or mosquitto wrote it. Mend it, or move it away and make it anew"
    )


def replace(path: Path, content: str) -> None:
    """Replace a file at once and flushed, with the mode and the owner that it had.

    Raises:
        OperatorFault: it cannot be written; the old one stays.
    """
    beside = path.with_name(path.name + ".new")
    try:
        had = path.stat()
        beside.unlink(missing_ok=True)
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            os.fchmod(file.fileno(), had.st_mode & 0o777)
            if os.geteuid() == 0:
                os.fchown(file.fileno(), had.st_uid, had.st_gid)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as fault:
        beside.unlink(missing_ok=True)
        raise OperatorFault(
            f"{path} cannot be written ({fault.strerror}); it says who may come in at the broker, "
            "and stays as it was. Make room, or run this as whom it belongs to"
        ) from fault
