"""What the sensors of a room feel of who is where, and of who is elsewhere: a room's response.

For rooms that no heat kernel describes, with partitions, doors, windows, and people who stay for
hours and walk. It is made from a model of the room, see `physics.rooms.respond`, and knows
nothing of that any more: plain arrays, in kelvin per watt.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Grid

from .displaced import Displaced
from .places import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Response:
    """How a room answers heat. Equal only to itself, so that work on it can be kept.

    Args:
        grid: the cells of the map.
        places_m: (sensors, 2), where the thermometers are.
        open_cells: (cells,), where one can stand.
        operator: (sensors, cells), kelvin per watt at the reading of a source that stood in
            that cell for `hold_s` up to it, and not before.
        hold_s: that time.
        lasts_s: how far back warmth counts: to the start of the day, when the room is at its
            baseline and nobody is there.
        far_cells: (distances,), in sides of a cell, growing; the last is the whole room.
        changes: at each of these, of one watt on any path and a path that is displaced by at
            most so much at every moment; and of one watt that comes, wherever it goes.
        name: of the room.
        doors: how they stood, in a clause.
        through_walls: the paths are displaced through walls too, and not only through air.
        proof: how the changes of all sensors together were bounded, in a clause.
        others: (times, sensors, cells), the operator of who stood there less long, or longer.

    Raises:
        ValueError: arrays that do not fit each other, or are not finite.
    """

    grid: Grid
    places_m: Floats
    open_cells: NDArray[np.bool_]
    operator: Floats
    hold_s: float
    lasts_s: float
    far_cells: tuple[int, ...]
    changes: Displaced
    name: str = "room"
    doors: str = "no door moving"
    through_walls: bool = True
    proof: str = "each lag at its worst"
    others: Floats | None = None

    def __post_init__(self) -> None:
        sensors, far = len(self.places_m), len(self.far_cells)
        columns, rows = self.grid.shape
        for what, part, shape in (
            ("places_m", self.places_m, (sensors, 2)),
            ("open_cells", self.open_cells, (columns * rows,)),
            ("operator", self.operator, (sensors, columns * rows)),
            ("changes.joint", self.changes.joint, (far,)),
            ("changes.each", self.changes.each, (far, sensors)),
            ("changes.presence_each", self.changes.presence_each, (sensors,)),
        ):
            if part.shape != shape or not sensors or not np.isfinite(part).all():
                raise ValueError(
                    f"{what} has shape {part.shape} but must be finite and {shape}, with a sensor "
                    "at least: noise is scaled to it. Make the response anew from its room."
                )
        if not self.grid.cell_mm or np.any(np.diff((0, *self.far_cells)) < 1):
            raise ValueError(
                f"the cells are of {self.grid.cell_mm} mm and the distances {self.far_cells} "
                "cells but the one must be positive and the others growing, for a room has a "
                "size. Make the response anew from its room."
            )

    @property
    def digest(self) -> str:
        """What tells this response from others, in eight hexadecimal digits.

        Promises that rest on different models must read differently. How much of a change was
        proved is no part of it: a better proof of the same promise is the same promise.
        """
        scales = (self.grid, self.hold_s, self.lasts_s, self.far_cells, self.doors, self.name)
        said = hashlib.sha256(repr((*scales, self.through_walls)).encode())
        said.update(np.ascontiguousarray(self.open_cells).tobytes())
        # To six digits: the last ones are another machine's, and the promise is the same there.
        for part in (self.places_m, *self.changes[1:]):
            said.update(" ".join(f"{value:.6g}" for value in np.ravel(part)).encode())
        return said.hexdigest()[:8]

    def find_distance(self, cells: int) -> int:
        """Return which distance covers a displacement by so many sides of a cell.

        Raises:
            ValueError: there is none, for the room is smaller.
        """
        for nth, far in enumerate(self.far_cells):
            if cells <= far:
                return nth
        raise ValueError(
            f"a displacement by {cells} cells was asked for but the room's response tells of "
            f"{self.far_cells[-1]} at the most: no noise can be scaled to what is not known. "
            "Protect a shorter distance."
        )


def pick_worst(responses: Sequence[Response]) -> Response:
    """Return the first of these, with the changes that are enough for any of them.

    One medium for each state of the doors, or one reading for each moment of a day: noise that
    is enough for the greatest change is enough for each.

    Raises:
        ValueError: none, or of different rooms, sensors or distances.
    """
    if (
        not responses
        or len({(x.grid, x.far_cells, len(x.places_m), x.through_walls) for x in responses}) > 1
    ):
        raise ValueError(
            f"{len(responses)} responses were given but at least one is needed, all of one grid "
            "with the same sensors and distances, all through walls or none: others cannot be "
            "compared. Make them of one room."
        )
    changes = [one.changes for one in responses]
    return replace(
        responses[0],
        changes=Displaced(
            np.max([one.joint for one in changes], axis=0),
            np.max([one.each for one in changes], axis=0),
            max(one.presence for one in changes),
            np.max([one.presence_each for one in changes], axis=0),
        ),
    )
