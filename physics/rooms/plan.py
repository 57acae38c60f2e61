"""A room drawn once: what the simulator solves on, files are checked by, and promises hold for.

Walls, doors and furniture are drawn in whole quanta of 25 mm. From that one drawing come the heat
cells, on which temperatures are solved; the lattice, which says where people may stand and what
a body there warms; and what a thermometer sees. Arrays of cells are (rows, columns), row by row
where they are flat, x fastest.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse

from edge.core.records import Grid

from .records import Door, Floats, Point, Rect, Room, Wall

Indices: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
Box: TypeAlias = tuple[int, int, int, int]  # left, top, right, bottom, in quanta

QUANTUM_MM = 25
# A body warms the air up to here, by the way through air: 0.15 m of standard deviation each way.
REACH_M = 0.37
# Heat cells across a wall; with one or two it takes heat up too late or too early.
LAYERS = 4

_PITCH = 2  # quanta from one line of the lattice to the next
_REACH = 1000 * REACH_M / QUANTUM_MM
_QUANTA = math.ceil(_REACH)  # to each side of a node that its body may warm
_AT_ONCE = 2048  # nodes whose surroundings are held in memory

# A step from a quantum to one of its 16 neighbours, (down, right), and what it passes between.
# A diagonal one needs air in one of two quanta, for it touches both; a knight's in both.
_STEPS = [
    (
        (y, x),
        ((int(y / 2), int(x / 2)), (y - int(y / 2), x - int(x / 2)))
        if abs(y * x) == 2
        else ((y, 0), (0, x)),
    )
    for y in range(-2, 3)
    for x in range(-2, 3)
    if max(abs(y), abs(x)) == 1 or abs(y * x) == 2
]


class Plan(NamedTuple):
    """What stands where. Numbers of walls and doors count from 1, in the order of the file."""

    wall: Indices  # (quanta down, quanta across), 0 where no wall is; a door is no wall
    door: Indices
    furniture: Mask
    x_lines: Indices  # of the heat cells, in quarters of a quantum, the room's sides with them
    y_lines: Indices
    boxes: dict[tuple[str, int], Box]  # of each ("wall", 0), ("door", 0), ("furniture", 0), ...

    @property
    def x_m(self) -> Floats:
        """Where the columns of heat cells begin and end, in metres."""
        return np.asarray(self.x_lines * QUANTUM_MM / 4000)

    @property
    def y_m(self) -> Floats:
        """Where the rows of heat cells begin and end, in metres."""
        return np.asarray(self.y_lines * QUANTUM_MM / 4000)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of heat cells."""
        return len(self.y_lines) - 1, len(self.x_lines) - 1

    @property
    def walls(self) -> Indices:
        """The number of the wall that each heat cell is of, (rows, columns), or 0."""
        return self._sample_cells(self.wall)

    @property
    def doors(self) -> Indices:
        """The number of the door that each heat cell is of, (rows, columns), or 0."""
        return self._sample_cells(self.door)

    def _sample_cells(self, quanta: Indices) -> Indices:
        # A heat cell is of one thing, so any quantum that it has a part of tells it.
        return quanta[np.ix_(self.y_lines[:-1] // 4, self.x_lines[:-1] // 4)]


@dataclass(frozen=True, eq=False)
class Lattice:
    """Where people may be while certain doors are open, and what heat cells a body there warms.

    A lattice cell is a rectangle between lines 50 mm apart, finer where an edge of a wall, a
    door or furniture falls between; only those of air are told. A body in it warms as the
    bilinear mean of its four corners does. Nodes that one point of the plan has on both sides of
    where two walls touch at their corners are two.

    Args:
        nodes_m: (nodes, 2), x and y.
        corners: (lattice cells, 4), the nodes of each: near-left, near-right, far-left and
            far-right; near is the smaller y. All four are of its side.
        free: (lattice cells,), whether people may stand in it; elsewhere is furniture, over
            which warmth passes and a way through air goes.
        pitch_m: (lattice cells, 2), how wide and how deep.
        side: (nodes,), from 0, which part of the room that no way through air leaves.
        kind: (nodes,), 0 where all air about the point is one; of two nodes at one point, 1 for
            the upper side and 2 for the lower.
        touch_m: (points, 2), where two walls touch at their corners: no way leads through.
        x_m, y_m: the lines, growing.
        index: (rows, columns), the number of the lattice cell between these lines, or -1 where
            no air is.
        air: (quanta down, quanta across).
        drawn: the plan.
    """

    nodes_m: Floats
    corners: Indices
    free: Mask
    pitch_m: Floats
    side: Indices
    kind: Indices
    touch_m: Floats
    x_m: Floats
    y_m: Floats
    index: Indices
    air: Mask
    drawn: Plan

    @cached_property
    def table(self) -> sparse.csr_array:
        """What a body at each node warms: shares of heat cells, (nodes, heat cells), in all 1.

        The share of a quantum of air z is max(0, 1 - (g / REACH_M)^2), all together one, with g
        the length of the way to it through air: nothing crosses a wall, for no way does, and
        round its free end and through an open door it passes by and by. Quanta are added up by
        heat cell; nought is exactly nought.
        """
        return _compute_body_table(self)

    def locate(self, places_m: Floats) -> tuple[Indices, Floats]:
        """Return the lattice cell of each place, (places,), and weights, (places, 4), of corners.

        The cell is that of `cells`; where there is no air the weights have no meaning.
        """
        cell = self.find_cells(places_m)
        begins = self.nodes_m[self.corners[cell, 0]]
        right, down = np.clip((np.asarray(places_m) - begins) / self.pitch_m[cell], 0, 1).T
        weights = ((1 - right) * (1 - down), right * (1 - down), (1 - right) * down, right * down)
        return cell, np.stack(weights, axis=1)

    def find_cells(self, places_m: Floats) -> Indices:
        """Return the lattice cell of each place, (places,), or -1 where there is no air.

        On a line a free cell is preferred, for a cell holds its own edge.
        """
        # A nanometre is round-off on the way along a wall.
        at = np.round(np.asarray(places_m, dtype=float), 9)
        best = np.full(len(at), -1)
        rank = np.append(self.free + 1, 0)  # of the cell -1: none
        for row in _find_touching_parts(self.y_m, at[:, 1]):
            for column in _find_touching_parts(self.x_m, at[:, 0]):
                here = np.where((row >= 0) & (column >= 0), self.index[row, column], -1)
                best = np.where(rank[here] > rank[best], here, best)
        return best

    def are_ways_free(self, starts_m: Floats, ends_m: Floats) -> Mask:
        """Return whether each of many straight ways, from (ways, 2) to (ways, 2), is all free.

        It may touch what is not. Between two walls that touch at their corners it may not pass.
        """
        starts, ends = (np.round(np.asarray(it, dtype=float), 9) for it in (starts_m, ends_m))
        go = ends - starts
        shares = [np.zeros((len(go), 1)), np.ones((len(go), 1))]
        for axis, lines in enumerate((self.x_m, self.y_m)):
            since, until = np.sort([starts[:, axis], ends[:, axis]], axis=0)
            first, last = np.searchsorted(lines, since), np.searchsorted(lines, until)
            nth = first[:, None] + np.arange((last - first).max(initial=0))
            passed = (nth < last[:, None]) & (go[:, axis, None] != 0)
            along = np.where(passed, go[:, axis, None], 1.0)
            line = lines[np.minimum(nth, len(lines) - 1)]
            shares.append(np.where(passed, (line - starts[:, axis, None]) / along, 1.0))
        # Cut where it passes a line, so each piece is in one cell, or between two.
        cuts = np.clip(np.sort(np.concatenate(shares, axis=1), axis=1), 0, 1)
        middle = (cuts[:, 1:, None] + cuts[:, :-1, None]) / 2
        cell = self.find_cells((starts[:, None] + middle * go[:, None]).reshape(-1, 2))
        held = (np.append(self.free, False)[cell]).reshape(middle.shape[:2]).all(axis=1)
        for point in self.touch_m:
            along = np.clip(
                ((point - starts) * go).sum(1) / np.maximum((go**2).sum(1), 1e-30), 0, 1
            )
            held &= np.hypot(*(starts + along[:, None] * go - point).T) > 1e-9
        return np.asarray(held)

    def add_body_heat(self, places_m: Floats, joules: Floats) -> Floats:
        """Return the joules in each heat cell, flat, of heat that bodies give off at places.

        Raises:
            ValueError: a place that is not in air.
        """
        cell, weights = self.locate(places_m)
        if (cell < 0).any():
            x, y = np.asarray(places_m)[cell < 0][0]
            raise ValueError(
                f"somebody is at [{x:.4g}, {y:.4g}], where the room's plan has no air, but heat "
                "is given to air alone. Give a place that is neither in a wall nor in a shut door."
            )
        given = np.zeros(len(self.nodes_m))
        np.add.at(given, self.corners[cell], weights * np.asarray(joules)[:, None])
        return np.asarray(given @ self.table)


def is_upright(wall: Wall) -> bool:
    """Return whether a wall runs along y."""
    return wall.from_m[0] == wall.to_m[0]


def wall_rect(wall: Wall) -> Rect:
    """Return the rectangle that a wall covers, as it is built."""
    (x0, y0), (x1, y1) = wall.from_m, wall.to_m
    half = wall.thickness_mm / 2000
    if is_upright(wall):
        return x0 - half, min(y0, y1), x0 + half, max(y0, y1)
    return min(x0, x1), y0 - half, max(x0, x1), y0 + half


def find_door_wall(room: Room, door: Door) -> int | None:
    """Return which wall a door is in, or None: its whole opening must be in that wall."""
    for index, wall in enumerate(room.walls):
        left, top, right, bottom = wall_rect(wall)
        x, y = door.at_m
        along, since, until = (y, top, bottom) if is_upright(wall) else (x, left, right)
        across, near, far = (x, left, right) if is_upright(wall) else (y, top, bottom)
        slack, half = 1e-9, door.width_m / 2
        if (
            since - slack <= along - half
            and along + half <= until + slack
            and near - slack <= across <= far + slack
        ):
            return index
    return None


def door_rect(room: Room, door: Door) -> Rect:
    """Return the rectangle of a door's opening, as built: as deep as its wall, or a line."""
    x, y = door.at_m
    half = door.width_m / 2
    index = find_door_wall(room, door)
    if index is None:
        return x - half, y, x + half, y
    left, top, right, bottom = wall_rect(room.walls[index])
    if is_upright(room.walls[index]):
        return left, y - half, right, y + half
    return x - half, top, x + half, bottom


@lru_cache(maxsize=32)
def make_plan(room: Room) -> Plan:
    """Return what stands where in a room; the same object whenever it is asked.

    Every edge is drawn at the nearest line between quanta; what is thinner than one is drawn as
    one.
    """
    columns, rows = (round(1000 * size / QUANTUM_MM) for size in room.size_m)
    wall, door = (np.zeros((rows, columns), dtype=np.intp) for _ in range(2))
    furniture = np.zeros((rows, columns), dtype=bool)
    boxes: dict[tuple[str, int], Box] = {}
    x_lines, y_lines = (
        set(range(0, 4 * count + 1, 4 * room.cell_mm // QUANTUM_MM)) for count in (columns, rows)
    )
    for nth, one in enumerate(room.walls):
        box = boxes["wall", nth] = _draw_box(wall_rect(one), columns, rows)
        wall[_slice_box(box)] = nth + 1
        across = 0 if is_upright(one) else 1
        faces = box[across], box[across + 2]
        layers = range(4 * faces[0], 4 * faces[1] + 1, 4 * (faces[1] - faces[0]) // LAYERS)
        (x_lines, y_lines)[across].update(layers)
        (y_lines, x_lines)[across].update((4 * box[1 - across], 4 * box[3 - across]))
    for nth, opening in enumerate(room.doors):
        index = find_door_wall(room, opening)
        if index is None:
            continue
        along = 1 if is_upright(room.walls[index]) else 0
        box_ = list(boxes["wall", index])
        middle, half = opening.at_m[along], opening.width_m / 2
        box_[along], box_[along + 2] = _draw(middle - half, middle + half, (columns, rows)[along])
        box = boxes["door", nth] = (box_[0], box_[1], box_[2], box_[3])
        door[_slice_box(box)] = nth + 1
        (x_lines, y_lines)[along].update((4 * box[along], 4 * box[along + 2]))
    for nth, piece in enumerate(room.furniture):
        box = boxes["furniture", nth] = _draw_box(piece.rect_m, columns, rows)
        furniture[_slice_box(box)] = True
    wall[door > 0] = 0
    lines = np.array(sorted(x_lines)), np.array(sorted(y_lines))
    return Plan(wall, door, furniture, *lines, boxes)


def find_rectangle(room: Room, kind: str, nth: int) -> Rect:
    """Return the rectangle, in metres, as which a "wall", a "door" or "furniture" is drawn."""
    left, top, right, bottom = (it * QUANTUM_MM / 1000 for it in make_plan(room).boxes[kind, nth])
    return left, top, right, bottom


def describe_redrawing(room: Room) -> list[str]:
    """Return what is drawn elsewhere than it is built, and by how much, as one would say it."""
    found = []
    for kind, nth in make_plan(room).boxes:
        if kind == "wall":
            built = wall_rect(room.walls[nth])
        elif kind == "door":
            built = door_rect(room, room.doors[nth])
        else:
            built = room.furniture[nth].rect_m
        # What lies beyond the room's sides is not drawn at all.
        inside = np.clip(built, 0, [*room.size_m, *room.size_m])
        moved = 1000 * float(np.abs(np.array(find_rectangle(room, kind, nth)) - inside).max())
        thin = kind == "wall" and room.walls[nth].thickness_mm < QUANTUM_MM
        if thin:
            thick = room.walls[nth].thickness_mm
            found.append(f"[[wall]] {nth + 1} of {thick:g} mm is drawn {QUANTUM_MM} mm thick")
        elif moved > 0.05:
            found.append(f"[[{kind}]] {nth + 1} has an edge moved by {moved:.1f} mm")
    return found


def make_grid(room: Room) -> Grid:
    """Return the cells of the map, which heat cells lie within."""
    columns, rows = (round(1000 * size / room.cell_mm) for size in room.size_m)
    return Grid((columns, rows), room.cell_mm)


def find_free_cells(room: Room) -> Mask:
    """Return the cells of the map half of which or more one can stand in, (cells,), flat.

    Doors count as open, walls and furniture do not.
    """
    columns, rows = make_grid(room).shape
    drawn = make_plan(room)
    clear = (drawn.wall == 0) & ~drawn.furniture
    return np.asarray(
        clear.reshape(rows, clear.shape[0] // rows, columns, -1).mean((1, 3)) >= 0.5
    ).ravel()


def add_heat(room: Room, heat: Floats) -> Floats:
    """Return what is in each cell of the map, (..., rows, columns), of what is in heat cells."""
    drawn, unit = make_plan(room), 4 * room.cell_mm // QUANTUM_MM
    rows, columns = (np.flatnonzero(it[:-1] % unit == 0) for it in (drawn.y_lines, drawn.x_lines))
    return np.asarray(np.add.reduceat(np.add.reduceat(heat, rows, axis=-2), columns, axis=-1))


def average_air(room: Room, field: Floats) -> Floats:
    """Return the mean of the air in each cell of the map, (..., rows, columns), of a field.

    Where all of a cell is wall it is the mean of that.
    """
    drawn = make_plan(room)
    area = np.outer(np.diff(drawn.y_lines), np.diff(drawn.x_lines)).astype(float)
    air = np.where(drawn.walls == 0, area, 1e-12 * area)
    return np.asarray(add_heat(room, air * field) / add_heat(room, air))


def compute_views(room: Room, places_m: Floats) -> Floats:
    """Return the weights with which a field is read at places, (places, heat cells).

    Straight between the middles of heat cells. A cell of a wall or of a door, or beyond one, is
    left out, as is what lies beyond the outermost middles: the air on its own side is read.

    Raises:
        ValueError: a place that is not in a heat cell of air.
    """
    drawn = make_plan(room)
    air = (drawn.walls == 0) & (drawn.doors == 0)
    found = np.zeros((len(places_m), *drawn.shape))
    for nth, (x, y) in enumerate(np.asarray(places_m, dtype=float).reshape(-1, 2).tolist()):
        own = find_air_cell(room, (x, y))
        if own is None:
            raise ValueError(
                f"a sensor is at [{x:.4g}, {y:.4g}], where the room's plan has a wall, a door or "
                "nothing, but it must be in air: it would measure the wall. Move it."
            )
        beside, parts = [], []
        for at, cell, lines in ((y, own[0], drawn.y_m), (x, own[1], drawn.x_m)):
            middles = (lines[1:] + lines[:-1]) / 2
            other = min(max(cell + (1 if at > middles[cell] else -1), 0), len(middles) - 1)
            apart = middles[other] - middles[cell]
            beside.append(other)
            parts.append((at - middles[cell]) / apart if apart else 0.0)
        (row, column), (down, right) = beside, parts
        reached: list[tuple[tuple[int, int], float]] = [
            (own, (1 - down) * (1 - right)),
            ((row, own[1]), down * (1 - right)),
            ((own[0], column), (1 - down) * right),
        ]
        if air[row, own[1]] or air[own[0], column]:
            reached.append(((row, column), down * right))
        for at_cell, part in reached:
            found[nth, *at_cell] += part * air[at_cell]
        found[nth] /= found[nth].sum()
    return found.reshape(len(found), -1)


def find_air_cell(room: Room, place: Point) -> tuple[int, int] | None:
    """Return the row and column of the heat cell of air that a place is in, or None.

    On a line any that is air.
    """
    drawn = make_plan(room)
    x, y = (np.round([at], 9) for at in place)
    for row in _find_touching_parts(drawn.y_m, y):
        for column in _find_touching_parts(drawn.x_m, x):
            cell = int(row[0]), int(column[0])
            if min(cell) >= 0 and not drawn.walls[cell] and not drawn.doors[cell]:
                return cell
    return None


@lru_cache(maxsize=16)
def compute_bodies(room: Room, opened: tuple[bool, ...]) -> sparse.csr_array:
    """Return what somebody warms who is anywhere free in a cell of the map, (cells, heat cells).

    The mean over all free places in it; nought where there is none.
    """
    known = make_lattice(room, opened)
    columns, rows = make_grid(room).shape
    middle = known.nodes_m[known.corners[:, 0]] + known.pitch_m / 2
    across, down = (1000 * middle // room.cell_mm).astype(int).T
    area = np.where(known.free, known.pitch_m.prod(axis=1), 0.0)
    cell = down * columns + across
    whole = np.bincount(cell, area, rows * columns)
    share = area / np.where(whole > 0, whole, 1.0)[cell] / 4
    parts = np.repeat(share, 4), (np.repeat(cell, 4), known.corners.ravel())
    return (
        sparse.coo_array(parts, shape=(rows * columns, len(known.nodes_m))).tocsr() @ known.table
    )


@lru_cache(maxsize=16)
def make_lattice(room: Room, opened: tuple[bool, ...]) -> Lattice:
    """Return where people may be, and what they warm, while these doors are open and no other."""
    drawn = make_plan(room)
    shut = np.array([0, *(not is_open for is_open in opened)], dtype=bool)
    air = (drawn.wall == 0) & ~shut[drawn.door]
    lines = [set(range(0, count + 1, _PITCH)) | {count} for count in air.shape[::-1]]
    for box in drawn.boxes.values():
        lines[0].update(box[::2])
        lines[1].update(box[1::2])
    x, y = (np.array(sorted(it)) for it in lines)
    part = np.ix_(y[:-1], x[:-1])
    index = np.where(air[part], np.cumsum(air[part]).reshape(air[part].shape) - 1, -1)
    corners, points, kind = _make_nodes(index >= 0)
    row, column = np.nonzero(index >= 0)
    quanta = np.stack([x[points[:, 1]], y[points[:, 0]]], axis=1)
    zone, _ = ndimage.label(index >= 0)
    side = np.zeros(len(points), dtype=np.intp)
    side[corners] = zone[row, column][:, None] - 1
    return Lattice(
        nodes_m=quanta * QUANTUM_MM / 1000,
        corners=corners,
        free=~drawn.furniture[part][row, column],
        pitch_m=np.stack([np.diff(x)[column], np.diff(y)[row]], axis=1) * QUANTUM_MM / 1000,
        side=side,
        kind=kind,
        touch_m=quanta[kind == 2] * QUANTUM_MM / 1000,
        x_m=x * QUANTUM_MM / 1000,
        y_m=y * QUANTUM_MM / 1000,
        index=index,
        air=air,
        drawn=drawn,
    )


def _make_nodes(air: Mask) -> tuple[Indices, Indices, Indices]:
    """Return the corners of lattice cells of air, and of each node its (row, column) and kind.

    Its kind is 0 where all air about the point is one, 1 and 2 where two walls touch there: the
    upper side and the lower.
    """
    about = np.pad(air, 1)
    upper_left, upper_right = about[:-1, :-1], about[:-1, 1:]
    lower_left, lower_right = about[1:, :-1], about[1:, 1:]
    touch = (upper_left & lower_right & ~upper_right & ~lower_left) | (
        upper_right & lower_left & ~upper_left & ~lower_right
    )
    some = upper_left | upper_right | lower_left | lower_right
    above = np.cumsum(some).reshape(some.shape) - 1
    below = np.where(touch, above.max() + np.cumsum(touch).reshape(touch.shape), above)
    corners = np.stack(
        [below[:-1, :-1][air], below[:-1, 1:][air], above[1:, :-1][air], above[1:, 1:][air]],
        axis=1,
    )
    points = np.concatenate([np.argwhere(some), np.argwhere(touch)])
    kind = np.concatenate([touch[some].astype(np.intp), np.full(touch.sum(), 2)])
    return corners, points, kind


def _compute_body_table(known: Lattice) -> sparse.csr_array:
    air, drawn, kind = known.air, known.drawn, known.kind
    quanta = np.rint(known.nodes_m * 1000 / QUANTUM_MM).astype(int)
    columns = drawn.shape[1]
    right, across = _compute_overlaps(drawn.x_lines)
    below, down = _compute_overlaps(drawn.y_lines)
    size = (2 * _QUANTA, 2 * _QUANTA)
    about, room = (
        np.lib.stride_tricks.sliding_window_view(np.pad(part, _QUANTA), size)
        for part in (air, np.ones_like(air))
    )
    near = (
        _compute_air_distance(np.ones((1, *size), dtype=bool), np.zeros(1, dtype=np.intp))[0]
        < _REACH
    )
    bodies: dict[bytes, Floats] = {}
    parts, cells, counts = [], [], []
    for first in range(0, len(quanta), _AT_ONCE):
        x, y = quanta[first : first + _AT_ONCE].T
        touch = kind[first : first + _AT_ONCE]
        seen = about[y, x]
        # Where no wall is near, the room's own sides bend no way, and all bodies are alike.
        alike = (seen | ~room[y, x] | ~near).all(axis=(1, 2))
        seen = (seen | alike[:, None, None]) & near
        keys = np.concatenate(
            [np.packbits(seen.reshape(len(x), -1), axis=1), touch[:, None].astype(np.uint8)],
            axis=1,
        )
        unlike, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)[1:]
        new = [at for at in unlike.tolist() if keys[at].tobytes() not in bodies]
        for some in np.array_split(new, -(-len(new) // 128)) if new else ():
            weights = np.maximum(
                1 - np.square(_compute_air_distance(seen[some], touch[some]) / _REACH), 0
            )
            bodies.update(zip((keys[at].tobytes() for at in some), weights, strict=True))
        body = np.stack([bodies[keys[at].tobytes()] for at in unlike.tolist()])[which]
        share = down[y].transpose(0, 2, 1) @ body @ across[x]
        share /= share.sum(axis=(1, 2), keepdims=True)
        node, row, column = np.nonzero(share)
        parts.append(share[node, row, column])
        cells.append((below[y[node]] + row) * columns + right[x[node]] + column)
        counts.append(np.bincount(node, minlength=len(x)))
    ends = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    shape = (len(quanta), drawn.shape[0] * columns)
    return sparse.csr_array((np.concatenate(parts), np.concatenate(cells), ends), shape=shape)


def _compute_overlaps(lines: Indices) -> tuple[Indices, Floats]:
    """Return, for each line of quanta, the first cell about it, and parts of quanta in cells.

    They are (lines of quanta,) and (lines of quanta, quanta about it, cells from the first on).
    """
    at = np.arange(lines[-1] // 4 + 1)
    first = np.maximum(np.searchsorted(lines, 4 * (at - _QUANTA), side="right") - 1, 0)
    last = np.minimum(np.searchsorted(lines, 4 * (at + _QUANTA)), len(lines) - 1)
    cell = first[:, None] + np.arange((last - first).max())
    begins, ends = (lines[np.minimum(it, len(lines) - 1)][:, None, :] for it in (cell, cell + 1))
    quantum = 4 * (at[:, None] + np.arange(-_QUANTA, _QUANTA))[:, :, None]
    return first, np.maximum(np.minimum(quantum + 4, ends) - np.maximum(quantum, begins), 0) / 4


def _compute_air_distance(air: Mask, kind: Indices) -> Floats:
    """Return how far the quanta about nodes are from them through air, in quanta.

    The shortest way from quantum to quantum over 16 neighbours; infinite where none leads.

    Args:
        air: (nodes, 2 _QUANTA, 2 _QUANTA), a node in the middle of each.
        kind: (nodes,), as `_make_nodes` gives it.

    Source: Dijkstra 1959 for what is sought; Bellman 1958 for how, many nodes side by side.
    """
    open_ = np.pad(air, ((0, 0), (2, 2), (2, 2)))
    far = np.full(open_.shape, np.inf)
    middle = _QUANTA + 2
    begins = np.zeros_like(open_)
    for row, unlike in ((middle - 1, 2), (middle, 1)):
        begins[:, row, middle - 1 : middle + 1] = (kind != unlike)[:, None]
    far[begins & open_] = math.sqrt(0.5)

    def part(field: NDArray[Any], down: int, right: int) -> NDArray[Any]:
        rows, columns = (slice(2 + by, 2 + by + 2 * _QUANTA) for by in (down, right))
        return field[:, rows, columns]

    costs = []
    for (down, right), between in _STEPS:
        one, other = (part(open_, y, x) for y, x in between)
        clear = one & other if abs(down * right) == 2 else one | other
        clear = clear & air & part(open_, down, right)
        costs.append(np.where(clear, math.hypot(down, right), np.inf))
    here, before = part(far, 0, 0), np.zeros_like(air, dtype=float)
    while not np.array_equal(here, before):
        before = here.copy()
        for ((down, right), _), cost in zip(_STEPS, costs, strict=True):
            np.minimum(here, part(far, down, right) + cost, out=here)
    return here


def _find_touching_parts(lines: Floats, at: Floats) -> tuple[Indices, Indices]:
    """Return the part between lines that ends at a coordinate, and the one that begins; or -1."""
    ends, begins = (np.searchsorted(lines, at, side=side) - 1 for side in ("left", "right"))
    return np.where(ends < len(lines) - 1, ends, -1), np.where(begins < len(lines) - 1, begins, -1)


def _draw_box(rect: Rect, columns: int, rows: int) -> Box:
    left, right = _draw(rect[0], rect[2], columns)
    top, bottom = _draw(rect[1], rect[3], rows)
    return left, top, right, bottom


def _draw(since_m: float, until_m: float, count: int) -> tuple[int, int]:
    """Return the quanta from which to which an extent is drawn: one at least."""
    # A half goes up, and so does what is a half but for its last digit.
    first, last = (
        min(max(math.floor(1000 * edge / QUANTUM_MM + 0.5 + 1e-9), 0), count)
        for edge in (since_m, until_m)
    )
    if first < last:
        return first, last
    middle = math.floor(500 * (since_m + until_m) / QUANTUM_MM + 1e-9)
    first = min(max(middle, 0), count - 1)
    return first, first + 1


def _slice_box(box: Box) -> tuple[slice, slice]:
    left, top, right, bottom = box
    return slice(top, bottom), slice(left, right)
