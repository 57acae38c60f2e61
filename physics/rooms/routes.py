"""Ways through a room: straight where one can, round walls and furniture where one cannot."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from ..places import cell_places
from .plan import Lattice, grid, lattice
from .records import Floats, Point, Room


@dataclass(frozen=True, eq=False)
class _Ways:
    known: Lattice
    places_m: Floats
    graph: coo_array


def may_stand(room: Room, place: Point) -> bool:
    """Return whether one can stand at a place; doors count as open."""
    known = _everywhere(room)
    cell = known.cells(np.array([place]))[0]
    return bool(cell >= 0 and known.free[cell] and known.holds(*np.array([[place], [place]]))[0])


def is_straight(room: Room, start: Point, end: Point) -> bool:
    """Return whether one can go straight from a place to another; doors let all through."""
    return bool(_everywhere(room).holds(np.array([start]), np.array([end]))[0])


def nearest_free(room: Room, place: Point) -> Point | None:
    """Return the nearest middle of a cell, or of a part of it, where one can stand, if any."""
    places = _ways(room, (True,) * len(room.doors)).places_m
    if not len(places):
        known = _everywhere(room)
        places = (known.nodes_m[known.corners[:, 0]] + known.pitch_m / 2)[known.free]
    if not len(places):
        return None
    x, y = places[np.argmin(np.hypot(*(places - place).T))].tolist()
    return x, y


def route(
    room: Room, start: Point, end: Point, opened: tuple[bool, ...] | None = None
) -> tuple[Point, ...] | None:
    """Return the corners of a short way from one place to another, both with it, or None.

    The shortest way over the cells and their eight neighbours, pulled straight where nothing is
    in between: a little longer than the shortest of all.

    Args:
        opened: which doors let through; all without.

    Source: Dijkstra 1959, by `scipy.sparse.csgraph`.
    """
    ways = _ways(room, opened or (True,) * len(room.doors))
    if ways.known.holds(np.array([start]), np.array([end]))[0]:
        return start, end
    first, last = _entries(ways, start), _entries(ways, end)
    if not len(first) or not len(last):
        return None
    there = np.hypot(*(ways.places_m[last] - end).T)
    best: tuple[float, int, NDArray[np.int32]] | None = None
    for node in first.tolist():
        lengths, before = _from(ways, node)
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
    return _pulled(ways.known, corners)


def _everywhere(room: Room) -> Lattice:
    return lattice(room, (True,) * len(room.doors))


def _pulled(known: Lattice, corners: list[Point]) -> tuple[Point, ...]:
    kept, here = [corners[0]], 0
    while here < len(corners) - 1:
        after = np.array(corners[here + 1 :])
        straight = known.holds(np.broadcast_to(corners[here], after.shape), after)
        here += 1 + max([0, *np.flatnonzero(straight).tolist()])
        kept.append(corners[here])
    return tuple(kept)


def _entries(ways: _Ways, place: Point) -> NDArray[np.intp]:
    """Return the nearest cells that one can go to straight from a place, three at most."""
    nearest = np.argsort(np.hypot(*(ways.places_m - place).T))[:40]
    here = np.broadcast_to(np.array(place), (len(nearest), 2))
    return np.asarray(nearest[ways.known.holds(here, ways.places_m[nearest])][:3])


@lru_cache(maxsize=64)
def _from(ways: _Ways, node: int) -> tuple[Floats, NDArray[np.int32]]:
    # How far every cell is from one, and by which cell one comes; an entrance is asked often.
    lengths, before = dijkstra(ways.graph, directed=False, indices=node, return_predecessors=True)
    return lengths, before


@lru_cache(maxsize=8)
def _ways(room: Room, opened: tuple[bool, ...]) -> _Ways:
    known, (columns, rows) = lattice(room, opened), grid(room).shape
    places = cell_places(grid(room)).reshape(-1, 2)
    cell = known.cells(places)
    clear = np.append(known.free, False)[cell]
    number = np.where(clear, np.cumsum(clear) - 1, -1).reshape(rows, columns)
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
    places, pairs = places[clear], pairs[(pairs >= 0).all(axis=1)]
    one, other = pairs[known.holds(*places[pairs.T])].T
    lengths = np.hypot(*(places[one] - places[other]).T)
    graph = coo_array((lengths, (one, other)), shape=(len(places),) * 2).tocsr()
    return _Ways(known, places, graph)
