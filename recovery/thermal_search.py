"""The worst that one move can do to what sensors send, found by trying and by nothing else.

For the audit. Warmth, by finite differences, places, moves and spreads are done here anew and
share nothing with the code that plans the noise; only the way from a temperature to whole
grains is the real one. Backgrounds are put where they do most harm: other sources, drift and a
sensor's own noise may lift each sensor to just below a step of its converter.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.records import Round
from edge.thermal import Params, params_of
from physics.sensors import grains

from .thermal_parted import NAME as PARTED
from .thermal_parted import before_and_after
from .thermal_query import Query

Floats = NDArray[np.float64]
Ways = tuple[NDArray[np.bool_], NDArray[np.bool_]]  # to the right and down, (rows, columns)

NODES = 1 << 22  # of a line in finite differences; beside the kernel it is off by 1e-9
RUNG = 1.06  # from one spread tried to the next
KEPT = 12  # moves that are tried with many backgrounds, the likeliest first
LEVELS = 64  # steps of the converter among which a background is chosen


class Found(NamedTuple):
    """The two neighbours that differ most, in grains, and what was tried to find them.

    tight: whether none can differ much more, for all moves were tried.
    """

    square: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    where: str
    tried: int
    tight: bool = True


class _Move(NamedTuple):
    promising: float  # about the square that rounding may make of it, to sort by
    before: Floats  # temperatures, (sensors,)
    after: Floats
    where: str


def search(query: Query, round: Round, rng: Any, tries: int, ways: Ways | None = None) -> Found:
    """Return the two neighbours that change what is sent the most.

    Args:
        rng: gives whole numbers below n, for the backgrounds.
        tries: backgrounds for each of the moves that are kept.
        ways: of a room with a response, from which cells one can walk to the next.
    """
    params = params_of(round)
    step = Fraction(2) ** -params.exponent if query.step is None else query.step
    best: list[_Move] = []
    tried = 0
    for spread in spreads(query) if query.response is None else [math.nan]:
        moves = list(_moves(query, spread, float(step), ways))
        tried += len(moves)
        best = sorted(best + moves, key=lambda move: -move.promising)[:KEPT]
    found = Found(0, (), (), "", 0)
    for move in best:
        before, after = _lifted(move, query, params, float(step), rng, tries)
        square = sum((a - b) ** 2 for a, b in zip(after, before, strict=True))
        if square > found.square:
            found = Found(square, before, after, move.where, 0)
    tight = query.response is None or query.response.name == PARTED
    return found._replace(tried=tried + len(best) * tries, tight=tight)


def _lifted(
    move: _Move, query: Query, params: Params, step: float, rng: Any, tries: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return what is sent before and after, every sensor on the background that is worst."""
    lower = np.minimum(move.before, move.after)
    sent = [(0, 0)] * len(lower)
    for _ in range(tries):
        level = np.array([rng.below(LEVELS) for _ in lower]) + 0.5
        # A hair below the level, or a few, for the sum is rounded as well.
        lift = (level - 1e-13 * (1 << rng.below(8)) * LEVELS) * step - lower
        pairs = zip(
            *(grains(warm + lift, params.exponent, query.step) for warm in move[1:3]), strict=True
        )
        for sensor, pair in enumerate(pairs):
            low, high = (min(max(one, params.low), params.high) for one in pair)
            if abs(high - low) > abs(sent[sensor][1] - sent[sensor][0]):
                sent[sensor] = low, high
    before, after = zip(*sent, strict=True)
    return before, after


def spreads(query: Query) -> list[float]:
    """Return the spreads to try, from the one that is stated upwards to where all is even."""
    if query.calibration == "paper" and query.sigma is None:
        return [query.spread_m2]  # the printed formula promises this one alone
    longest = max(_side(query) * count for count in query.grid.shape) ** 2
    rungs = max(0, math.ceil(math.log(longest / query.spread_m2) / math.log(RUNG)))
    return [query.spread_m2 * RUNG**rung for rung in range(rungs + 1)]


def _moves(query: Query, spread: float, step: float, ways: Ways | None) -> Iterator[_Move]:
    """Yield the most promising moves within the protected distance at this spread."""
    if query.response is not None:
        yield from _in_room(query, step, ways)
        return
    columns, rows = query.grid.shape
    warmth = (query.intensity_max * _warmth(query, spread)).reshape(-1, rows, columns)
    far = 1.0
    if query.protect_distance_m is not None:
        far = math.ceil(query.protect_distance_m / _side(query) - 1e-9)
    reach = int(far)
    for right in range(-min(reach, columns - 1), min(reach, columns - 1) + 1):
        for down in range(min(reach, rows - 1) + 1):
            if not 0 < right * right + down * down <= far * far or (down == 0 and right < 0):
                continue
            first = max(0, -right)
            across = columns - abs(right)
            here = warmth[:, : rows - down, first : first + across]
            there = warmth[:, down:, first + right : first + right + across]
            for row, column in _likeliest(here, there, step):
                before = row * columns + first + column
                after = before + down * columns + right
                where = f"from cell {before} to cell {after}, spread {spread:.4g}"
                yield _move(here[:, row, column], there[:, row, column], step, where)


def _likeliest(here: Floats, there: Floats, step: float) -> list[tuple[int, int]]:
    """Return the rows and columns where steps of the converter part the two the most."""
    square = np.square(np.ceil(np.abs(there - here) / step * (1 - 1e-9))).sum(axis=0)
    best = np.argsort(-square, axis=None, kind="stable")[:KEPT]
    return [(int(one) // square.shape[1], int(one) % square.shape[1]) for one in best]


def _move(before: Floats, after: Floats, step: float, where: str) -> _Move:
    steps = np.ceil(np.abs(after - before) / step * (1 - 1e-9))
    return _Move(float(steps @ steps), before, after, where)


def _in_room(query: Query, step: float, ways: Ways | None) -> Iterator[_Move]:
    """Yield moves in a room with a response: of people who stay, but in the audit's own room."""
    made = query.response
    if made is None or made.name == PARTED:
        yield _Move(1.0, *before_and_after(query), "along paths that are displaced all the time")
        return
    if ways is None or _side(query) > (query.protect_distance_m or math.inf):
        return
    columns, rows = query.grid.shape
    warmth = (query.intensity_max * made.operator).reshape(-1, rows, columns)
    for (right, down), way in zip(((1, 0), (0, 1)), ways, strict=True):
        both = way[: rows - down, : columns - right]
        here = warmth[:, : rows - down, : columns - right] * both
        there = warmth[:, down:, right:] * both
        for row, column in _likeliest(here, there, step):
            where = f"who stays in column {column}, row {row}, and in the cell beside it"
            yield _move(here[:, row, column], there[:, row, column], step, where)


def _side(query: Query) -> float:
    if query.grid.cell_mm:
        return query.grid.cell_mm / 1000
    return 1 / max(query.grid.shape)


def _warmth(query: Query, spread: float) -> Floats:
    """Return the temperature at each sensor of a unit source in each cell, (sensors, cells)."""
    shape = query.grid.shape
    sensors = (*query.sensors, 1)[:2]
    lines = []
    for axis in range(2 if shape[1] > 1 else 1):
        if query.grid.cell_mm:
            length = shape[axis] * query.grid.cell_mm / 1000
            stands = [(i + 0.5) * length / shape[axis] for i in range(shape[axis])]
            reads = [(i + 0.5) * length / sensors[axis] for i in range(sensors[axis])]
        else:
            length = 1.0
            stands = [(i + 1) / shape[axis] for i in range(shape[axis])]
            reads = [(i + 1) / sensors[axis] for i in range(sensors[axis])]
        lines.append(_line(np.array(stands), np.array(reads), spread, query.walls, length))
    if len(lines) == 1:
        return lines[0]
    # Row by row, x fastest, in cells as in sensors.
    across, down = lines
    return np.einsum("yb,xa->yxba", down, across).reshape(
        sensors[0] * sensors[1], shape[0] * shape[1]
    )


def _line(stands: Floats, reads: Floats, spread: float, walls: str, length: float) -> Floats:
    """Return what finite differences make of a unit of heat along a line, by their own modes.

    The line is cut into NODES cells between walls that no heat passes; what has none is let in
    the middle of so long a line that heat does not come to its ends. A mode is a cosine, which
    dies away by its eigenvalue; those that are gone by this spread are left out.
    """
    margin = 0.0 if walls == "insulated" else 14 * math.sqrt(spread)
    whole = length + 2 * margin
    cell = whole / NODES
    modes = np.arange(min(NODES, math.ceil(whole / math.pi * math.sqrt(40 / spread)) + 1))
    waves = modes * (math.pi / whole)
    dies = np.exp(-spread * (2 / cell * np.sin(waves * cell / 2)) ** 2) * np.where(modes, 2, 1)
    seen, heated = (np.cos(np.outer(at + margin, waves)) for at in (reads, stands))
    total: Floats = (seen * dies) @ heated.T / whole
    return total
