"""What the responses of one room share, whatever the moment of the reading."""

from typing import NamedTuple

import numpy as np

from ..instruments.presets import named
from ..instruments.views import point_views
from ..pairs import Neighbours, neighbours
from .histories import ways
from .model import free, grid
from .raster import shape
from .records import Floats, Room

_SERIES = (1, 2, 5, 10, 20, 50)


class Known(NamedTuple):
    """A room, its thermometers, and how it is asked."""

    room: Room
    places: Floats  # (sensors, 2)
    lags: Floats  # (sensors,)
    views: Floats  # (sensors, rows, columns)
    cells: int  # the protected distance, in sides
    hold_s: float
    through_walls: bool
    found: dict[tuple[bool, ...], Neighbours]  # by the doors that are open

    def neighbours(self, opened: tuple[bool, ...]) -> Neighbours:
        """Return what paths can be displaced to while these doors are open."""
        if opened not in self.found:
            room = self.room
            far = int(np.ceil(np.hypot(*shape(room))))
            self.found[opened] = neighbours(
                free(room).reshape(shape(room)),
                sorted({self.cells, far, *(one for one in _SERIES if one < far)}),
                self.cells,
                None if self.through_walls else ways(room, opened),
            )
        return self.found[opened]


def known_of(room: Room, protect_distance_m: float, hold_s: float, through_walls: bool) -> Known:
    """Return what all responses of a room need.

    Raises:
        ValueError: a room without thermometers, or with arrays.
    """
    places, lags = _thermometers(room)
    views = point_views(places, grid(room)).reshape(len(places), *shape(room))
    cells = int(np.ceil(1000 * protect_distance_m / room.cell_mm - 1e-9))
    return Known(room, places, lags, views, cells, hold_s, through_walls, {})


def _thermometers(room: Room) -> tuple[Floats, Floats]:
    """Return where the thermometers are, (sensors, 2), and how far they lag, (sensors,)."""
    if room.arrays or not room.thermometers:
        raise ValueError(
            f"room {room.name} has {sum(len(one.places_m) for one in room.thermometers)} "
            f"thermometers and {len(room.arrays)} arrays, but the noise that is scaled to a room "
            "is that of thermometers alone: what an array sees is not bounded here. Give "
            "[thermometers], and no [[array]]."
        )
    places = [place for one in room.thermometers for place in one.places_m]
    lags = [named(one.kind).lag_s for one in room.thermometers for _ in one.places_m]
    return np.array(places, dtype=float), np.array(lags)
