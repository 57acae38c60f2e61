"""The spread at which a move of one source is felt most, of all within a range.

Fresh heat is mostly felt more than old. Where sensors are sparse it is felt less: what stood
between two of them reaches both later. So a range of spreads is searched, and as no search sees
all of them, what may hide between two is bounded (`physics.operators.worst`) and the bound is
what comes back: noise that is scaled to it is never too little.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..kernel import AnyWalls, forward
from .choose import Method, forward_operator
from .direct import count
from .layout import Axes, laid_out
from .moved import Among, moved, presence

# What a move may change at spreads between two at which it is known: bounds that are proved.
#
# Write u for the logarithm of the spread s, and D(u) for the joint sensitivity.
#
# **Without walls** the square of what one pair of places changes on all sensors is, with b = 1/4s,
#
#     F = (b / pi)**axes * sum over sensors of (exp(-r**2 b) - exp(-q**2 b))**2
#
# where r and q are the distances of a sensor. Take one term, h its logarithm, and write y = 2
# min(r, q)**2 b, x = |r**2 - q**2| b, z = 2 x / (exp(x) - 1). A prime is a derivative by log b;
# that is -u and a constant, so second derivatives by u are the same. Then h' = axes + z - y, and
#
#     h'' + h'**2 = (axes + z - y)**2 - y + z' >= -(axes + z) - 1/4 + z' >= -(axes + 9/4)
#
# the first by the least over y, the second as z - z' = 2 ((x / 2) / sinh(x / 2))**2 is at most 2.
# A term bends by h'' + h'**2 times itself, so F'' >= -(axes + 9/4) F for every term, for their
# sum, and whatever sensors there are. Over a step shorter than pi divided by the root of that, F
# is below the sine through its ends (Sturm). The greatest over pairs is too.
#
# **Between walls** readings are sums over mirror images of kernels with signs. With p = r**2 / 4s,
#
#     d2/du2 g(r, s) = ((p - axes / 2)**2 - p) g(r, s),    |...| <= C g(r, 2 s)
#
# where C is the greatest of 2**(axes / 2) |(p - axes / 2)**2 - p| exp(-p / 2). All images together
# at 2 s are what insulated walls leave, so the second derivative of a difference of two columns is
# at most B = 2 C P(2 s), P the longest column between insulated walls. A vector-valued function is
# as near to its chord as x (w - x) B / 2, w the step and x how far into it.

# The greatest of 2**(axes / 2) |(p - axes / 2)**2 - p| exp(-p / 2) over p, rounded up: at
# p = 3 + sqrt(19 / 4) along a line, at nought in a plane and in a room.
_BEND = {1: 1.7745, 2: 2.0, 3: 6.3640}


def free_between(low: float, high: float, step: float, axes: int) -> float:
    """Return the most that the sensitivity can be between two spreads, without walls.

    Args:
        low, high: what it is at either, in temperature per unit of heat.
        step: logarithm of the ratio of the two spreads.
        axes: 1 along a line, 2 in a plane, 3 in a room.

    Raises:
        ValueError: the step is so long that nothing is known.
    """
    rate = math.sqrt(axes + 2.25)
    if not 0 < step * rate < 3.0:
        raise ValueError(
            f"the step is {step:g} but must be positive and below {3 / rate:g}, for a longer one "
            "bounds nothing. Look at more spreads between."
        )
    size = max(low, high) or 1.0  # squares of what is small would be lost
    first, last = (low / size) ** 2, (high / size) ** 2
    slope = (last - first * math.cos(rate * step)) / math.sin(rate * step)
    # The sine first * cos + slope * sin has its top inside where it rises first and falls last.
    falls = slope * math.cos(rate * step) < first * math.sin(rate * step)
    top = math.hypot(first, slope) if slope > 0 and falls else max(first, last)
    return size * math.sqrt(top)


def walled_bend(presence: float, step: float, axes: int) -> float:
    """Return B, how much a difference of columns can bend over a step, between walls.

    Args:
        presence: length of the longest column between *insulated* walls, at twice the upper
            spread of the step; at a lower one it is at most exp(axes * step / 2) as much.
        step, axes: as for `free_between`.
    """
    return 2 * _BEND[axes] * math.exp(axes * step / 2) * presence


def walled_between(low: float, high: float, step: float, bend: float) -> float:
    """Return the most that the sensitivity can be between two spreads, between walls.

    Args:
        low, high, step: as for `free_between`.
        bend: B from `walled_bend`, of this step or of one that holds it.
    """
    sag = bend * step**2
    if abs(high - low) >= sag / 2:
        return max(low, high)
    return (low + high) / 2 + sag / 8 + (high - low) ** 2 / (2 * sag)


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
