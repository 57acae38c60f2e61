"""A room as heat sees it: its heat cells, what they are made of, and what drives them.

Differs from a real room:
1. A plan: floor, ceiling and height are one, and warm air does not rise. What furniture, floor
   and ceiling store is a factor on the capacity of the air.
2. Air is stirred evenly and goes nowhere: no draught, no plume, and an open door is a gap. Air
   that is stirred has the conductivity of bare air times the mixing: what stores heat with it
   makes its temperature spread as many times slower.
3. Of what people give off, only what heats the air at once; what they radiate is left out.
4. The leaf of a door stores no heat of its own: where it is, the capacity is the air's, open or
   shut, so that no heat jumps when it moves.
"""

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..air import AIR_J_PER_M3K
from ..diffusion.medium import Drive, Medium
from . import records
from .day import Day, trace_track
from .plan import QUANTUM_MM, find_door_wall, is_upright, make_lattice, make_plan
from .plan import add_heat as add_heat
from .plan import find_free_cells as find_free_cells
from .plan import make_grid as make_grid
from .records import Floats, Rect, Room


class Material(NamedTuple):
    """How a material passes heat, and how much it takes up."""

    conductivity_w_per_mk: float
    capacity_j_per_m3k: float


# Source: EN ISO 10456:2007, table 3 (design values): gypsum plasterboard of 900 kg/m3, concrete of
# medium density 2000 kg/m3, glass, softwood of 500 kg/m3, mineral wool of 40 kg/m3. Solid brick of
# 1700 kg/m3 is between 0.6 and 0.8 W/(m K) in makers' data; the middle is taken.
MATERIALS = {
    "plasterboard": Material(0.25, 900 * 1000.0),
    "brick": Material(0.7, 1700 * 940.0),
    "concrete": Material(1.35, 2000 * 1000.0),
    "glass": Material(1.0, 2500 * 750.0),
    "wood": Material(0.13, 500 * 1600.0),
    "insulation": Material(0.04, 40 * 1030.0),
}

# Of a vertical surface inside a room, m2 K/W: the air that clings to it and its radiation.
# Source: EN ISO 6946:2017, table 7, horizontal heat flow.
SURFACE_M2K_PER_W = 0.13


def make_medium(room: Room, at_s: float) -> Medium:
    """Return what heat moves through at a moment, on the heat cells of the room's plan.

    It is the same object whenever the same doors are open, so that what is worked out for it
    can be kept.
    """
    return build_medium(room, room.find_open_doors(at_s))


def make_step_medium(room: Room, from_s: float, to_s: float) -> Medium:
    """Return what heat moves through over a step: the doors are as they are in its middle."""
    return make_medium(room, (from_s + to_s) / 2)


@lru_cache(maxsize=64)
def build_medium(room: Room, opened: tuple[bool, ...]) -> Medium:
    """Return what heat moves through while these doors are open, and no other.

    A wall that is b thick and drawn as b' has the conductivity k b'/b and the capacity C b/b' of
    its material, so that it passes and takes up what the true one does; a shut door the
    conductivity of its leaf likewise, no fresh air, and the capacity of air. Between what is
    solid and the air is SURFACE_M2K_PER_W.
    """
    drawn, air = make_plan(room), room.air
    stirred = AIR_J_PER_M3K * air.mixing_m2_per_s
    stored = AIR_J_PER_M3K * air.capacity_factor
    passes, takes = [stirred], [stored]
    for nth, partition in enumerate(room.walls):
        made = MATERIALS[partition.material]
        thicker = _compute_thickness_ratio(room, nth, partition.thickness_mm)
        passes.append(made.conductivity_w_per_mk * thicker)
        takes.append(made.capacity_j_per_m3k / thicker)
    leaves = [stirred]
    for door, is_open in zip(room.doors, opened, strict=True):
        wall = find_door_wall(room, door)
        open_ = is_open or wall is None
        thicker = 1.0 if wall is None else _compute_thickness_ratio(room, wall, door.thickness_mm)
        leaves.append(stirred if open_ else MATERIALS["wood"].conductivity_w_per_mk * thicker)
    shut = np.array([False, *(not is_open for is_open in opened)])[drawn.doors]
    solid = shut | (drawn.walls > 0)
    west, east, north, south = (
        compute_film(room, side) for side in ("west", "east", "north", "south")
    )
    return Medium(
        (np.diff(drawn.x_m), np.diff(drawn.y_m)),
        np.where(drawn.doors > 0, np.array(leaves)[drawn.doors], np.array(passes)[drawn.walls]),
        np.array(takes)[drawn.walls],
        np.where(solid, 0.0, AIR_J_PER_M3K * air.air_changes_per_h / 3600),
        ((west, east), (north, south)),
        room.height_m,
        (
            np.where(solid[:, 1:] != solid[:, :-1], SURFACE_M2K_PER_W, 0.0),
            np.where(solid[1:] != solid[:-1], SURFACE_M2K_PER_W, 0.0),
        ),
    )


def make_empty_drive(room: Room, from_s: float, to_s: float) -> Drive:
    """Return what drives the room while nobody is there: heaters and weather alone."""
    power = np.zeros(make_plan(room).shape)
    for heater, share in zip(room.heaters, _compute_heater_shares(room), strict=True):
        power += heater.power_w * records.compute_covered_share(heater.on_s, from_s, to_s) * share
    west, east, north, south = (
        beyond_k(room, side, from_s, to_s) for side in ("west", "east", "north", "south")
    )
    supply = records.average_course(room.air.supply_c, from_s, to_s) - room.air.baseline_c
    return Drive(power, ((west, east), (north, south)), supply)


def sum_body_heat(room: Room, day: Day, from_s: float, to_s: float) -> Floats:
    """Return the watts of people in each heat cell, (rows, columns), as the mean over a time.

    All that they give off is there, to round-off: this is the truth that maps are held against.

    Raises:
        ValueError: somebody is in a wall, or in a door that is shut.
    """
    joules = np.zeros(make_plan(room).shape)
    moves = {at_s for door in room.doors for span in door.open_s for at_s in span}
    moments = [from_s, *sorted(at_s for at_s in moves if from_s < at_s < to_s), to_s]
    for since, until in pairwise(moments):
        trodden = [trace_track(track, since, until) for track in day.tracks]
        trodden = [pair for pair in trodden if len(pair[1])]
        if trodden:
            places, given = (np.concatenate(part) for part in zip(*trodden, strict=True))
            known = make_lattice(room, room.find_open_doors((since + until) / 2))
            joules += known.add_body_heat(places, given).reshape(joules.shape)
    return joules / (to_s - from_s)


def measure_cover(room: Room, rect: Rect) -> Floats:
    """Return the area of air that a rectangle covers in each heat cell, (rows, columns), in m2."""
    drawn = make_plan(room)
    left, top, right, bottom = rect
    x, y = np.clip(drawn.x_m, left, right), np.clip(drawn.y_m, top, bottom)
    return np.asarray(np.outer(np.diff(y), np.diff(x)) * (drawn.walls == 0))


def compute_film(room: Room, side: str) -> Floats:
    """Return what each heat cell of a side passes, (cells,) in W/(m2 K): window and wall by area.

    A U-value is from the room's air to the air beyond, surfaces included, so it is the film
    itself. A window as high as it says takes its share of the cells; the wall above and below
    has the side's own.

    Source: EN ISO 6946:2017, section 3 (thermal transmittance); areas add up.
    """
    return np.asarray(sum(_list_film_parts(room, side)))


def beyond_k(room: Room, side: str, from_s: float, to_s: float) -> Floats:
    """Return the temperature beyond each cell of a side, (cells,), as the mean over a step.

    Where a cell has two kinds of weather behind it, what the heat flow feels: the mean by film.
    """
    told = [room.sides[side].outside_c, *(it.outside_c for it in room.windows if it.side == side)]
    outside = [records.average_course(one, from_s, to_s) - room.air.baseline_c for one in told]
    parts = _list_film_parts(room, side)
    total = np.asarray(sum(parts))
    felt = np.asarray(sum(u * k for u, k in zip(parts, outside, strict=True)))
    return np.where(total > 0, felt / np.where(total > 0, total, 1.0), outside[0])


def _list_film_parts(room: Room, side: str) -> list[Floats]:
    # The side itself first, then its windows in their order; each by its share of the area.
    lines = make_plan(room).y_m if side in ("east", "west") else make_plan(room).x_m
    windows = [window for window in room.windows if window.side == side]
    glazed = [
        np.diff(np.clip(lines, window.from_m, window.to_m))
        / np.diff(lines)
        * (window.height_m / room.height_m)
        for window in windows
    ]
    rest = np.maximum(np.ones(len(lines) - 1) - sum(glazed), 0.0)
    passed = [share * window.u_w_per_m2k for share, window in zip(glazed, windows, strict=True)]
    return [rest * room.sides[side].u_w_per_m2k, *passed]


def _compute_thickness_ratio(room: Room, nth: int, thickness_mm: float) -> float:
    """Return how many times as thick a wall is drawn as what stands for it, or in it, is."""
    left, top, right, bottom = make_plan(room).boxes["wall", nth]
    return (
        QUANTUM_MM * (right - left if is_upright(room.walls[nth]) else bottom - top) / thickness_mm
    )


@lru_cache(maxsize=8)
def _compute_heater_shares(room: Room) -> tuple[Floats, ...]:
    # Of each heater, what each heat cell gets.
    areas = [measure_cover(room, heater.rect_m) for heater in room.heaters]
    return tuple(area / area.sum() for area in areas)
