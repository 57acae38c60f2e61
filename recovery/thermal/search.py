"""The worst that one move can do to what sensors send, found by trying and by nothing else.

For the audit. Warmth, by finite differences, places, moves and spreads are done here anew and
share nothing with the code that plans the noise; only the way from a temperature to whole
grains is the real one. Backgrounds are put where they do most harm: other sources, drift and a
sensor's own noise may lift each sensor to just below a step of its converter.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from edge.core.records import Grid, Round
from edge.mechanisms.thermal import Params, params_of
from physics.displaced import build_floor, build_lags
from physics.response import Response
from physics.sensors import to_grains

from .query import Query

# A corridor with a partition, for the audit: its planned response, and paths run forward.
#
# Written anew and straight away: a small model of its own, stepped forward for every path that is
# tried, where the response that noise is planned with comes of pulses at the sensor run backward.

Floats = NDArray[np.float64]

NAME = "parted"
_CELLS, _CELL_MM = 12, 500
_WALL = 5  # the cell that nobody is in and no warmth passes
_SENSOR = 7
_LAGS, _STEP_S = 20, 60.0
_STORED = 3000.0  # joules a kelvin, of each cell
_PASSED, _LOST = 12.0, 0.5  # watts a kelvin, to the next cell and out of the room


def make_corridor_response() -> Response:
    """Return the response of the corridor to people anywhere but in its partition.

    Who is between the middles of two cells warms both, each the more the nearer it is.
    """
    step, pulse = _step(), np.eye(_CELLS)[[_SENSOR]]
    fields = []
    for _ in range(_LAGS):
        pulse = pulse @ step
        fields.append(pulse.T * _STEP_S / _STORED)
    grid = Grid((_CELLS, 1), _CELL_MM)
    # Two rows of nodes, each over the middles of the cells; what is across does not matter.
    side_m = _CELL_MM / 1000
    x, y = np.meshgrid((np.arange(_CELLS) + 0.5) * side_m, [0.0, side_m])
    near = np.array([cell for cell in range(_CELLS - 1) if _WALL not in (cell, cell + 1)])
    here = build_floor(
        np.stack([x.ravel(), y.ravel()], axis=1),
        np.stack([near, near + 1, near + _CELLS, near + _CELLS + 1], axis=1),
        np.full((len(near), 2), side_m),
        scipy.sparse.csr_array(np.vstack([np.eye(_CELLS)] * 2)),
    )
    far = (1, 2, 4, 12)
    standing = np.arange(_CELLS) != _WALL
    return Response(
        grid=grid,
        places_m=np.array([[(_SENSOR + 0.5) * side_m, side_m / 2]]),
        open_cells=standing,
        operator=np.sum(fields, axis=0).T * standing,
        hold_s=_LAGS * _STEP_S,
        lasts_s=_LAGS * _STEP_S,
        far_cells=far,
        changes=build_lags([(here, fields)], [side_m * cells for cells in far]).most,
        name=NAME,
        through_walls=False,
    )


@lru_cache(maxsize=8)
def trace_paths(power_w: float, distance_m: float) -> tuple[Floats, Floats]:
    """Return the temperatures after a path and after a displaced one, each made to be seen.

    At every moment the two are where, so long before the reading, the sensor tells best who is
    no further apart; on the same side of the partition.
    """
    here, there = [], []
    tried = [
        (one, other)
        for one in np.arange(_CELLS - 1, step=1 / 8).tolist()
        for other in (one - distance_m * 1000 / _CELL_MM, one + distance_m * 1000 / _CELL_MM)
        if 0 <= other <= _CELLS - 1
        and (max(one, other) <= _WALL - 1 or min(one, other) >= _WALL + 1)
    ]
    for lag in range(_LAGS):
        one, other = max(tried, key=lambda pair: _tell(pair[0], lag) - _tell(pair[1], lag))
        here.append(one)
        there.append(other)
    return _simulate_path(here[::-1], power_w), _simulate_path(there[::-1], power_w)


def trace_query_paths(query: Query) -> tuple[Floats, Floats]:
    """Return what `trace_paths` finds for a query of this room."""
    return trace_paths(query.intensity_max, query.protect_distance_m or _CELL_MM / 1000)


@cache
def _tell(place: float, lag: int) -> float:
    """Return what the sensor shows of a watt that was there in one step alone, so long ago."""
    return float(_simulate_path([place] + [None] * lag, 1.0)[0])


def _simulate_path(path: "list[float] | list[float | None]", power_w: float) -> Floats:
    """Return what the sensor shows at the end of a path, a place in cells for each step."""
    warmth, step = np.zeros(_CELLS), _step()
    for place in path:
        if place is not None:
            cell = min(int(place), _CELLS - 2)
            share = np.array([1 + cell - place, place - cell])
            warmth[cell : cell + 2] += share * power_w * _STEP_S / _STORED
        warmth = step @ warmth
    return warmth[[_SENSOR]]


@lru_cache(maxsize=1)
def _step() -> Floats:
    """Return what a step makes of the temperatures, (cells, cells), as backward Euler does."""
    flows = np.zeros((_CELLS, _CELLS))
    for cell in range(_CELLS - 1):
        passed = 0.0 if _WALL in (cell, cell + 1) else _PASSED
        flows[[cell, cell + 1], [cell, cell + 1]] += passed
        flows[[cell, cell + 1], [cell + 1, cell]] -= passed
    implicit = np.eye(_CELLS) + (flows + _LOST * np.eye(_CELLS)) * _STEP_S / _STORED
    return np.asarray(np.linalg.inv(implicit))


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


class _Shown(NamedTuple):
    """How converters show what sensors feel, in kelvin."""

    step: float
    behind: float

    def steps(self, felt: Floats) -> Floats:
        """Return by about how many steps changes of so much may show."""
        widened = felt + (felt > 0) * self.behind
        return np.asarray(np.ceil(widened / self.step * (1 - 1e-9)))


class _Move(NamedTuple):
    promising: float  # about the square that rounding may make of it, to sort by
    before: Floats  # temperatures, (sensors,)
    after: Floats
    where: str


def search_neighbours(
    query: Query, round: Round, rng: Any, tries: int, ways: Ways | None = None
) -> Found:
    """Return the two neighbours that change what is sent the most.

    Args:
        rng: gives whole numbers below n, for the backgrounds.
        tries: backgrounds for each of the moves that are kept.
        ways: of a room with a response, from which cells one can walk to the next.
    """
    params = params_of(round)
    step = query.step or Fraction(2) ** -params.exponent
    shown = _Shown(float(step), float(query.behind))
    best: list[_Move] = []
    tried = 0
    for spread in list_spreads(query) if query.response is None else [math.nan]:
        moves = list(_yield_moves(query, spread, shown, ways))
        tried += len(moves)
        best = sorted(best + moves, key=lambda move: -move.promising)[:KEPT]
    found = Found(0, (), (), "", 0)
    for move in best:
        before, after = _lift_to_worst(move, query, params, shown, rng, tries)
        square = sum((a - b) ** 2 for a, b in zip(after, before, strict=True))
        if square > found.square:
            found = Found(square, before, after, move.where, 0)
    tight = query.response is None or query.response.name == NAME
    return found._replace(tried=tried + len(best) * tries, tight=tight)


def _lift_to_worst(
    move: _Move, query: Query, params: Params, shown: _Shown, rng: Any, tries: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return what is sent before and after, every sensor on the background that is worst.

    A converter behind shows the colder of the two a whole count too low, the other as it is.
    """
    before, after = (
        one - (one < other) * shown.behind * (1 - 1e-9) for one, other in (move[1:3], move[2:0:-1])
    )
    lower = np.minimum(before, after)
    sent = [(0, 0)] * len(lower)
    for _ in range(tries):
        level = np.array([rng.below(LEVELS) for _ in lower]) + 0.5
        # A hair below the level, or a few, for the sum is rounded as well.
        lift = (level - 1e-13 * (1 << rng.below(8)) * LEVELS) * shown.step - lower
        sides = (to_grains(warm + lift, params.exponent, query.step) for warm in (before, after))
        for sensor, pair in enumerate(zip(*sides, strict=True)):
            low, high = (min(max(one, params.low), params.high) for one in pair)
            if abs(high - low) > abs(sent[sensor][1] - sent[sensor][0]):
                sent[sensor] = low, high
    one, other = zip(*sent, strict=True)
    return one, other


def list_spreads(query: Query) -> list[float]:
    """Return the spreads to try, from the one that is stated upwards to where all is even."""
    if query.calibration == "paper" and query.sigma is None:
        return [query.spread_m2]  # the printed formula promises this one alone
    longest = max(_compute_cell_side(query) * count for count in query.grid.shape) ** 2
    rungs = max(0, math.ceil(math.log(longest / query.spread_m2) / math.log(RUNG)))
    return [query.spread_m2 * RUNG**rung for rung in range(rungs + 1)]


def _yield_moves(query: Query, spread: float, shown: _Shown, ways: Ways | None) -> Iterator[_Move]:
    """Yield the most promising moves within the protected distance at this spread."""
    if query.response is not None:
        yield from _yield_moves_in_room(query, shown, ways)
        return
    columns, rows = query.grid.shape
    warmth = (query.intensity_max * _compute_warmth(query, spread)).reshape(-1, rows, columns)
    far = 1.0
    if query.protect_distance_m is not None:
        far = math.ceil(query.protect_distance_m / _compute_cell_side(query) - 1e-9)
    reach = int(far)
    for right in range(-min(reach, columns - 1), min(reach, columns - 1) + 1):
        for down in range(min(reach, rows - 1) + 1):
            if not 0 < right * right + down * down <= far * far or (down == 0 and right < 0):
                continue
            first = max(0, -right)
            across = columns - abs(right)
            here = warmth[:, : rows - down, first : first + across]
            there = warmth[:, down:, first + right : first + right + across]
            for row, column in _find_likeliest(here, there, shown):
                before = row * columns + first + column
                after = before + down * columns + right
                where = f"from cell {before} to cell {after}, spread {spread:.4g}"
                yield _move(here[:, row, column], there[:, row, column], shown, where)


def _find_likeliest(here: Floats, there: Floats, shown: _Shown) -> list[tuple[int, int]]:
    """Return the rows and columns where steps of the converter part the two the most."""
    square = np.square(shown.steps(np.abs(there - here))).sum(axis=0)
    best = np.argsort(-square, axis=None, kind="stable")[:KEPT]
    return [(int(one) // square.shape[1], int(one) % square.shape[1]) for one in best]


def _move(before: Floats, after: Floats, shown: _Shown, where: str) -> _Move:
    steps = shown.steps(np.abs(after - before))
    return _Move(float(steps @ steps), before, after, where)


def _yield_moves_in_room(query: Query, shown: _Shown, ways: Ways | None) -> Iterator[_Move]:
    """Yield moves in a room with a response: of people who stay, but in the audit's own room."""
    made = query.response
    if made is None or made.name == NAME:
        yield _Move(1.0, *trace_query_paths(query), "along paths that are displaced all the time")
        return
    if ways is None or _compute_cell_side(query) > (query.protect_distance_m or math.inf):
        return
    columns, rows = query.grid.shape
    warmth = (query.intensity_max * made.operator).reshape(-1, rows, columns)
    for (right, down), way in zip(((1, 0), (0, 1)), ways, strict=True):
        both = way[: rows - down, : columns - right]
        here = warmth[:, : rows - down, : columns - right] * both
        there = warmth[:, down:, right:] * both
        for row, column in _find_likeliest(here, there, shown):
            where = f"who stays in column {column}, row {row}, and in the cell beside it"
            yield _move(here[:, row, column], there[:, row, column], shown, where)


def _compute_cell_side(query: Query) -> float:
    if query.grid.cell_mm:
        return query.grid.cell_mm / 1000
    return 1 / max(query.grid.shape)


def _compute_warmth(query: Query, spread: float) -> Floats:
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
        lines.append(
            _compute_line_warmth(np.array(stands), np.array(reads), spread, query.walls, length)
        )
    if len(lines) == 1:
        return lines[0]
    # Row by row, x fastest, in cells as in sensors.
    across, down = lines
    return np.einsum("yb,xa->yxba", down, across).reshape(
        sensors[0] * sensors[1], shape[0] * shape[1]
    )


def _compute_line_warmth(
    stands: Floats, reads: Floats, spread: float, walls: str, length: float
) -> Floats:
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
