"""Ways through a room: straight where one can, round walls and furniture where one cannot."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from ..places import cell_places
from .geometry import blocked, inside
from .model import grid
from .raster import door_rect, is_upright, shape, wall_rect
from .reading.lines import Where
from .records import Floats, Point, Rect, Room


class Obstacle(NamedTuple):
    """What nobody can walk through."""

    rect_m: Rect
    called: str
    where: Where  # in the room file


class _Ways(NamedTuple):
    places_m: Floats
    graph: coo_array


@lru_cache(maxsize=8)
def obstacles(room: Room) -> tuple[Obstacle, ...]:
    """Return what is in the way in a room: walls without their doors, and furniture."""
    found = []
    doors = [door_rect(room, door) for door in room.doors]
    for index, wall in enumerate(room.walls):
        for rect in _without(wall_rect(wall), doors, axis=1 if is_upright(wall) else 0):
            found.append(Obstacle(rect, f"[[wall]] {index + 1}", ("wall", index)))
    for index, piece in enumerate(room.furniture):
        found.append(Obstacle(piece.rect_m, piece.name, ("furniture", index)))
    return tuple(found)


def standing(room: Room, place: Point) -> Obstacle | None:
    """Return what a place is in the middle of, or None where one can stand."""
    return next((it for it in obstacles(room) if inside(place, it.rect_m)), None)


def is_straight(room: Room, start: Point, end: Point) -> bool:
    """Return whether one can go straight from a place to another; doors let all through."""
    line = np.array([[start, end]])
    return not any(blocked(line[:, 0], line[:, 1], it.rect_m)[0] for it in obstacles(room))


def route(room: Room, start: Point, end: Point) -> tuple[Point, ...] | None:
    """Return the corners of a short way from one place to another, both with it, or None.

    The shortest way over the cells and their eight neighbours, pulled straight where nothing is
    in between: a little longer than the shortest of all.

    Source: Dijkstra 1959, by `scipy.sparse.csgraph`.
    """
    if is_straight(room, start, end):
        return start, end
    ways = _ways(room)
    first, last = _entries(room, ways, start), _entries(room, ways, end)
    if not len(first) or not len(last):
        return None
    there = np.hypot(*(ways.places_m[last] - end).T)
    best: tuple[float, int, NDArray[np.int32]] | None = None
    for node in first.tolist():
        lengths, before = _from(room, node)
        total = math.dist(start, ways.places_m[node]) + lengths[last] + there
        if best is None or total.min() < best[0]:
            best = float(total.min()), int(last[np.argmin(total)]), before
    if best is None or not math.isfinite(best[0]):
        return None
    node, nodes = best[1], []
    while node >= 0:
        nodes.append(node)
        node = int(best[2][node])
    corners = [start, *((x, y) for x, y in ways.places_m[nodes[::-1]].tolist()), end]
    return _pulled(room, corners)


def _pulled(room: Room, corners: list[Point]) -> tuple[Point, ...]:
    kept = [corners[0]]
    while kept[-1] != corners[-1]:
        here = corners.index(kept[-1])
        far = len(corners) - 1
        while far > here + 1 and not is_straight(room, kept[-1], corners[far]):
            far -= 1
        kept.append(corners[far])
    return tuple(kept)


def _entries(room: Room, ways: _Ways, place: Point) -> NDArray[np.intp]:
    """Return the nearest cells that one can go to straight from a place, three at most."""
    nearest = np.argsort(np.hypot(*(ways.places_m - place).T))[:40]
    reached = np.ones(len(nearest), dtype=bool)
    for it in obstacles(room):
        here = np.broadcast_to(np.array(place), (len(nearest), 2))
        reached &= ~blocked(here, ways.places_m[nearest], it.rect_m)
    return np.asarray(nearest[reached][:3])


@lru_cache(maxsize=64)
def _from(room: Room, node: int) -> tuple[Floats, NDArray[np.int32]]:
    # How far every cell is from one, and by which cell one comes; an entrance is asked often.
    lengths, before = dijkstra(
        _ways(room).graph, directed=False, indices=node, return_predecessors=True
    )
    return lengths, before


@lru_cache(maxsize=8)
def _ways(room: Room) -> _Ways:
    places = cell_places(grid(room))
    rows, columns = shape(room)
    number = np.arange(rows * columns).reshape(rows, columns)
    pairs = np.concatenate(
        [
            np.stack([one.ravel(), other.ravel()], axis=1)
            for one, other in (
                (number[:, :-1], number[:, 1:]),
                (number[:-1], number[1:]),
                (number[:-1, :-1], number[1:, 1:]),
                (number[:-1, 1:], number[1:, :-1]),
            )
        ]
    )
    clear = np.ones(len(pairs), dtype=bool)
    for it in obstacles(room):
        clear &= ~blocked(places[pairs[:, 0]], places[pairs[:, 1]], it.rect_m)
    one, other = pairs[clear].T
    lengths = np.hypot(*(places[one] - places[other]).T)
    return _Ways(places, coo_array((lengths, (one, other)), shape=(len(places),) * 2).tocsr())


def _without(rect: Rect, holes: list[Rect], axis: int) -> list[Rect]:
    """Return what is left of a wall along an axis once its doors are taken out."""
    left = [rect]
    for hole in holes:
        if not (hole[1 - axis] == rect[1 - axis] and hole[3 - axis] == rect[3 - axis]):
            continue  # in another wall
        parts = []
        for piece in left:
            for since, until in (
                (piece[axis], min(piece[axis + 2], hole[axis])),
                (max(piece[axis], hole[axis + 2]), piece[axis + 2]),
            ):
                if until > since:
                    cut = list(piece)
                    cut[axis], cut[axis + 2] = since, until
                    parts.append((cut[0], cut[1], cut[2], cut[3]))
        left = parts
    return left
