"""A response against a march forward on cells of 25 mm that shares nothing with it.

Written from what the plan of a room is defined to be, not from its code: quanta, walls that pass
and store as their true thickness does, 0.13 m2K/W on each face to air, and a body that warms what
is near it by a way through air. Explicit steps, one walk through the room for each place, where
the response comes of damped implicit steps, of pulses at the sensors run backward and of cells
that are cut at the walls.
"""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from physics.places import Floats
from physics.rooms.records import Air, Clock, Door, Room, Side, Thermometers, Wall
from physics.rooms.respond import respond

WIDE, DEEP, QUANTUM_M, HEIGHT_M = 96, 64, 0.025, 2.5  # a room of 2.4 m by 1.6 m
AIR, BRICK, WOOD, FILM, SIDE_U = 1206.0, (0.7, 1700 * 940.0), 0.13, 0.13, 1.0
MIXING, FACTOR, PER_H, LASTS_S, STEP_S = 0.005, 6.0, 1.0, 900.0, 0.15
REACH_M, SENSORS = 0.37, ((0.5, 0.8), (0.9, 0.3), (1.6, 0.9), (1.9, 1.1))


def room_of(left: int, near: int, opened: bool) -> Room:
    """Return a room with a wall of four quanta from there on, and a door in it."""
    x, y = (left + 2) * QUANTUM_M, (near + 12) * QUANTUM_M
    calm = ((0.0, 20.0),)
    return Room(
        name="marched",
        size_m=(2.4, 1.6),
        height_m=HEIGHT_M,
        cell_mm=200,
        air=Air(MIXING, PER_H, FACTOR, 20.0, calm),
        day=Clock(0.0, LASTS_S / 3600, 10.0),
        sides={name: Side(SIDE_U, calm) for name in ("north", "south", "west", "east")},
        walls=(Wall((x, 0.0), (x, 1.6), 100.0, "brick"),),
        doors=(Door((x, y), 0.6, 40.0, ((0.0, 1e6),) if opened else ()),),
        furniture=(),
        thermometers=(Thermometers("perfect", SENSORS),),
    )


def body(solid: np.ndarray, cell: tuple[int, int]) -> Floats:
    """Return what somebody gives off who is anywhere free in a cell of the map, by quantum."""
    number = np.arange(solid.size).reshape(solid.shape)
    ends: list[tuple[np.ndarray, np.ndarray, float]] = []
    for right, down in ((1, 0), (0, 1), (1, 1), (1, -1), (2, 1), (2, -1), (1, 2), (1, -2)):
        rows, columns = np.mgrid[:DEEP, :WIDE]
        good = (columns + right < WIDE) & (rows + down >= 0) & (rows + down < DEEP)
        for part in np.linspace(0, 1, 9):  # all that it goes through is air
            y = np.clip(np.rint(rows + part * down).astype(int), 0, DEEP - 1)
            x = np.clip(np.rint(columns + part * right).astype(int), 0, WIDE - 1)
            good &= ~solid[y, x]
        to = number[rows[good] + down, columns[good] + right]
        ends.append((number[good], to, QUANTUM_M * np.hypot(right, down)))
    one, other = (np.concatenate([end[side] for end in ends]) for side in (0, 1))
    far = np.concatenate([np.full(len(end[0]), end[2]) for end in ends])
    ways = coo_array((far, (one, other)), shape=(solid.size, solid.size)).tocsr()
    column, row = cell
    stands = number[8 * row : 8 * row + 8, 8 * column : 8 * column + 8]
    stands = stands[~solid.ravel()[stands]]
    gone = dijkstra(ways, directed=False, indices=stands.ravel(), limit=REACH_M)
    weight = np.maximum(0.0, 1 - np.square(np.minimum(gone, REACH_M) / REACH_M))
    return (weight / weight.sum(axis=1, keepdims=True)).mean(axis=0).reshape(solid.shape)


def marched(left: int, near: int, opened: bool, cells: list[tuple[int, int]]) -> Floats:
    """Return what the sensors feel at the end of a watt in each of these cells, all the time."""
    wall, leaf = (np.zeros((DEEP, WIDE), dtype=bool) for _ in range(2))
    wall[:, left : left + 4] = True
    leaf[near : near + 24, left : left + 4] = True
    wall &= ~leaf
    solid = wall if opened else wall | leaf
    passes = np.where(wall, BRICK[0], AIR * MIXING)
    if not opened:
        passes[leaf] = WOOD * 0.1 / 0.04
    volume, face = QUANTUM_M**2 * HEIGHT_M, QUANTUM_M * HEIGHT_M
    stores = np.where(wall, BRICK[1], AIR * FACTOR) * volume
    loses = np.where(solid, 0.0, PER_H / 3600 * AIR * volume)
    for at in (np.s_[0, :], np.s_[-1, :], np.s_[:, 0], np.s_[:, -1]):
        loses[at] += face / (1 / SIDE_U + QUANTUM_M / 2 / passes[at])

    def flows(one: tuple[slice, slice], other: tuple[slice, slice]) -> Floats:
        film = np.where(solid[one] != solid[other], FILM, 0.0)
        return face / (QUANTUM_M / 2 / passes[one] + film + QUANTUM_M / 2 / passes[other])

    across = flows(np.s_[:, :-1], np.s_[:, 1:])
    down = flows(np.s_[:-1], np.s_[1:])
    power = np.stack([body(solid, cell) for cell in cells])
    field = np.zeros_like(power)
    for _ in range(round(LASTS_S / STEP_S)):
        east = across * np.diff(field, axis=2)
        south = down * np.diff(field, axis=1)
        rate = power - loses * field
        rate[:, :, :-1] += east
        rate[:, :, 1:] -= east
        rate[:, :-1] += south
        rate[:, 1:] -= south
        field += STEP_S * rate / stores
    # Sensors stand where four quanta meet.
    column, row = np.rint(np.array(SENSORS) / QUANTUM_M).astype(int).T
    corners = [(row - up, column - west) for up in (0, 1) for west in (0, 1)]
    return np.asarray(sum(field[:, y, x] for y, x in corners) / 4)


@pytest.mark.long
@pytest.mark.parametrize("opened", [True, False])
def test_a_response_is_what_a_march_forward_feels(opened: bool) -> None:
    """In a room at random, beside the wall, in the door's way and far off: 2 % of the warmest."""
    world = np.random.default_rng(7)
    left, near = int(world.integers(40, 52)), int(world.integers(8, 32))
    beside, row = left // 8, (near + 12) // 8
    cells = [(beside - 1, row), (beside + 1, row), (1, 1), (10, 6)]
    made = respond(room_of(left, near, opened), 0.2, through_walls=False)
    felt = made.operator[:, [y * 12 + x for x, y in cells]].T
    truth = marched(left, near, opened, cells)

    assert np.abs(felt - truth).max() < 0.02 * truth.max()
    assert np.abs(felt - truth[::-1]).max() > 0.3 * truth.max()  # the control: other places
