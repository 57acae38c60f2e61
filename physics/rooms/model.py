"""A room as heat sees it: its cells, what they are made of, and what drives them.

Differs from a real room:
1. A plan: floor, ceiling and height are one, and warm air does not rise. What furniture, floor
   and ceiling store is a factor on the capacity of the air.
2. Air is stirred evenly and goes nowhere: no draught, no plume, and an open door is a gap.
3. Of what people give off, only what heats the air at once; what they radiate is left out.
"""

from functools import lru_cache

import numpy as np

from edge.records import Grid

from ..air import AIR_J_PER_M3K
from ..diffusion.medium import Drive, Medium
from . import courses
from .footprint import covering, spread, trod
from .materials import MATERIALS, across
from .raster import (
    Cells,
    Mask,
    door_cells,
    door_wall,
    is_upright,
    layout,
    shape,
    wall_cells,
)
from .records import Floats, Room, Wall
from .sides import beyond_k, film
from .tracks import Day


def grid(room: Room) -> Grid:
    """Return the cells of the room, for the map."""
    return Grid(shape(room)[::-1], room.cell_mm)


def free(room: Room) -> Mask:
    """Return the cells where one can stand, (cells,): no wall and no furniture; doors are free."""
    plan = layout(room)
    return np.asarray(~(plan.walls | plan.furniture)).ravel()


def medium(room: Room, at_s: float) -> Medium:
    """Return what heat moves through at a moment.

    It is the same object whenever the same doors are open, so that what is worked out for it
    can be kept.
    """
    return _medium(room, tuple(door.is_open(at_s) for door in room.doors))


def media(room: Room, from_s: float, to_s: float) -> Medium:
    """Return what heat moves through over a step: the doors are as they are in its middle."""
    return medium(room, (from_s + to_s) / 2)


def drive(room: Room, day: Day, from_s: float, to_s: float) -> Drive:
    """Return what drives the temperatures over a step: people, heaters and weather, as means."""
    still = empty(room, from_s, to_s)
    return still._replace(power_w=still.power_w + heat(room, day, from_s, to_s))


def empty(room: Room, from_s: float, to_s: float) -> Drive:
    """Return what drives the room while nobody is there: heaters and weather alone."""
    power = np.zeros(shape(room))
    for heater, share in zip(room.heaters, _shares(room), strict=True):
        power += heater.power_w * courses.share(heater.on_s, from_s, to_s) * share
    west, east, north, south = (
        beyond_k(room, side, from_s, to_s) for side in ("west", "east", "north", "south")
    )
    supply = courses.mean(room.air.supply_c, from_s, to_s) - room.air.baseline_c
    return Drive(power, ((west, east), (north, south)), supply)


def heat(room: Room, day: Day, from_s: float, to_s: float) -> Floats:
    """Return the watts of people in each cell, (rows, columns), as the mean over a step.

    All that they give off is there, to round-off: this is the truth that maps are held against.
    """
    trodden = [trod(track, from_s, to_s) for track in day.tracks]
    trodden = [pair for pair in trodden if len(pair[1])]
    if not trodden:
        return np.zeros(shape(room))
    places, joules = (np.concatenate(part) for part in zip(*trodden, strict=True))
    return spread(room, places, joules) / (to_s - from_s)


@lru_cache(maxsize=64)
def _medium(room: Room, opened: tuple[bool, ...]) -> Medium:
    air, cell_m = room.air, room.cell_mm / 1000
    stirred = AIR_J_PER_M3K * np.array(
        [air.mixing_m2_per_s, air.capacity_factor, air.air_changes_per_h / 3600]
    )
    # Conductivity, capacity and loss of each cell: air, then walls, then the doors in them.
    cells = np.broadcast_to(stirred[:, None, None], (3, *shape(room))).copy()
    for wall in room.walls:
        place = wall_cells(room, wall)
        cells[:, *place] = _solid(wall, place, wall.material, wall.thickness_mm, cell_m)
    for door, is_open in zip(room.doors, opened, strict=True):
        place = door_cells(room, door)
        index = door_wall(room, door)
        if is_open:
            cells[:, *place] = stirred[:, None, None]
        elif index is not None:
            wall = room.walls[index]
            cells[:, *place] = _solid(wall, place, "wood", door.thickness_mm, cell_m)
    west, east, north, south = (film(room, side) for side in ("west", "east", "north", "south"))
    films = ((west, east), (north, south))
    conductivity, capacity, loss = cells
    return Medium((cell_m, cell_m), conductivity, capacity, loss, films, room.height_m)


def _solid(wall: Wall, place: Cells, material: str, thickness_mm: float, cell_m: float) -> Floats:
    depth = place[1] if is_upright(wall) else place[0]
    drawn_m = (depth.stop - depth.start) * cell_m
    made = across(MATERIALS[material], thickness_mm / 1000, drawn_m)
    # No fresh air in a wall.
    return np.array([made.conductivity_w_per_mk, made.capacity_j_per_m3k, 0.0])[:, None, None]


@lru_cache(maxsize=8)
def _shares(room: Room) -> tuple[Floats, ...]:
    return tuple(covering(room, heater.rect_m) for heater in room.heaters)
