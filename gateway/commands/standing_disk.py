"""Where the people of `heatveil fleet` are: at the points of a file, or of an example."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..faults import OperatorFault
from ..virtual.people import People
from .act import EXAMPLES, Inputs
from .crowd import crowd_of

FIRST = EXAMPLES[-1]  # of which there is one where nothing was said: three crowds of people


@dataclass(frozen=True)
class Crowd:
    """People who stand where they were put, with a device each."""

    query: Any
    cells: Any  # (answers, people), flat
    outside: str

    def fleet(self, devices: Iterable[Any]) -> People:
        """Return devices that answer for these people.

        Raises:
            OperatorFault: there are more devices than people.
        """
        try:
            return People(devices, self.cells, self.query.grid.shape[0])
        except ValueError as fault:
            raise OperatorFault(str(fault)) from fault

    def living(self, fleet: People) -> AbstractContextManager[str]:
        """Let nothing pass, and say who stands elsewhere than it seems."""
        return nullcontext(self.outside)


def stand(query: Any, seen: Any, people: int, world: np.random.Generator) -> Crowd:
    """Return where people are: three crowds where nothing was said.

    Args:
        people: how many devices the deployment has.

    Raises:
        OperatorFault: a flag or a file is wrong, or has fewer people than there are devices.
    """
    given = [name for name in seen._fields if name != "points" and getattr(seen, name) is not None]
    if given:
        flag = {"since": "--from"}.get(given[0], f"--{given[0].replace('_', '-')}")
        raise OperatorFault(
            f"{flag} came and the deployment asks where people are, who are not warm here: it "
            "would do nothing unnoticed. Give --points FILE.csv instead, or an example: "
            f"{', '.join(EXAMPLES)}"
        )
    points = seen.points or FIRST
    found = crowd_of(
        query, Inputs(points=points, users=people * (points in EXAMPLES) or None), world
    )
    if found.cells.shape[1] < people:
        raise OperatorFault(
            f"{points} has {found.cells.shape[1]} people and the deployment {people} devices; "
            "each device is somebody's, and one of nobody has no place to answer. Set [disk] "
            "devices to as many as there are people, or name points of more"
        )
    clauses = _left_over(points, found.cells.shape[1], people), found.beyond()
    return Crowd(query, found.cells, "; ".join(filter(None, clauses)))


def _left_over(points: str, there: int, people: int) -> str:
    """Return a clause about people for whom there is no device; empty without any."""
    if there == people:
        return ""
    return (
        f"{points} has {there} people and the deployment {people} devices: the first {people} "
        "have one, and the others are not asked"
    )
