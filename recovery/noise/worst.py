"""The most that what is sent can change, at every spread that a room can meet.

The whole numbers that are sent jump while heat spreads, so the worst of them need not be where
the temperatures change most, nor at any spread that was tried. Between two spreads each
sensor's change is bounded by the larger of its two, and by a little more where it may bend; a
stretch that this bound allows to be the worst is halved, until the bound is hardly above what
was found. It is the bound that comes out, so the answer is never too small.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.core.records import Grid
from physics.kernel import (
    NEAR_BY,
    Walls,
    compute_axis_response,
    forward,
    heat_kernel,
    list_moves,
    list_steps,
    sensitivity,
)
from physics.places import cell_places, length_m, sensor_places

# How far one source that moves can change the whole numbers that sensors really report.
#
# A device rounds twice: to the steps of its converter, then to grains. Rounding is monotone,
# so a temperature that moves by dy moves its count by at most ceil(dy / step), and its grains
# by at most ceil(count * step / grain). The noise is scaled to these whole numbers, because a
# promise about temperatures is no promise about what is sent. Where the converter sees what
# another one, behind it, has rounded already, dy is first widened: see `bound_behind`.
#
# Source: the bound on rounded differences is elementary; that a coarse step flips on all
# sensors at once, and so counts sqrt(sensors) times, is the reason for it.


Floats = NDArray[np.float64]

# Temperatures are floats, and a difference may sit a hair above a whole number of grains
# that it is computed to be a hair below. Errors of the operator and of its products stay
# under 1e-13 of its largest entry; this much is added to every difference.
_SLACK = 1e-11

NOT_BEHIND = Fraction(0)  # a converter that sees the temperature itself


def list_distances(shape: tuple[int, int], cells: int) -> range:
    """Return the distances up to so many cells; along a line none is longer than the line."""
    longest = max(1, min(cells, max(shape) - 1)) if min(shape) == 1 else cells
    return range(1, longest + 1)


def find_worst_sensitivity(operator: Floats, cells: int, shape: tuple[int, int]) -> float:
    """Return the sensitivity of the worst of these operators, (sensors, cells) each."""
    layers = operator.reshape(-1, *operator.shape[-2:])
    return max(sensitivity(layer, cells, shape) for layer in layers)


def bound_shifts(
    operator: Floats,
    shape: tuple[int, int],
    cells: Iterable[int],
    intensity_max: float,
    behind: Fraction = NOT_BEHIND,
) -> Iterator[Floats]:
    """Yield blocks (sensors, moves) of temperature changes, bounded from above.

    Args:
        operator: A, (sensors, cells), in temperature per unit of heat; or one for each of
            several spreads, (spreads, sensors, cells).
        shape: (columns, rows) of the cells.
        cells: the distances, in cells, that a source moves; see `physics.kernel.list_moves`.
        intensity_max: the most heat of one source.
        behind: as for `bound_behind`.
    """
    warmest = float(np.abs(operator).max())
    for distance in cells:
        for layer in operator.reshape(-1, *operator.shape[-2:]):
            for block in list_moves(layer, distance, shape):
                yield bound_behind(bound_changes(block, intensity_max, warmest), behind)


def bound_changes(block: Floats, intensity_max: float, warmest: float) -> Floats:
    """Return what a unit source's changes come to at the most, none of them negative.

    Args:
        warmest: the largest entry of the operator that they are differences of.
    """
    hair = _SLACK * intensity_max * warmest
    return np.asarray(np.abs(block) * (intensity_max * (1 + _SLACK)) + hair)


def bound_behind(block: Floats, behind: Fraction) -> Floats:
    """Return by how much what a converter sees can change, where another is behind it.

    The one behind shows f(i) for all temperatures from f(i) to below f(i + 1), but for an offset,
    and its counts, of whatever sizes, are at most `behind` kelvin apart. Let a temperature rise by
    dy from count i to count j.

        dy = 0  nothing moves: j = i.
        j = i   it shows nothing.
        j > i   it was below f(i + 1) and is f(j) at the least, so f(j) - f(i + 1) < dy and
                f(j) - f(i) < dy + behind. Counts that are just so small come near it.

    What differs by D differs by at most ceil(D / step) in the steps of the converter that is
    seen: in all by ceil((dy + behind) / step). It grows with `behind`, so counts may be finer.

    Args:
        block: changes of temperatures from `bound_changes`, so that none is nought.
        behind: in their unit; 0 where there is no other converter.
    """
    # The slack makes up for a change that is lost beside `behind` in floats.
    return (block + float(behind)) * (1 + _SLACK) if behind else block


def find_least_shown(step: Fraction, behind: Fraction) -> Fraction:
    """Return what the least change of a temperature may show, in kelvin: whole steps.

    As dy falls to nought, ceil((dy + behind) / step) steps do; see `bound_behind`.

    Args:
        step: of the converter, in kelvin.
        behind: counts of the converter before that one, in kelvin, or 0.

    >>> find_least_shown(Fraction(1, 100), Fraction(1, 5))
    Fraction(21, 100)
    >>> find_least_shown(Fraction(1, 100), Fraction(1, 250))
    Fraction(1, 100)
    """
    return step * (behind // step + 1)


def bound_whole_square(blocks: Iterable[Floats], exponent: int, step: Fraction | None) -> int:
    """Return the greatest squared l2 norm of what is sent, in grains squared.

    Args:
        blocks: of (sensors, moves), temperature changes from `bound_shifts`.
        step: of the converter, in their unit, or None.
        exponent: a grain is 2**-exponent of the temperatures' unit.

    >>> bound_whole_square([np.array([[0.3], [1.1]])], exponent=0, step=None)
    5
    >>> bound_whole_square([np.array([[0.3], [1.1]])], exponent=2, step=Fraction(1, 2))
    40
    """
    greatest = 0.0
    for block in blocks:
        grains = count_sent(block, exponent, step)
        greatest = max(greatest, float(np.einsum("ij,ij->j", grains, grains).max()))
    return make_whole_square(greatest)


def make_whole_square(greatest: float) -> int:
    """Return a squared l2 norm in grains as a whole number.

    Raises:
        ValueError: it is beyond what can be squared exactly.
    """
    # Sums of whole numbers are exact in floats up to here.
    if greatest >= 2**53:
        raise ValueError(
            f"a move changes the readings by {greatest**0.5:g} grains but at most 94906265 can "
            "be squared exactly, and a promise must not rest on a rounded number. Lower "
            "intensity_max, or state a longer spread."
        )
    return int(greatest)


def count_sent(block: Floats, exponent: int, step: Fraction | None) -> Floats:
    """Return by how many grains each change of a temperature can change what is sent.

    Args:
        block: (sensors, moves), temperature changes from `bound_shifts`, at least 0.
        exponent, step: as for `bound_whole_square`.
    """
    if step is None:
        # A power of two multiplies as exactly as `ldexp` where it is a float, and much faster.
        moved = block * 2.0**exponent if abs(exponent) < 1000 else np.ldexp(block, exponent)
        return np.asarray(np.ceil(moved))
    # Step by step in whole numbers, for a step need not be a whole number of grains.
    num, den = (step * Fraction(2) ** exponent).as_integer_ratio()
    counts = np.ceil(block / float(step))
    if den == 1 and int(counts.max()) * num < 2**53:
        return counts * num
    if int(counts.max()) * num < 2**53:  # then no quotient is rounded as far as a whole number
        return np.ceil(counts * num / den)
    if max(int(counts.max()) * num, den) < 2**62:
        return (-(-counts.astype(np.int64) * num // den)).astype(np.float64)
    # 64 bits would wrap; what cannot be squared is cut, and refused by `bound_whole_square`.
    cut = [[min(-(-int(count) * num // den), 2**53) for count in row] for row in counts]
    return np.array(cut, dtype=np.float64)


def choose_exponent(
    spread: float, sigma: float, sensors: int, step: Fraction | None = None
) -> int:
    """Return the exponent of the largest grain, a power of two, that costs little noise.

    At most 1/50 of one sensor's share of what a move changes, so rounding adds two per cent
    to it; at most 1/100 of sigma, so the discrete noise is as good as continuous; and a
    divisor of the converter's step, where a power of two can be one.

    Args:
        spread: l2 norm of what a move changes, in the unit of the temperatures.
        sigma: standard deviation of the noise that it will need, in that unit.
        sensors: how many there are.
        step: of the converter, or None.

    >>> choose_exponent(spread=1.0, sigma=3.7, sensors=4)
    7
    """
    exponent = -math.floor(math.log2(min(spread / (50 * math.sqrt(sensors)), sigma / 100)))
    if step is not None and step.denominator & (step.denominator - 1) == 0:
        exponent = max(exponent, step.denominator.bit_length() - 1)
    return exponent


# The most that whole numbers can change by where two bounds are known of what they round.
#
# It is known by how many kelvin each sensor may change, and all together in l2 norm. Both hold
# at once, and so does the rounding: on one sensor a change of x steps of the
# converter shows as at most ceil(x) of them. The greatest that the squares can then add up to is
# found by giving every sensor one step, which costs nothing, then a second one, which costs one
# step of the norm, then a third, and so on: c steps more than one cost (c - 1)**2 of its square
# and bring c**2, so that each further one brings less for what it costs.
#
# Source: for concave gains the greedy filling is the best there is, and an upper bound for whole
# numbers; Ibaraki and Katoh 1988, "Resource Allocation Problems", chapter 4.

_FILLED_SLACK = 1e-9  # of what floats lose, many times over


class Change(NamedTuple):
    """By how much readings may change, in kelvin."""

    joint: float  # l2 norm over all sensors
    each: Floats  # (sensors,)


def bound_sent(
    change: Change, exponent: int, step: Fraction | None, behind: Fraction = NOT_BEHIND
) -> int:
    """Return the greatest squared l2 norm of what is sent, in grains squared.

    Args:
        exponent: a grain is 2**-exponent kelvin.
        step: of the converter, in kelvin, or None.
        behind: as for `bound_behind`, in kelvin.

    Raises:
        ValueError: it is beyond what can be squared exactly.

    >>> bound_sent(Change(1.1, np.array([0.3, 1.1])), exponent=0, step=None)
    5
    >>> bound_sent(Change(0.5, np.array([0.5, 0.5])), exponent=1, step=Fraction(1))
    8
    """
    unit = math.ldexp(1.0, -exponent) if step is None else float(step)
    tops = np.ceil(change.each / unit)
    lag = math.ceil(behind / Fraction(unit if step is None else step))
    square = _fill((change.joint / unit) ** 2, tops, lag)
    if step is not None:
        ratio = step * Fraction(2) ** exponent
        square = Fraction(square) * ratio**2
        if ratio.denominator != 1:  # then a grain more may show on each sensor
            root = math.sqrt(square) * (1 + _FILLED_SLACK) + math.sqrt(len(tops))
            square = Fraction(root * root)
    alone = count_sent(bound_behind(change.each[:, None], behind), exponent, step)
    found = min(math.ceil(square), int(np.square(alone).sum()))
    if found >= 2**53:
        raise ValueError(
            f"a displacement changes the readings by {found**0.5:g} grains but at most 94906265 "
            "can be squared exactly, and a promise must not rest on a rounded number. Lower "
            "intensity_max."
        )
    return found


def _fill(budget: float, tops: Floats, lag: int) -> Fraction:
    """Return what squares of whole numbers c + lag, c to its top, come to at the most.

    Args:
        budget: that the sum of (c - 1)**2 does not exceed.
        lag: steps that the converter behind may add, at no cost.
    """

    def cost(level: int) -> float:
        return float(np.square(np.maximum(np.minimum(tops, level), 1) - 1).sum())

    low, high = 1, max(1, int(tops.max()))
    if cost(high) > budget:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if cost(middle) <= budget else (low, middle)
    else:
        low = high
    filled = Fraction(float(np.square(np.minimum(tops, low) + lag).sum()))
    if low == int(tops.max(initial=1)):
        return filled
    # What is left buys part of one step more, on those that may have it.
    left = Fraction(budget - cost(low)) * Fraction(2 * (low + lag) + 1, 2 * low - 1)
    return filled + left * (1 + Fraction(_FILLED_SLACK))


# The spreads at which a move of one source is felt most.
#
# A query states the shortest spread that the room can meet, for heat that had longer to spread
# is mostly felt less. Where sensors are sparse it is felt more: heat that stood between two of
# them reaches both. The noise must be enough at every spread from the stated one upwards.
#
# Source: for the line without walls the change g(r) - g(r + c) of one sensor falls for ever
# once the spread is above r**2 / 6, in the plane above r**2 / 8, so the search ends at length**2.
# Between insulated walls the slowest mode alone is left by then, but what a source adds to may
# still rise towards an even room, by one part in ten thousand. At four times as much it does not.

_RUNG = 1.12  # between neighbours of the first search
# About its peak the logarithm of what is felt falls by at most so much times the square of the
# logarithm of the spread: by 3/4 along a line and by 1 in a plane, where log g'(r) has second
# derivatives of -3/2 and -2. Between walls, which bring in mirror images, it is not proved:
# there searches at hundreds of spreads in hundreds of rooms found nothing above the bound.
BENDS = 3.0
_LEFT = 1e-7  # of a peak: the search ends when no more than this can hide between two spreads
_SPLITS, _ROUNDS = 4, 8
_LARGE = 1_000_000  # entries of an operator, above which it is not made where a bound will do
_EVEN = 4  # times length**2: the slowest mode is e**(-4 pi**2), which floats hardly hold


class Room(NamedTuple):
    """Where warmth is hidden: its cells and sensors, and how far heat has spread at the least."""

    grid: Grid
    sensors: tuple[int, ...]  # evenly spread
    spread_m2: float
    walls: Walls

    def operator(self, spread_m2: float | None = None) -> Floats:
        """Return A, (sensors, cells), at the stated spread, to be read alone, or at another."""
        if spread_m2 is None or spread_m2 == self.spread_m2:
            return _make_stated_operator(self)
        return _make_operator(self, spread_m2)


def _make_operator(room: Room, spread_m2: float) -> Floats:
    places = cell_places(room.grid), sensor_places(room.sensors, room.grid)
    return forward(*places, spread_m2, room.walls, length_m(room.grid))


@lru_cache(maxsize=1)  # noise and map want the same one, and it may be large
def _make_stated_operator(room: Room) -> Floats:
    made = _make_operator(room, room.spread_m2)
    made.setflags(write=False)  # shared by every caller
    return made


class Felt(NamedTuple):
    """How much of a unit source all sensors together feel, at every spread that was looked at."""

    spreads_m2: Floats  # (spreads,), growing, the first the stated one
    moves: Floats  # (spreads, distances), l2 norms of what a move up to each distance changes
    presence: Floats  # (spreads,), l2 norms of what a source that comes changes


@lru_cache(maxsize=32)
def scan_spreads(room: Room, cells: tuple[int, ...]) -> Felt:
    """Return what is felt at the stated spread, at longer ones, and closely about the worst.

    Where a spread cannot be the worst of a distance, its entry is an upper bound.

    Args:
        cells: distances, in cells, growing.
    """
    longest_m2 = float(np.max(length_m(room.grid))) ** 2
    if room.walls == "insulated":
        longest_m2 *= _EVEN
    rungs = max(0, math.ceil(math.log(longest_m2 / room.spread_m2) / math.log(_RUNG)))
    spreads: Floats = room.spread_m2 * _RUNG ** np.arange(rungs + 1.0)
    rows: Floats = np.zeros((0, len(cells) + 1))
    for more in range(_ROUNDS):
        best = rows.max(axis=0, initial=0.0)
        for spread in spreads[len(rows) :]:
            row = _bound_responses(room, spread, cells)
            if row is None or (row > best).any():
                row = _compute_responses(room.operator(spread), room.grid.shape, cells, best)
            rows, best = np.vstack([rows, row]), np.maximum(best, row)
        order = np.argsort(spreads)
        spreads, rows = spreads[order], rows[order]
        gaps = _find_gaps(spreads, rows)
        if not len(gaps) or more == _ROUNDS - 1:
            break
        parts = np.arange(1, _SPLITS) / _SPLITS
        between = spreads[gaps, None] * (spreads[gaps + 1] / spreads[gaps])[:, None] ** parts
        spreads = np.append(spreads, between)
    for part in (spreads, rows):
        part.setflags(write=False)  # shared by every caller
    return Felt(spreads, rows[:, :-1], rows[:, -1])


@lru_cache(maxsize=32)
def bound_greatest_response(room: Room) -> float:
    """Return the most that a sensor feels of a unit source, at the stated spread or later.

    Between two of the spreads that are looked at a peak rises by less than one in a hundred:
    about it the logarithm bends by 1/2 along a line, by 1 in a plane. So that much is added
    where the stated spread is not the one that is felt most.
    """
    felt_most = _find_most_felt(room, _list_rungs(room))
    return max(felt_most[0], *(1.01 * peak for peak in felt_most[1:] if peak > felt_most[0]), 0.0)


def _find_most_felt(room: Room, spreads_m2: Floats) -> list[float]:
    """Return the greatest entry of the operator at each spread."""
    if room.walls != "none":
        return [float(room.operator(spread).max()) for spread in spreads_m2]
    # Without walls that is what the nearest sensor feels, along each axis.
    nearest = []
    for sensors, cells in zip(_list_axes(room, True), _list_axes(room, False), strict=True):
        nearest.append(np.abs(sensors[:, None] - cells).min())
    return [float(np.prod(heat_kernel(np.array(nearest), spread))) for spread in spreads_m2]


def _list_axes(room: Room, sensors: bool) -> list[Floats]:
    """Return where sensors or cells are along each axis."""
    places = sensor_places(room.sensors, room.grid) if sensors else cell_places(room.grid)
    return [np.unique(axis) for axis in places.reshape(len(places), -1).T]


def _list_rungs(room: Room) -> Floats:
    longest_m2 = float(np.max(length_m(room.grid))) ** 2
    rungs = max(0, math.ceil(math.log(longest_m2 / room.spread_m2) / math.log(_RUNG)))
    return np.asarray(room.spread_m2 * _RUNG ** np.arange(rungs + 1.0))


def _bound_responses(room: Room, spread_m2: float, cells: tuple[int, ...]) -> Floats | None:
    """Return what a row is at the most, without an operator; None in a small room.

    Between walls along a line there is none either. Without, where sensors stand h apart or more,
    what they feel of something that rises once and falls once adds up to at most its integral over
    h and its peak. Presence is such a thing, and g'**2 is two of them; by Cauchy and Schwarz a
    move by c changes the sum of squares by at most c**2
    times the most that g'**2 can add up to.

        sum g**2 <= 1 / (2 h sqrt(2 pi s)) + 1 / (4 pi s)
        sum g'**2 <= 1 / (8 h sqrt(2 pi s) s) + exp(-1) / (4 pi s**2)
    """
    entries = math.prod(room.sensors) * math.prod(room.grid.shape)
    if entries <= _LARGE:
        return None
    if min(room.grid.shape) > 1:
        return _bound_responses_in_plane(room, spread_m2, cells)
    if room.walls != "none":
        return None
    apart = float(np.diff(sensor_places(room.sensors, room.grid)).min(initial=math.inf))
    cell = float(np.diff(cell_places(room.grid)).max(initial=0.0))
    root = math.sqrt(2 * math.pi * spread_m2)
    presence = 1 / (2 * apart * root) + 1 / (4 * math.pi * spread_m2)
    slopes = 1 / (8 * apart * root * spread_m2) + math.exp(-1) / (4 * math.pi * spread_m2**2)
    far = cell * np.array([list_distances(room.grid.shape, one).stop - 1 for one in cells])
    squares = np.append(np.minimum(far**2 * slopes, 2 * presence), presence)
    return np.asarray(np.sqrt(squares) * (1 + 1e-9))


def _bound_responses_in_plane(room: Room, spread_m2: float, cells: tuple[int, ...]) -> Floats:
    """Return the same where sensors are a lattice: what they feel is a product, axis by axis.

    Exact but for oblique moves, which change at most what their two parts do.
    """
    lengths = np.broadcast_to(length_m(room.grid), 2)
    felt_x, felt_y = (
        compute_axis_response(cells_m, sensors_m, spread_m2, room.walls, float(far))
        for cells_m, sensors_m, far in zip(
            _list_axes(room, False), _list_axes(room, True), lengths, strict=True
        )
    )

    def norm(made: Floats) -> float:
        return float(np.sqrt(np.einsum("ij,ij->j", made, made).max(initial=0.0)))

    def apart(made: Floats, cell: int) -> float:
        return norm(made[:, : made.shape[1] - cell] - made[:, cell:]) if cell else 0.0

    x, y, widest, done = norm(felt_x), norm(felt_y), 0.0, 0
    columns, rows = room.grid.shape
    row = np.empty(len(cells) + 1)
    for nth, distance in enumerate(cells):
        for cell in list_distances(room.grid.shape, distance)[done:]:
            for right, down in list_steps(cell, False):
                if abs(right) < columns and down < rows:
                    widest = max(widest, apart(felt_x, abs(right)) * y + apart(felt_y, down) * x)
        row[nth], done = min(widest, math.sqrt(2) * x * y), distance
    row[-1] = x * y
    return row * (1 + 1e-9)


def _compute_responses(
    operator: Floats, shape: tuple[int, int], cells: tuple[int, ...], best: Floats
) -> Floats:
    """Return what moves up to each distance change, and in the end what presence does."""
    presence = float(np.sqrt(np.einsum("ij,ij->j", operator, operator).max()))
    row, widest, done = np.empty(len(cells) + 1), 0.0, 0
    for nth, distance in enumerate(cells):
        # No move changes more than the two places together are felt.
        if math.sqrt(2) * presence <= best[nth]:
            row[nth:] = math.sqrt(2) * presence
            break
        for cell in list_distances(shape, distance)[done:]:
            widest = max(widest, sensitivity(operator, cell, shape))
        row[nth], done = widest, distance
    row[-1] = presence
    return row


def _find_gaps(spreads: Floats, rows: Floats) -> NDArray[np.intp]:
    """Return after which spreads a higher peak may hide, of any of the columns."""
    with np.errstate(divide="ignore"):
        height = np.log(np.maximum(rows, 1e-300))
    wide = np.diff(np.log(spreads))[:, None]
    apart = np.abs(np.diff(height, axis=0))
    # A peak between two spreads is at most BENDS x**2 above the higher, x away from it.
    away = np.maximum(0, (wide - apart / (BENDS * wide)) / 2)
    peak = np.maximum(height[:-1], height[1:]) + BENDS * away**2
    hidden = (away > 0) & (peak > height.max(axis=0) + _LEFT) & (rows.max(axis=0) > 0)
    return np.flatnonzero(hidden.any(axis=1))


PRESENCE = 0  # instead of a distance: a source that comes or goes

_NEAR = 1.001  # of the squared sensitivity: noise is half a part in a thousand wider at the most
_NARROW = 1e-5  # of the logarithm of the spread: a stretch is halved no further
_UP = 1 + 1e-12  # a bound is rounded up by more than its floats can lose, many times over


class Grains(NamedTuple):
    """How a unit source's warmth becomes whole numbers."""

    exponent: int  # a grain is 2**-exponent units
    step: Fraction | None  # of the converter
    intensity_max: float
    behind: Fraction = NOT_BEHIND  # see `bound_behind`

    def most(self, norms: Floats, sensors: int) -> Floats:
        """Return what changes of these l2 norms come to at the most, squared in grains.

        On one sensor x steps are rounded up to ceil(x), and then to grains. Their squares add
        up to at most (|x| + sqrt(sensors))**2; and since ceil(x)**2 is 1 up to a step, and
        beyond it at most 1 + 3 x**2, to at most sensors + 3 |x|**2, or to sensors where |x| is
        within a step. A converter behind adds so many steps to each, by Minkowski.
        """
        grain, root = 2.0**-self.exponent, math.sqrt(sensors)
        unit = grain if self.step is None else float(self.step)
        x = norms * self.intensity_max * (1 + 1e-9) / unit
        counts = np.minimum(np.square(x + root), sensors + np.where(x > 1, 3 * np.square(x), 0))
        if self.behind:
            lag = math.ceil(self.behind / Fraction(unit if self.step is None else self.step))
            counts = np.square(np.sqrt(counts) + lag * root)
        if self.step is None or (self.step * Fraction(2) ** self.exponent).denominator == 1:
            return np.asarray(counts * (unit / grain) ** 2 * _UP)
        return np.asarray(np.square(np.sqrt(counts) * (unit / grain) + root) * _UP)


class Stretch(NamedTuple):
    """Spreads between two others; sorts by what it may come to, the most first."""

    first: float  # minus the greatest of the bounds
    low: float  # logarithms of the spreads
    high: float
    halved: bool  # whether it was looked at as a whole
    bound: Floats  # (distances,), nought where it does not matter any more

    def parts(self) -> list[tuple[float, float]]:
        """Return what to look at in its place."""
        if not self.halved:
            return [(self.low, self.high)]
        middle = (self.low + self.high) / 2
        return [(middle, self.high), (self.low, middle)]


def bound_worst_squares(room: Room, cells: tuple[int, ...], grains: Grains) -> list[int]:
    """Return the greatest squared l2 norm of what moves up to each distance change, in grains.

    Args:
        cells: the distances, growing; or PRESENCE alone.

    Raises:
        ValueError: it is beyond what can be squared exactly.
    """
    stated, here = math.log(room.spread_m2), room.operator()

    @lru_cache(maxsize=2)  # the ends of a stretch are looked at twice
    def away(point: float) -> Floats:
        return room.operator(math.exp(point))

    def count(low: float, high: float, wanted: NDArray[np.bool_]) -> Floats:
        # The high one first: it is the one that the next stretch below this does not need.
        other, one = (here if point == stated else away(point) for point in (high, low))
        return _square_changes(room, one, other, high - low, cells, wanted, grains)

    # What is found somewhere is not too large, and what is answered not too small.
    found = count(stated, stated, np.ones(len(cells), dtype=bool))
    answer, counted = found.copy(), {stated: found}
    queue = list(_yield_stretches(room, cells, grains))
    heapq.heapify(queue)
    while queue:
        stretch = heapq.heappop(queue)
        wanted = stretch.bound > np.maximum.accumulate(answer)
        if not wanted.any():
            continue
        for low, high in stretch.parts():
            ends, narrow = (low, high), high - low < _NARROW
            bend = math.exp(BENDS * ((high - low) / 2) ** 2)  # squares bend twice as far
            near = _NEAR * np.maximum.accumulate(found)
            known = [np.maximum.accumulate(counted[end]) for end in ends if end in counted]
            if not narrow and any((bend * one > near)[wanted].all() for one in known):
                # What is sent at one end, bent, is too much already: this is halved anyway.
                left = np.where(wanted, stretch.bound, 0.0)
                heapq.heappush(queue, Stretch(-float(left.max()), low, high, True, left))
                continue
            bound = count(low, high, wanted)
            for end in ends:
                if end not in counted and (bound > _NEAR * np.maximum.accumulate(found)).any():
                    counted[end] = count(end, end, wanted)
                    found = np.maximum(found, counted[end])
            done = (bound <= _NEAR * np.maximum.accumulate(found)) | narrow
            answer = np.maximum(answer, np.where(done, bound, found))
            left = np.where(done, 0.0, bound)
            if left.any():
                heapq.heappush(queue, Stretch(-float(left.max()), low, high, True, left))
    return [int(square) for square in np.maximum.accumulate(answer)]


def _yield_stretches(room: Room, cells: tuple[int, ...], grains: Grains) -> Iterator[Stretch]:
    """Yield what lies between two spreads that were tried, bounded by what is felt there."""
    present, sensors = cells == (PRESENCE,), math.prod(room.sensors)
    tried = scan_spreads(room, () if present else cells)
    norms = tried.presence[:, None] if present else tried.moves
    logs = np.log(tried.spreads_m2)
    for nth, wide in enumerate(np.diff(logs)):
        higher = np.maximum(norms[nth], norms[nth + 1]) * math.exp(BENDS * (wide / 2) ** 2)
        bound = grains.most(higher, sensors)
        yield Stretch(-float(bound.max()), logs[nth], logs[nth + 1], False, bound)


def _square_changes(
    room: Room,
    one: Floats,
    other: Floats,
    wide: float,
    cells: tuple[int, ...],
    wanted: NDArray[np.bool_],
    grains: Grains,
) -> Floats:
    """Return the squares of the larger of two operators' changes, for the wanted distances.

    Each counts the moves longer than the distance before it; nought where it is not wanted. Where
    no such move can come to more than shorter ones do, they are not counted: nought for a spread,
    and between two spreads what none of them exceeds.
    """
    warmest = max(float(one.max()), float(other.max()))
    bent = grains.intensity_max * math.exp(BENDS * (wide / 2) ** 2)
    squares = np.zeros(len(cells))

    def count(block: Floats) -> Floats:
        seen = bound_behind(bound_changes(block, bent, warmest), grains.behind)
        return count_sent(seen, *grains[:2])

    most = None
    for nth in np.flatnonzero(wanted):
        if most is None and squares.any():
            # Of a move |a - b| <= max(a, b), so its squares are those of both places together, but
            # for the smaller on each sensor, which is a rounded nought at the least.
            alone = _find_greatest_squared_change(room, one, other, (PRESENCE,), 0, count)
            least = count(np.zeros((1, 1)))[0, 0]
            most = 2 * alone - len(one) * least**2
            most = most if alone < 2**53 else math.inf  # what is no whole number bounds nothing
        if most is not None and most <= squares.max():
            squares[nth] = 0.0 if one is other else most
            continue
        squares[nth] = make_whole_square(
            _find_greatest_squared_change(room, one, other, cells, int(nth), count)
        )
    return squares


def _find_greatest_squared_change(
    room: Room,
    one: Floats,
    other: Floats,
    cells: tuple[int, ...],
    nth: int,
    count: Callable[[Floats], Floats],
) -> float:
    """Return the greatest square of the larger changes; exact below 2**53.

    Args:
        count: what is sent of changes of temperatures, none of them negative.
    """
    # A few sensors at a time, so that what is made on the way stays near the processor.
    few = max(1, NEAR_BY // one.shape[1])
    sums: dict[int, Floats] = {}  # by move, over sensors: whole numbers, so exact in any order
    for first in range(0, len(one), few):
        same = one is other
        these = one[first : first + few]
        those = these if same else other[first : first + few]
        for move, (a, b) in enumerate(_yield_changes(room, these, those, cells, nth)):
            sent = count(np.abs(a) if same else np.maximum(np.abs(a), np.abs(b)))
            sums[move] = sums.get(move, 0.0) + np.einsum("ij,ij->j", sent, sent)
    return max(float(each.max()) for each in sums.values())


def _yield_changes(
    room: Room, one: Floats, other: Floats, cells: tuple[int, ...], nth: int
) -> Iterator[tuple[Floats, Floats]]:
    """Yield what each of two operators changes by, move by move."""
    if cells[nth] == PRESENCE:
        yield one, other
        return
    # In metres cells and sensors are alike from every side, and so are moves. Between 0 and 1 the
    # last ones touch a wall and the first ones do not: see `physics.places`.
    alike = room.grid.cell_mm > 0
    shape = room.grid.shape
    near = list_distances(shape, cells[nth - 1]).stop if nth else 1
    for cell in range(near, list_distances(shape, cells[nth]).stop):
        if one is other:
            yield from ((block, block) for block in list_moves(one, cell, shape, mirrored=alike))
        else:
            both = (list_moves(of, cell, shape, mirrored=alike) for of in (one, other))
            yield from zip(*both, strict=True)
