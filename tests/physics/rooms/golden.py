"""The sample office's day on cells of 25 mm by a solver of its own: what `test_golden` is held to.

    python -m tests.physics.rooms.golden

writes `office_25mm.csv` anew, in about a minute: tenths of a millikelvin at each thermometer, with
people and had nobody been there, at some moments. Of the project's own code it takes what the
room's file says, and where people, heaters and weather give heat; it cuts the room, assembles and
steps by itself.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from physics.rooms import model
from physics.rooms.day import day
from physics.rooms.read import read

FILE = Path(__file__).parent / "office_25mm.csv"
MOMENTS_S = (11.5 * 3600, 14.5 * 3600, 16 * 3600)
CELL_M, FILM = 0.025, 0.13
AIR, WALL, LEAF = 1206.0, (0.25, 9e5), 0.13 / 0.04 * 0.1
# North, south, west and east, and how they pass heat; in the east is a window.
SIDES = (np.s_[0, :], np.s_[-1, :], np.s_[:, 0], np.s_[:, -1])
GLASS = np.where((np.arange(160) >= 24) & (np.arange(160) < 136), 1.4 / 2.7, 0.0)
FILMS = (1.5, 1.5, 1.0, 0.35 + (1.3 - 0.35) * GLASS)


def factors(shut: bool, step_s: float) -> tuple[object, np.ndarray, np.ndarray]:
    """Return what solves half a step, the capacity, and what fresh air takes, of each cell."""
    solid = np.zeros((160, 240), dtype=bool)
    solid[:, 80:84] = True
    solid[102:138, 80:84] = shut
    passes = np.where(solid, WALL[0], AIR * 0.005)
    passes[102:138, 80:84] = LEAF if shut else AIR * 0.005
    takes = np.where(solid, WALL[1], AIR * 12)
    takes[102:138, 80:84] = AIR * 12
    volume, side = CELL_M**2 * 2.7, CELL_M * 2.7
    number = np.arange(solid.size).reshape(solid.shape)
    rows, columns, values = [], [], []
    for one, other in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        film = np.where(solid[one] != solid[other], FILM, 0.0)
        flow = side / (CELL_M / 2 / passes[one] + film + CELL_M / 2 / passes[other])
        for a, b in ((one, other), (other, one)):
            rows += [number[a].ravel(), number[a].ravel()]
            columns += [number[a].ravel(), number[b].ravel()]
            values += [flow.ravel(), -flow.ravel()]
    fresh = np.where(solid, 0.0, AIR / 3600 * volume)
    sides = np.zeros(solid.shape)
    half = CELL_M / 2 / passes
    for at, film in zip(SIDES, FILMS, strict=True):
        sides[at] += side / (1 / film + half[at])
    whole = sparse.diags((2 / step_s * takes * volume + sides + fresh).ravel())
    matrix = sparse.csc_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    )
    return splu((whole + matrix).tocsc()), takes * volume, fresh


def main() -> None:
    room = replace(read(Path(model.__file__).parent / "office.toml"), cell_mm=25)
    today, step_s = day(room, np.random.default_rng(1)), room.day.step_s
    known = {shut: factors(shut, step_s) for shut in (False, True)}
    media = {shut: model.standing(room, (not shut,)) for shut in (False, True)}
    field = np.zeros((160 * 240, 2))
    kept, at_s = [], room.day.start_s
    while at_s < MOMENTS_S[-1]:
        shut = not room.doors[0].is_open(at_s + step_s / 2)
        solve, capacity, fresh = known[shut]
        empty = model.empty(room, at_s, at_s + step_s)
        people = model.heat(room, today, at_s, at_s + step_s)
        given = np.stack([empty.power_w + people, empty.power_w])
        (west, east), (north, south) = empty.outside_k
        half = CELL_M / 2 / media[shut].conductivity
        for at, film, beyond in zip(SIDES, FILMS, (north, south, west, east), strict=True):
            given[:, *at] += beyond * CELL_M * 2.7 / (1 / film + half[at])
        given += fresh * empty.supply_k
        flat = given.reshape(2, -1).T
        for _ in range(2):
            field = solve.solve(flat + (2 / step_s) * capacity.reshape(-1, 1) * field)
        at_s += step_s
        if at_s in MOMENTS_S:
            kept.append(field.T.reshape(2, 160, 240).copy())
    places = 40 * np.array(room.thermometers[0].places_m)  # all on lines between cells
    column, row = np.rint(places).astype(int).T
    corners = [(row - down, column - right) for down in (0, 1) for right in (0, 1)]
    rows = [sum(one[:, y, x] for y, x in corners) / 4 for one in kept]
    rounded = np.rint(1e4 * np.array(rows)).astype(int).reshape(-1, 24)
    np.savetxt(FILE, rounded, fmt="%d", delimiter=",")


if __name__ == "__main__":
    sys.exit(main())
