"""The spread at which a move of one source is felt most, of all within a range.

Fresh heat is mostly felt more than old. Where sensors are sparse it is felt less: what stood
between two of them reaches both later. So a range of spreads is searched, and as no search sees
all of them, what may hide between two is bounded (`physics.operators.between`) and the bound is
what comes back: noise that is scaled to it is never too little.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..kernel import AnyWalls, forward
from .between import free_between, walled_bend, walled_between
from .choose import Method, forward_operator
from .direct import count
from .layout import Axes, laid_out
from .moved import moved, presence
from .steps import Among

_RUNG = 1.2  # between neighbours of the first search
_MOST_LOOKS = 400
# Rounding of a sensitivity; and of an entry, relative to the largest that there can be, which is
# all that is left where heat between insulated walls is everywhere alike.
_ROUNDING, _ENTRY = 1e-9, 1e-14


@dataclass(frozen=True, slots=True)
class Worst:
    """The joint sensitivity over a range of spreads.

    Args:
        sensitivity: an upper bound over the whole range.
        found: the greatest that was met with.
        spread_m2: where.
        looks: at how many spreads.
    """

    sensitivity: float
    found: float
    spread_m2: float
    looks: int


def worst_moved(
    sources_m: ArrayLike | Axes,
    sensors_m: ArrayLike | Axes,
    low_m2: float,
    high_m2: float,
    walls: AnyWalls = "none",
    length_m: float | Sequence[float] = 1.0,
    cells: int = 1,
    among: Among = "ring",
    loose: float = 1e-3,
    want: Method | None = None,
) -> Worst:
    """Return how far a move can change all the readings, at the worst spread from low to high.

    Args:
        sources_m, sensors_m, walls, length_m, want: as for `forward_operator`. Sources in a
            plane or a room must be a grid.
        low_m2, high_m2: the range, in square metres, both of it included.
        cells, among: as for `moved`.
        loose: the bound is at most this share above what was found, where 400 spreads are
            enough for it; it is a bound in any case.

    Raises:
        ValueError: no range, or as `forward_operator` and `moved`.

    >>> places = np.arange(1, 101) / 100
    >>> round(worst_moved(places, places[1::2], 0.05, 1.0).sensitivity, 4)
    0.1359
    """
    if not 0 < low_m2 <= high_m2 < math.inf or not loose > 0:
        raise ValueError(
            f"the spreads run from {low_m2:g} to {high_m2:g} m2, to a share of {loose:g}, but "
            "must be positive, finite and in this order, for the worst is sought between them. "
            "Give the shortest time times the diffusivity first."
        )
    grid = laid_out("sources_m", sources_m)
    counts = grid.counts if isinstance(grid, Axes) else None
    axes = len(grid.counts) if isinstance(grid, Axes) else grid.shape[1]

    def felt(spread_m2: float) -> float:
        made = forward_operator(sources_m, sensors_m, spread_m2, walls, length_m, want)
        return moved(made, cells, among, counts)

    def longest(spread_m2: float) -> float:
        return presence(forward_operator(sources_m, sensors_m, spread_m2, "insulated", length_m))

    worst = search(felt, low_m2, high_m2, axes, None if walls == "none" else longest, loose)
    # No entry is larger than the freshest heat at its source, in a corner or far from cold walls.
    lengths = np.broadcast_to(np.asarray(length_m, dtype=float), axes)
    at = (lengths / 2 if walls == "cold" else np.zeros(axes))[None]
    most = float(forward(at, at, low_m2, walls, tuple(lengths.tolist()))[0, 0])
    few = count(laid_out("sensors_m", sensors_m))
    return replace(worst, sensitivity=worst.sensitivity + 2 * _ENTRY * most * math.sqrt(few))


def search(
    felt: Callable[[float], float],
    low_m2: float,
    high_m2: float,
    axes: int,
    longest: Callable[[float], float] | None = None,
    loose: float = 1e-3,
) -> Worst:
    """Return the greatest of `felt` over a range, halving whatever gap may hide more.

    Args:
        felt: the joint sensitivity at a spread.
        axes: 1 along a line, 2 in a plane, 3 in a room.
        longest: between walls, the longest column with insulated walls at a spread; None without
            walls.
        loose: as for `worst_moved`.
    """
    first, last = math.log(low_m2), math.log(high_m2)
    rungs = max(1, math.ceil((last - first) / math.log(_RUNG)))
    # Two spreads may be so near that their logarithms are one: then there is nothing between.
    logs = np.linspace(first, last, rungs + 1 if last > first else 1).tolist()
    known = {log: felt(_spread(log, low_m2, high_m2)) for log in logs}
    gaps = []
    for low, high in itertools.pairwise(logs):
        bend = math.nan
        if longest is not None:
            bend = walled_bend(longest(2 * math.exp(high)), high - low, axes)
        gaps.append((_bound(known, low, high, axes, bend), low, high, bend))
    while gaps and len(known) < _MOST_LOOKS:
        worst = max(gaps)
        _, low, high, bend = worst
        middle = (low + high) / 2
        if worst[0] <= max(known.values()) * (1 + loose) or not low < middle < high:
            break
        gaps.remove(worst)
        known[middle] = felt(math.exp(middle))
        for part in ((low, middle), (middle, high)):
            gaps.append((_bound(known, *part, axes, bend), *part, bend))
    found, log = max((value, log) for log, value in known.items())
    bound = max([found, *(gap[0] for gap in gaps)]) * (1 + _ROUNDING)
    return Worst(bound, found, _spread(log, low_m2, high_m2), len(known))


def _spread(log: float, low_m2: float, high_m2: float) -> float:
    """Return the spread of a logarithm; the ends of the range are those that were given."""
    ends = {math.log(low_m2): low_m2, math.log(high_m2): high_m2}
    return ends.get(log, math.exp(log))


def _bound(known: dict[float, float], low: float, high: float, axes: int, bend: float) -> float:
    ends = known[low], known[high]
    if math.isnan(bend):
        return free_between(*ends, high - low, axes)
    return walled_between(*ends, high - low, bend)
