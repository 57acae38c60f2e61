"""What thermometers feel of somebody's day, on cells of 25 mm: a derivation of its own.

The bound of a room comes of pulses that start at the sensors and run backward, over cells that
are cut at the walls, with one kind of implicit step. Here nothing of that is used. Heat is led
forward over a plain grid of the quanta in which the room is drawn, with two stages a step that
are exact to second order, and what a body warms is looked for from its very place. Shared are
the drawing itself, what materials pass, and the lags of thermometers.

Source: Alexander 1977, SIAM Journal on Numerical Analysis 14, 6: diagonally implicit steps.
"""

import math
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import splu

from physics.air import AIR_J_PER_M3K
from physics.instruments.presets import find_preset
from physics.rooms.model import MATERIALS, SURFACE_M2K_PER_W
from physics.rooms.plan import QUANTUM_MM, REACH_M, find_door_wall, is_upright, make_plan
from physics.rooms.records import Room
from physics.rooms.respond import trace_doors

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SIDE_M = QUANTUM_MM / 1000
ABOUT = math.ceil(REACH_M / SIDE_M) + 1  # quanta to each side of a body that it may warm
STAGE = 1 - math.sqrt(0.5)  # of a step
WAYS = ((0, 1), (1, 0), (1, 1), (1, -1), (1, 2), (1, -2), (2, 1), (2, -1))  # down, right


def trace_warmth(room: Room, paths: Sequence[Floats], at_s: float) -> Floats:
    """Return the kelvin that each thermometer shows at a moment of a watt on each path.

    Args:
        paths: each (steps, 2), where somebody is in every step from the day's start on, in metres.

    Returns:
        (paths, thermometers).
    """
    kinds = [
        (find_preset(one.kind).lag_s, place) for one in room.thermometers for place in one.places_m
    ]
    step_s = room.day.step_s
    doors = list(reversed(trace_doors(room, at_s)))
    shut = _find_solid_quanta(room, doors[-1].opened)
    reads = np.stack([_weigh(shut, place) for _, place in kinds])
    lags_s = np.array([max(lag_s, 1e-9) for lag_s, _ in kinds])
    left = np.exp(-step_s / lags_s)
    ramp = 1 - (1 - left) * lags_s / step_s  # what shows at its end of a change within the step
    field = np.zeros((len(paths), *shut.shape))
    shown = before = np.zeros((len(paths), len(kinds)))
    nth = 0
    for since in doors:
        solid = _find_solid_quanta(room, since.opened)
        stepped = _step_field(room, solid, since.opened, field)
        next(stepped)
        for _ in range(since.steps):
            field = stepped.send(np.stack([_spread_body_heat(solid, path[nth]) for path in paths]))
            now = np.einsum("pyx,tyx->pt", field, reads)
            shown = left * shown + (1 - left) * before + ramp * (now - before)
            before = now
            nth += 1
    return np.asarray(shown)


def _step_field(
    room: Room, solid: Mask, opened: tuple[bool, ...], field: Floats
) -> Generator[Floats, Floats, None]:
    """Yield the field after each step, given the watts of it in every quantum."""
    loses, stores = _make_medium(room, solid, opened)
    step_s = room.day.step_s
    solve = splu((sparse.diags_array(stores / (STAGE * step_s)) + loses).tocsc()).solve
    kelvin = field.reshape(len(field), -1).T
    while True:
        power = yield kelvin.T.reshape(field.shape)
        watts = power.reshape(len(field), -1).T
        first = solve(watts - loses @ kelvin)
        second = solve(watts - loses @ (kelvin + (1 - STAGE) / STAGE * first))
        kelvin = kelvin + (1 - STAGE) / STAGE * first + second


def _find_solid_quanta(room: Room, opened: tuple[bool, ...]) -> Mask:
    drawn = make_plan(room)
    return (drawn.wall > 0) | np.array([False, *(not it for it in opened)])[drawn.door]


def _make_medium(
    room: Room, solid: Mask, opened: tuple[bool, ...]
) -> tuple[sparse.csr_array, Floats]:
    """Return the watts that leave each quantum for a kelvin in each, and the joules it takes."""
    drawn, air = make_plan(room), room.air
    passes = np.full(solid.shape, AIR_J_PER_M3K * air.mixing_m2_per_s)
    takes = np.full(solid.shape, AIR_J_PER_M3K * air.capacity_factor)
    for nth, wall in enumerate(room.walls):
        here, made = drawn.wall == nth + 1, MATERIALS[wall.material]
        thicker = _measure_thickness_mm(room, nth) / wall.thickness_mm
        passes[here] = made.conductivity_w_per_mk * thicker
        takes[here] = made.capacity_j_per_m3k / thicker
    for nth, door in enumerate(room.doors):
        wall_nth = find_door_wall(room, door)
        if not opened[nth] and wall_nth is not None:
            thicker = _measure_thickness_mm(room, wall_nth) / door.thickness_mm
            passes[drawn.door == nth + 1] = MATERIALS["wood"].conductivity_w_per_mk * thicker
    face, volume = SIDE_M * room.height_m, SIDE_M**2 * room.height_m
    fresh = AIR_J_PER_M3K * air.air_changes_per_h / 3600 * volume
    own = np.where(solid, 0.0, fresh)
    ends: dict[str, Any] = {
        "north": np.s_[0, :],
        "south": np.s_[-1, :],
        "west": np.s_[:, 0],
        "east": np.s_[:, -1],
    }
    for side, edge in ends.items():
        film = _compute_u_values(room, side, len(own[edge]))
        out = np.where(film > 0, 1 / np.maximum(film, 1e-12) + SIDE_M / 2 / passes[edge], np.inf)
        own[edge] += face / out
    number = np.arange(solid.size).reshape(solid.shape)
    pairs, flows = [], []
    along: list[tuple[Any, Any]] = [(np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])]
    for one, other in along:
        clings = np.where(solid[one] != solid[other], SURFACE_M2K_PER_W, 0.0)
        between = SIDE_M / 2 / passes[one] + clings + SIDE_M / 2 / passes[other]
        flows.append((face / between).ravel())
        pairs.append((number[one].ravel(), number[other].ravel()))
    begins, until = (np.concatenate([pair[end] for pair in pairs]) for end in (0, 1))
    flow = np.concatenate(flows)
    between = sparse.coo_array((flow, (begins, until)), (solid.size, solid.size)).tocsr()
    between = between + between.T
    loses = sparse.diags_array(own.ravel() + between.sum(axis=1)) - between
    return sparse.csr_array(loses), (takes * volume).ravel()


def _measure_thickness_mm(room: Room, nth: int) -> float:
    left, top, right, bottom = make_plan(room).boxes["wall", nth]
    return QUANTUM_MM * float(right - left if is_upright(room.walls[nth]) else bottom - top)


def _compute_u_values(room: Room, side: str, count: int) -> Floats:
    """Return what each quantum of a side passes, in W/(m2 K)."""
    glazed, film = np.zeros(count), np.zeros(count)
    since = SIDE_M * np.arange(count)
    for window in room.windows:
        if window.side == side:
            ends = np.minimum(since + SIDE_M, window.to_m) - np.maximum(since, window.from_m)
            share = np.maximum(ends, 0) / SIDE_M * window.height_m / room.height_m
            glazed, film = glazed + share, film + share * window.u_w_per_m2k
    return np.asarray(film + np.maximum(1 - glazed, 0) * room.sides[side].u_w_per_m2k)


def _weigh(solid: Mask, place: Sequence[float]) -> Floats:
    """Return the weights of quanta with which a thermometer reads, straight between their middles.

    What is no air of its own side is left out.
    """
    rows, columns = solid.shape
    x, y = (at / SIDE_M for at in place)
    own = [
        (row, column)
        for row in {math.ceil(y) - 1, math.floor(y)}
        for column in {math.ceil(x) - 1, math.floor(x)}
        if 0 <= row < rows and 0 <= column < columns and not solid[row, column]
    ]
    row, column = own[0]
    down = row + (1 if y > row + 0.5 else -1)
    right = column + (1 if x > column + 0.5 else -1)
    by, over = abs(y - row - 0.5), abs(x - column - 0.5)
    weights = np.zeros(solid.shape)

    def add(at: tuple[int, int], weight: float) -> bool:
        there = 0 <= at[0] < rows and 0 <= at[1] < columns and not solid[at]
        if there:
            weights[at] += weight
        return there

    add((row, column), (1 - by) * (1 - over))
    beside = [add((down, column), by * (1 - over)), add((row, right), (1 - by) * over)]
    if any(beside):
        add((down, right), by * over)
    return weights / weights.sum()


def _spread_body_heat(solid: Mask, place: Floats) -> Floats:
    """Return what a body of one watt gives each quantum: by how far the way through air is."""
    x, y = place / SIDE_M
    middle = int(min(max(y, 0), solid.shape[0] - 1e-9)), int(min(max(x, 0), solid.shape[1] - 1e-9))
    top, left = (max(at - ABOUT, 0) for at in middle)
    solid_here = solid[top : middle[0] + ABOUT + 1, left : middle[1] + ABOUT + 1]
    rows, columns = solid_here.shape
    number = np.arange(solid_here.size).reshape(rows, columns)
    begins, until, long = [], [], []
    row, column = np.nonzero(~solid_here)
    for down, right in WAYS:
        to_row, to_column = row + down, column + right
        good = (to_row < rows) & (to_column >= 0) & (to_column < columns)
        one, other, there = row[good], column[good], (to_row[good], to_column[good])
        # The straight way passes these two: both of a knight's, and one of a diagonal's.
        half = (int(down / 2), int(right / 2))
        if abs(down * right) == 2:
            between = half, (down - half[0], right - half[1])
        else:
            between = (down, 0), (0, right)
        clear = [~solid_here[one + step[0], other + step[1]] for step in between]
        free = clear[0] & clear[1] if abs(down * right) == 2 else clear[0] | clear[1]
        free &= ~solid_here[there]
        begins.append(number[one, other][free])
        until.append(number[there][free])
        long.append(np.full(free.sum(), SIDE_M * math.hypot(down, right)))
    ends = np.concatenate(begins), np.concatenate(until)
    graph = sparse.coo_array((np.concatenate(long), ends), (number.size, number.size)).tocsr()
    starts, first = [], []
    for at_row in {math.ceil(y) - 1, math.floor(y)}:
        for at_column in {math.ceil(x) - 1, math.floor(x)}:
            here = at_row - top, at_column - left
            if 0 <= here[0] < rows and 0 <= here[1] < columns and not solid_here[here]:
                starts.append(number[here])
                first.append(SIDE_M * math.hypot(at_row + 0.5 - y, at_column + 0.5 - x))
    gone = dijkstra(graph, directed=False, indices=starts, limit=REACH_M)
    way = (gone + np.array(first)[:, None]).min(axis=0)
    weight = np.maximum(1 - np.square(np.minimum(way, REACH_M) / REACH_M), 0).reshape(
        rows, columns
    )
    found = np.zeros(solid.shape)
    found[top : top + rows, left : left + columns] = weight / weight.sum()
    return found
