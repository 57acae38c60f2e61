"""What the flags of every mechanism's query share: shapes, grids, and faults as the operator's."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from edge.records import Grid, Round

from ..faults import OperatorFault

_SHAPE = re.compile(r"([0-9]{1,7})(?:x([0-9]{1,7}))?", re.ASCII)


def shape(text: str, flag: str) -> tuple[int, int]:
    """Return (columns, rows) of N or NxM.

    >>> shape("100", "--cells"), shape("40x30", "--cells")
    ((100, 1), (40, 30))
    """
    match = _SHAPE.fullmatch(text.strip())
    columns, rows = (int(match[1]), int(match[2] or 1)) if match else (0, 0)
    if not (columns and rows):
        raise OperatorFault(
            f"{flag} {text} is no count; it must be a whole number from 1 to 9999999, or two with "
            "an x between, for it lays out the room. Write 100 for a line and 40x30 for a plane"
        )
    return columns, rows


def grid(cells: str, length: float | None, flag: str = "--cells") -> Grid:
    """Return the grid of so many cells (by that flag), so many metres long or on the unit line."""
    columns, rows = shape(cells, flag)
    if length is None:
        return Grid((columns, rows), 0)
    cell_mm = 1000 * length / columns
    if not 1 - 1e-9 <= cell_mm < 1e9 or abs(cell_mm - round(cell_mm)) > 1e-6:
        raise OperatorFault(
            f"--length {length:g} divided by {columns} cells is {cell_mm:g} mm; a cell must be "
            "whole millimetres, for every device must know the same one. Choose a length that "
            "the cells divide"
        )
    return Grid((columns, rows), round(cell_mm))


@contextmanager
def undrawn() -> Iterator[None]:
    """Turn what an estimator cannot do, in this room or with these readings, into that too.

    Raises:
        OperatorFault: there is no drawing this map.
    """
    try:
        yield
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault


@contextmanager
def refused() -> Iterator[None]:
    """Turn what a plan objects to into the operator's fault.

    Raises:
        OperatorFault: the query cannot be served.
    """
    try:
        with np.errstate(over="raise"):
            yield
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault
    except ArithmeticError as fault:
        raise OperatorFault(
            f"the query leads to numbers that cannot be computed with ({fault}); noise must be a "
            "whole number, or no device can draw it. Lower intensity_max or what else is huge"
        ) from fault


def first_round_of(query: Any, asks: Callable[[Any, Any], Round | None]) -> Round:
    """Return what the query asks first; asks: the plan of its mechanism.

    Raises:
        OperatorFault: it cannot be served.
    """
    with refused():
        round = asks(query, [])
    if round is None:
        raise RuntimeError("a query of one reading at least plans no round")
    return round
