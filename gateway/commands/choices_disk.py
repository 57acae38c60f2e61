"""From the words of a command line to a disk Query, or to a sentence that says why not."""

from collections.abc import Iterable, Mapping
from typing import Any

from edge.records import Round
from recovery.disk import plan
from recovery.disk.query import Query

from ..faults import OperatorFault
from .choices import first_round_of
from .choices import grid as grid_of
from .settings import given, ratio

# Fields of the query that --set does not give, and what does.
OTHER_FLAGS = {"grid": "--grid and --length"}


def query(
    *,
    grid: str = "15x15",
    length: float | None = None,
    epsilon: str = "1/1",
    estimator: str = "auto",
    settings: Iterable[str] | None = (),
) -> Query:
    """Return the query that the flags ask for.

    Args:
        settings: "name=value" for any further field, as --set gives it.

    Raises:
        OperatorFault: a flag or a setting has no meaning, alone or beside the others.
    """
    asked: dict[str, Any] = {
        "grid": grid_of(grid, length, "--grid"),
        "epsilon": ratio(epsilon, "--epsilon"),
        "estimator": estimator,
    }
    return checked(asked | given(settings or (), Query, OTHER_FLAGS))


def checked(asked: Mapping[str, Any]) -> Query:
    """Return the Query of these fields.

    Raises:
        OperatorFault: they have no meaning together.
    """
    try:
        return Query(**asked)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from fault


def first_round(query: Query) -> Round:
    """Return what the query asks first.

    Raises:
        OperatorFault: it cannot be asked.
    """
    return first_round_of(query, plan)
