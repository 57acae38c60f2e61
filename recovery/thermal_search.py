"""The worst that one move can do to what sensors send, found by trying and by nothing else.

For the audit. Kernel, places, moves and spreads are written here anew, from the formulas, and
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

from .thermal_parted import before_and_after
from .thermal_query import Query

Floats = NDArray[np.float64]

RUNG = 1.06  # from one spread tried to the next
KEPT = 12  # moves that are tried with many backgrounds, the likeliest first
LEVELS = 64  # steps of the converter among which a background is chosen


class Found(NamedTuple):
    """The two neighbours that differ most, in grains, and what was tried to find them."""

    square: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    where: str
    tried: int


class _Move(NamedTuple):
    promising: float  # about the square that rounding may make of it, to sort by
    before: Floats  # temperatures, (sensors,)
    after: Floats
    where: str


def search(query: Query, round: Round, rng: Any, tries: int) -> Found:
    """Return the two neighbours that change what is sent the most.

    Args:
        rng: gives whole numbers below n, for the backgrounds.
        tries: backgrounds for each of the moves that are kept.
    """
    params = params_of(round)
    step = Fraction(2) ** -params.exponent if query.step is None else query.step
    best: list[_Move] = []
    tried = 0
    for spread in spreads(query) if query.response is None else [math.nan]:
        moves = list(_moves(query, spread, float(step)))
        tried += len(moves)
        best = sorted(best + moves, key=lambda move: -move.promising)[:KEPT]
    found = Found(0, (), (), "", 0)
    for move in best:
        before, after = _lifted(move, query, params, float(step), rng, tries)
        square = sum((a - b) ** 2 for a, b in zip(after, before, strict=True))
        if square > found.square:
            found = Found(square, before, after, move.where, 0)
    return found._replace(tried=tried + len(best) * tries)


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


def _moves(query: Query, spread: float, step: float) -> Iterator[_Move]:
    """Yield every move within the protected distance at this spread."""
    if query.response is not None:
        yield _Move(1.0, *before_and_after(query), "along paths that are displaced all the time")
        return
    columns, rows = query.grid.shape
    warmth = query.intensity_max * _warmth(query, spread)
    far = 1.0
    if query.protect_distance_m is not None:
        far = math.ceil(query.protect_distance_m / _side(query) - 1e-9)
    reach = int(far)
    for right in range(-reach, reach + 1):
        for down in range(reach + 1):
            if not 0 < right * right + down * down <= far * far or (down == 0 and right < 0):
                continue
            for row in range(rows - down):
                for column in range(max(0, -right), columns - max(0, right)):
                    here = row * columns + column
                    there = here + down * columns + right
                    before, after = warmth[:, here], warmth[:, there]
                    steps = np.ceil(np.abs(after - before) / step * (1 - 1e-9))
                    where = f"from cell {here} to cell {there}, spread {spread:.4g}"
                    yield _Move(float(steps @ steps), before, after, where)


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
    """Return exp(-d**2 / 4 s) / sqrt(4 pi s), with all mirror images that reach between walls."""
    mirrors = math.ceil(math.sqrt(46 * spread) / length) + 1 if walls == "insulated" else 0
    total = np.zeros((len(reads), len(stands)))
    for k in range(-mirrors, mirrors + 1):
        for mirrored in (stands, -stands)[: 1 + (walls == "insulated")]:
            distance = reads[:, None] - (mirrored + 2 * k * length)[None, :]
            total += np.exp(-distance * distance / (4 * spread))
    return total / math.sqrt(4 * math.pi * spread)
