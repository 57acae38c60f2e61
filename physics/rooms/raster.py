"""Where the walls, the doors and the furniture of a room fall on its cells."""

import math
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from .records import Door, Floats, Point, Rect, Room, Wall

Cells: TypeAlias = tuple[slice, slice]  # rows, columns
Mask: TypeAlias = NDArray[np.bool_]


class Layout(NamedTuple):
    """What stands in each cell, (rows, columns)."""

    walls: Mask  # of a wall, and not of a door in it
    doors: Mask
    furniture: Mask
    zone: NDArray[np.intp]  # parts of the room that walls and doors separate, from 1
    nearest: NDArray[np.intp]  # (2, rows, columns): the nearest cell that is no wall


def shape(room: Room) -> tuple[int, int]:
    """Return how many rows and columns the room has."""
    columns, rows = (round(1000 * size / room.cell_mm) for size in room.size_m)
    return rows, columns


def wall_rect(wall: Wall) -> Rect:
    """Return the rectangle that a wall covers, as it is built."""
    (x0, y0), (x1, y1) = wall.from_m, wall.to_m
    half = wall.thickness_mm / 2000
    if x0 == x1:
        return x0 - half, min(y0, y1), x0 + half, max(y0, y1)
    return min(x0, x1), y0 - half, max(x0, x1), y0 + half


def door_wall(room: Room, door: Door) -> int | None:
    """Return which wall a door is in, or None: its whole opening must be in that wall."""
    for index, wall in enumerate(room.walls):
        left, top, right, bottom = wall_rect(wall)
        x, y = door.at_m
        along, since, until = (y, top, bottom) if is_upright(wall) else (x, left, right)
        slack = 1e-9
        opening = (
            since - slack <= along - door.width_m / 2 and along + door.width_m / 2 <= until + slack
        )
        across, near, far = (x, left, right) if is_upright(wall) else (y, top, bottom)
        if opening and near - slack <= across <= far + slack:
            return index
    return None


def is_upright(wall: Wall) -> bool:
    """Return whether a wall runs along y."""
    return wall.from_m[0] == wall.to_m[0]


def door_rect(room: Room, door: Door) -> Rect:
    """Return the rectangle of a door's opening, as deep as its wall; its line without a wall."""
    x, y = door.at_m
    half = door.width_m / 2
    index = door_wall(room, door)
    if index is None:
        return x - half, y, x + half, y
    left, top, right, bottom = wall_rect(room.walls[index])
    if is_upright(room.walls[index]):
        return left, y - half, right, y + half
    return x - half, top, x + half, bottom


def wall_cells(room: Room, wall: Wall) -> Cells:
    """Return the cells that stand for a wall: at least one deep, however thin it is.

    A wall of 100 mm on cells of 100 mm whose middle line falls between two cells is drawn in
    the second.
    """
    return _drawn(room, wall, *((0, 1) if is_upright(wall) else (1, 0)), wall_rect(wall))


def door_cells(room: Room, door: Door) -> Cells:
    """Return the cells of a door: those of its wall, over the width of the opening."""
    index = door_wall(room, door)
    if index is None:
        return slice(0), slice(0)
    rows, columns = wall_cells(room, room.walls[index])
    left, top, right, bottom = door_rect(room, door)
    if is_upright(room.walls[index]):
        return _between(room, top, bottom, shape(room)[0]), columns
    return rows, _between(room, left, right, shape(room)[1])


@lru_cache(maxsize=32)
def layout(room: Room) -> Layout:
    """Return what stands in each cell of a room; the same object whenever it is asked."""
    walls, doors, furniture = (np.zeros(shape(room), dtype=bool) for _ in range(3))
    for wall in room.walls:
        walls[wall_cells(room, wall)] = True
    for door in room.doors:
        doors[door_cells(room, door)] = True
    walls &= ~doors
    for piece in room.furniture:
        furniture |= covered(room, piece.rect_m) > 0.5
    zone, _ = ndimage.label(~(walls | doors))
    nearest = ndimage.distance_transform_edt(walls, return_distances=False, return_indices=True)
    return Layout(walls, doors, furniture, zone, nearest)


def covered(room: Room, rect: Rect) -> Floats:
    """Return which share of each cell a rectangle covers, (rows, columns)."""
    rows, columns = shape(room)
    left, top, right, bottom = rect
    return np.outer(overlap(room, top, bottom, rows), overlap(room, left, right, columns))


def overlap(room: Room, since_m: float, until_m: float, count: int) -> Floats:
    """Return which share of each cell along an axis lies between two coordinates, (count,)."""
    edges = np.arange(count + 1) * room.cell_mm / 1000
    inside = np.clip(edges, since_m, until_m)
    return np.asarray(np.diff(inside) / (room.cell_mm / 1000))


def cell_of(room: Room, place: Point) -> tuple[int, int]:
    """Return the row and the column of the cell that a place in the room is in."""
    rows, columns = shape(room)
    column, row = (math.floor(1000 * x / room.cell_mm + 1e-9) for x in place)
    return min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)


def _drawn(room: Room, wall: Wall, across: int, along: int, rect: Rect) -> Cells:
    # Axis 0 is x. `across` is the axis that the wall blocks, `along` the one that it runs on.
    counts = shape(room)[::-1]
    cell_m = room.cell_mm / 1000
    deep = min(max(1, _nearest(wall.thickness_mm / room.cell_mm)), counts[across])
    first = _nearest(wall.from_m[across] / cell_m - deep / 2)
    first = min(max(first, 0), counts[across] - deep)
    depth = slice(first, first + deep)
    length = _between(room, rect[along], rect[along + 2], counts[along])
    return (length, depth) if across == 0 else (depth, length)


def _between(room: Room, since_m: float, until_m: float, count: int) -> slice:
    first, last = (
        min(max(_nearest(1000 * edge / room.cell_mm), 0), count) for edge in (since_m, until_m)
    )
    first = min(first, count - 1)  # what is thinner than half a cell takes the last one
    return slice(first, max(last, first + 1))


def _nearest(value: float) -> int:
    # A half goes up, and so does what is a half but for its last digit.
    return math.floor(value + 0.5 + 1e-9)
