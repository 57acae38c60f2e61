"""One source's cell drawn given all others, scene by scene.

The same draw as the lines over a whole crowd in `recovery.bayes.moves`, which are the faster
ones where nothing is compiled; here no scene waits for another, and what has no chance is not
exponentiated.
"""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Less likely than the likeliest by this much in the exponent is never drawn: 4e-18.
_NEVER = 40.0
# Of a power: sums of powers have lost no more digits than this.
_ROUNDING = 1e-9


def draw_cells(
    slopes: Floats,
    stiff: Floats,
    cells: Whole,
    slot: int,
    counted: Floats,
    low: float,
    high: float,
    even: Floats,
    chosen: Whole,
) -> None:
    """Write each scene's cell for the slot, or the one beyond the last where it is to be off.

    Args:
        slopes: (scenes, cells), of the log-likelihood in the power, at none.
        stiff: (cells,), minus its curvature.
        cells: (scenes, slots), where sources stand.
        counted: (slots + 1,), log prior of one arrangement of so many sources.
        low, high: bounds of a source's power.
        even: (scenes,), numbers of the sequence.
        chosen: (scenes,), written.
    """
    scenes, slots = cells.shape
    beyond = len(stiff)
    scores = np.empty(beyond + 1)
    widths = np.ones(beyond + 1)
    free = np.empty(beyond + 1)
    for scene in range(scenes):
        free[:] = 1.0
        number = 0
        for other in range(slots):
            cell = cells[scene, other]
            if other != slot and cell < beyond:
                number += 1
                free[cell] = 0.0
        scores[beyond] = counted[number]
        top = scores[beyond]
        more = counted[number + 1]
        for cell in range(beyond):
            slope = slopes[scene, cell]
            if low == high:
                score = high * (slope - 0.5 * high * stiff[cell])
            else:
                firm = max(stiff[cell], 1e-12)
                peak = min(max(slope / firm, low), high)
                score = peak * (slope - 0.5 * firm * peak)
                fall = abs(slope - firm * peak) + math.sqrt(firm * (2 / math.pi))
                left, right = peak - low, high - peak
                width = left / (1 + left * fall) + right / (1 + right * fall)
                widths[cell] = width / (high - low)
            scores[cell] = score + more
            if free[cell] > 0 and scores[cell] > top:
                top = scores[cell]
        total = 0.0
        for cell in range(beyond + 1):
            if free[cell] > 0 and scores[cell] > top - _NEVER:
                total += math.exp(scores[cell] - top) * widths[cell]
            # From here on the sums up to each cell.
            scores[cell] = total
        target = even[scene] * total
        first, last = 0, beyond
        while first < last:
            middle = (first + last) // 2
            if scores[middle] <= target:
                first = middle + 1
            else:
                last = middle
        chosen[scene] = first


def shift_scenes(
    cells: Whole,
    powers: Floats,
    residual: Floats,
    moving: Whole,
    first: Whole,
    second: Whole,
    fits: Flags,
    grid: Whole,
    at: Whole,
    heading: Floats,
    columns: Floats,
    readings: Floats,
    low: float,
    high: float,
    scale: float,
    cool: float,
    even: Floats,
) -> None:
    """Shift the moving scenes as two others differ, where the likelihood takes it; in place.

    Args:
        cells, powers: (scenes, slots), ordered by heading.
        residual: (scenes, r), what they leave of the readings.
        moving, first, second, fits: (moving,), which scenes, and whether there are two others.
        grid, at, heading, columns, readings: as `recovery.bayes.crowd.Problem` has them.
        even: (moving,), numbers of the sequence.
    """
    slots = cells.shape[1]
    beyond = len(grid) - 1
    rows, across = at.shape
    place = np.empty(slots, dtype=np.int64)
    heat = np.empty(slots)
    for turn in range(len(moving)):
        scene, one, two = moving[turn], first[turn], second[turn]
        good = fits[turn]
        for slot in range(slots):
            cell = cells[scene, slot]
            place[slot], heat[slot] = beyond, 0.0
            if cell == beyond or not good:
                continue
            here, there = grid[cells[one, slot]], grid[cells[two, slot]]
            row = grid[cell, 0] + rounded(scale * (here[0] - there[0]))
            column = grid[cell, 1] + rounded(scale * (here[1] - there[1]))
            good = 0 <= row < rows and 0 <= column < across
            if good:
                place[slot] = at[row, column]
                good = place[slot] < beyond
            if good and slot > 0:
                good = heading[place[slot]] > heading[place[slot - 1]]
            heat[slot] = powers[scene, slot]
            if low < high:
                heat[slot] += scale * (powers[one, slot] - powers[two, slot])
                good = good and low <= heat[slot] <= high
        if not good:
            continue
        left = readings.copy()
        for slot in range(slots):
            if place[slot] < beyond:
                left -= heat[slot] * columns[place[slot]]
        worse = np.sum(left * left) - np.sum(residual[scene] * residual[scene])
        if math.log(even[turn]) < -0.5 * cool * worse:
            cells[scene], powers[scene], residual[scene] = place, heat, left


def rounded(value: float) -> int:
    """Return the nearest whole number, halves away from zero."""
    return math.floor(value + 0.5) if value > 0 else -math.floor(0.5 - value)


def draw_pairs(
    left: Floats,
    heat: Floats,
    columns: Floats,
    counted: Floats,
    room: Floats,
    others: Whole,
    ones: Whole,
    twos: Whole,
    fits: Flags,
    merge: bool,
    low: float,
    high: float,
    cool: float,
    even: Floats,
    picked: Whole,
) -> None:
    """Write which pair of cells each scene's two sources go to, one * places + two.

    Args:
        left: (scenes, r), of the readings once both are off; heat: (scenes,), of both.
        others: (scenes, slots), cells of all other sources.
        ones, twos: (scenes, within), the cells that the first and the second can go to; where
            they merge, a last place more of the second means that the first has all the heat.
        picked: (scenes,), written where it fits.
    """
    scenes, within = ones.shape
    beyond = len(columns) - 1
    size = within + 1 if merge else within
    scores = np.empty((within, size))
    widths = np.ones((within, size))
    felt_ones, felt_twos = np.empty(within), np.empty(within)
    free_ones, free_twos = np.empty(within, dtype=np.bool_), np.empty(within, dtype=np.bool_)
    directions = columns.shape[1]
    squares = np.sum(columns * columns, axis=1)
    for scene in range(scenes):
        if not fits[scene]:
            continue
        number = 0
        for other in others[scene]:
            if other < beyond:
                number += 1
        rest, half = left[scene], heat[scene] / 2
        most = min(half - low, high - half)
        # Two sources on their bounds leave nothing to share, and not less.
        slack = _ROUNDING * high
        if -slack < most < 0:
            most = 0.0
        top = -np.inf
        for place in range(within):
            for around, felt, free in ((ones, felt_ones, free_ones), (twos, felt_twos, free_twos)):
                cell = around[scene, place]
                felt[place] = 0.0
                for direction in range(directions):
                    felt[place] += columns[cell, direction] * rest[direction]
                free[place] = cell < beyond
                for other in others[scene]:
                    if other == cell:
                        free[place] = False
        for i in range(within):
            one, felt_one = ones[scene, i], felt_ones[i]
            square_one = squares[one]
            for j in range(size):
                scores[i, j] = -np.inf
                if not free_ones[i]:
                    continue
                if j == within:
                    if low - slack <= heat[scene] <= high + slack:
                        gain = heat[scene] * (felt_one - 0.5 * heat[scene] * square_one)
                        scores[i, j] = cool * gain + counted[number + 1] - math.log(number + 1)
                        scores[i, j] -= room[one]
                    top = max(top, scores[i, j])
                    continue
                two, felt_two = twos[scene, j], felt_twos[j]
                if two == one or not free_twos[j] or most < 0:
                    continue
                square_two = squares[two]
                cross = 0.0
                for direction in range(directions):
                    cross += columns[one, direction] * columns[two, direction]
                both = square_one + square_two
                score = cool * (half * (felt_one + felt_two) - half**2 * (0.5 * both + cross))
                if low < high:
                    slope = cool * (felt_one - felt_two - half * (square_one - square_two))
                    firm = max(cool * (both - 2 * cross), 1e-12)
                    end = max(most, 1e-300)
                    peak = min(max(slope / firm, -end), end)
                    score += peak * (slope - 0.5 * firm * peak)
                    fall = abs(slope - firm * peak) + math.sqrt(firm * (2 / math.pi))
                    behind, ahead = peak + end, end - peak
                    width = behind / (1 + behind * fall) + ahead / (1 + ahead * fall)
                    widths[i, j] = width / (high - low)
                score -= room[one]
                if merge:
                    score += counted[number + 2] - math.log(number + 2)
                else:
                    score -= room[two]
                scores[i, j] = score
                top = max(top, score)
        total = 0.0
        for i in range(within):
            for j in range(size):
                if scores[i, j] > top - _NEVER:
                    total += math.exp(scores[i, j] - top) * widths[i, j]
                scores[i, j] = total
        target = even[scene] * total
        found = 0
        while found < within * size - 1 and scores[found // size, found % size] <= target:
            found += 1
        picked[scene] = found
