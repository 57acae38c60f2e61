"""A room as heat sees it: its cells, what they are made of, and what drives them.

Differs from a real room:
1. A plan: floor, ceiling and height are one, and warm air does not rise. What furniture, floor
   and ceiling store is a factor on the capacity of the air.
2. Air is stirred evenly and goes nowhere: no draught, no plume, and an open door is a gap.
3. Of what people give off, only what heats the air at once; what they radiate is left out.
4. A wall of one cell takes heat up late: `materials.across` says by how much, and four cells
   across it are enough. Air that is stirred has the conductivity of bare air times the mixing:
   what stores heat with it makes its temperature spread as many times slower.
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
    return standing(room, tuple(door.is_open(at_s) for door in room.doors))


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
def standing(room: Room, opened: tuple[bool, ...]) -> Medium:
    """Return what heat moves through while these doors are open, and no other."""
    air, cell_m = room.air, room.cell_mm / 1000
    stirred = AIR_J_PER_M3K * np.array(
        [air.mixing_m2_per_s, air.capacity_factor, air.air_changes_per_h / 3600]
    )
    # Conductivity, capacity and loss of each cell: air, then walls, then the doors in them.
    cells = np.broadcast_to(stirred[:, None, None], (3, *shape(room))).copy()
    for wall in room.walls:
        place = wall_cells(room, wall)
        cells[:, *place] = _solid(room, wall, place, wall.material, wall.thickness_mm)
    for door, is_open in zip(room.doors, opened, strict=True):
        place = door_cells(room, door)
        index = door_wall(room, door)
        if is_open:
            cells[:, *place] = stirred[:, None, None]
        elif index is not None:
            wall = room.walls[index]
            cells[:, *place] = _solid(room, wall, place, "wood", door.thickness_mm)
    west, east, north, south = (film(room, side) for side in ("west", "east", "north", "south"))
    films = ((west, east), (north, south))
    conductivity, capacity, loss = cells
    return Medium((cell_m, cell_m), conductivity, capacity, loss, films, room.height_m)


def _solid(room: Room, wall: Wall, place: Cells, material: str, thickness_mm: float) -> Floats:
    upright = is_upright(wall)
    depth = place[1] if upright else place[0]
    layers = depth.stop - depth.start
    conductivity, capacity = across(
        MATERIALS[material],
        thickness_mm / 1000,
        layers * room.cell_mm / 1000,
        layers,
        AIR_J_PER_M3K * room.air.capacity_factor,
    )
    # No fresh air in a wall.
    made = np.stack([np.full(layers, conductivity), capacity, np.zeros(layers)])
    return made[:, None, :] if upright else made[:, :, None]


@lru_cache(maxsize=8)
def _shares(room: Room) -> tuple[Floats, ...]:
    return tuple(covering(room, heater.rect_m) for heater in room.heaters)
