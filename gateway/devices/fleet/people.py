"""People with a device each that answers its place: a fleet of `edge`'s own devices.

Everything from the cell to the frame is the code that a device of theirs would run. Only where
they stand is virtual.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.core.node import Node


class Member(NamedTuple):
    """What such a device is made of, in the order in which a `Node` takes it."""

    identity: Any
    budget: Any
    step: None = None  # a place has no converter, no level to follow, and no noise from tables
    follower: None = None
    tables: bool = False
    mechanism: str | None = None


class People:
    """Devices by name, and where each of them is; they answer Rounds by themselves.

    Args:
        devices: who they are, and what they may spend: `budgets` starts them.
        cells: (answers, people), flat and x fastest: where everybody is at their first answer,
            their second, and so on; at more than there are they stay where they are.
        columns: of the map that these are cells of.
        mechanism: what they answer.

    Raises:
        ValueError: a device of somebody who is not there, or two of one name.
    """

    def __init__(
        self,
        devices: Iterable[tuple[Any, Any]],
        cells: NDArray[np.int64],
        columns: int,
        mechanism: str,
    ) -> None:
        self._cells, self._columns = cells, columns
        self._members: dict[str, Member] = {}
        self._nodes: dict[str, Node] = {}
        self._answers: dict[str, int] = {}
        for who, budget in devices:
            if who.name in self._members or not 0 <= who.sensor < cells.shape[1]:
                raise ValueError(
                    f"device {who.name!r} is that of person {who.sensor} and is there twice, or "
                    f"nobody is: there are people 0 to {cells.shape[1] - 1}, and each answers "
                    "for one place. Enrol the fleet again, or name points of more people"
                )
            self._members[who.name] = Member(who, budget, mechanism=mechanism)

    @property
    def names(self) -> tuple[str, ...]:
        """Whose devices there are, in the order in which they came."""
        return tuple(self._members)

    def node(self, name: str) -> Any:
        """Return the device itself, an `edge.core.node.Node`."""
        if name not in self._nodes:
            self._nodes[name] = Node(*self._members[name])
        return self._nodes[name]

    def member(self, name: str) -> Member:
        """Return what a device is made of, for whoever runs it as an `edge.net.device.Device`."""
        return self._members[name]

    def starts_again(self, name: str, budget: Any) -> None:
        """Let a device begin anew with a budget that has booted; its owner stays in place."""
        self._members[name] = self._members[name]._replace(budget=budget)
        self._nodes.pop(name, None)

    def read(self, name: str, params: Any) -> tuple[int, int]:
        """Return the cell (x, y) in which a device is now, whatever is asked of it. Private."""
        answer = self._answers.get(name, 0)
        self._answers[name] = answer + 1
        row = self._cells[min(answer, len(self._cells) - 1)]
        cell = int(row[self._members[name].identity.sensor])
        return cell % self._columns, cell // self._columns
