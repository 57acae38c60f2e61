"""The table of mechanisms as the command line knows them, one line each."""

from typing import Any

from .. import mechanisms
from .disk.act import DISK
from .record import Act
from .thermal.act import THERMAL

ACTS: tuple[Act, ...] = (THERMAL, DISK)


def named(name: str) -> Act:
    """Return what the command line knows of the mechanism of that name.

    Raises:
        OperatorFault: there is no such mechanism.
    """
    known = mechanisms.named(name).name
    return next(act for act in ACTS if act.name == known)


def of(query: Any) -> Act:
    """Return the mechanism that a query is of."""
    return next(act for act in ACTS if isinstance(query, act.query))
