"""The least heat by an active set, each step exact: the inner loops of `recovery.sparse`.

    minimise sum(f)  subject to  ||B f - c|| <= radius  and  0 <= f <= ceiling

On the cells P that are neither empty nor full, with B_P = Q R, z = Q'd, w = R^-T 1 and d the
readings less what the full cells explain, the least total lies at R^-1 (z - price w), where

    price = sqrt((radius**2 - ||d - Q z||**2) / w'w)

While no heat on P comes within the radius the target is the least-squares point, at price 0.
Source: Lawson and Hanson 1974, chapter 23, for the steps between the bounds.

`coarse` is B of every step-th cell.

What is as long as the rank is left to numpy, so that this is usable uncompiled; the rest are
loops, for of numpy's finer ways each takes a compiler a second. So does each kind of argument,
and a number written out is one of its own: hence int(np.int64(0)).
"""

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Whole: TypeAlias = NDArray[np.int64]

ZERO, OPTIMAL, NEAREST, STALLED = 0, 1, 2, 3
EMPTY, FREE, FULL, CLOSED, REFUSED, KEPT = 0, 1, 2, 3, 4, 5
SIZE, FILLED, BARRED, TAKEN = 0, 1, 2, 3  # how many are free, full and refused; steps taken
TOGETHER = 8  # cells that may begin to hold heat in one step
MOST_STEPS = 10_000
SLACK = 1e-10  # a cell that earns its price but for this is left alone
CLOSE = 1e-9  # of the readings' length: nearer to them than this is rounding
DEPENDENT = 1e-14  # what is left of a column beside the others, relative, is rounding


class Work(NamedTuple):
    """What is known on the way."""

    basis: Floats  # Q', one row a free cell
    factor: Floats  # R', likewise
    beyond: Floats  # d - Q z
    along: Floats  # z
    weights: Floats  # w
    target: Floats
    amount: Floats  # the heat of each free cell
    bound: Floats  # and the most it can hold
    free: Whole  # which cell it is
    turn: Whole  # 1 or -1 for one that has yet to win or lose heat, else 0
    gone: Whole  # 1 for one that has to leave
    state: Whole  # of all cells
    full: Whole  # which cells are full
    refused: Whole  # which may not be tried again before there is progress
    tally: Whole  # SIZE, FILLED, BARRED, TAKEN


def insert_dearest(found: Whole, worth: Floats, count: int, cell: int, value: float) -> int:
    """Put a cell among the few dearest, the dearest first; return how many these are."""
    for j in range(count):
        if found[j] == cell:
            return count
    if count < len(found):
        count += 1
    elif value <= worth[count - 1]:
        return count
    j = count - 1
    while j > 0 and worth[j - 1] < value:
        found[j], worth[j] = found[j - 1], worth[j - 1]
        j -= 1
    found[j], worth[j] = cell, value
    return count


def find_peaks(
    values: Floats, step: int, state: Whole, least: float, found: Whole, worth: Floats
) -> int:  # fmt: skip
    """Find the empty cells dearer than a level and than their neighbours; return how many.

    Looked at is every step-th cell. Full ones are dearer, and do not count as neighbours.
    """
    begin, looks, count = step // 2, len(values), int(np.int64(0))
    for k in range(looks):
        value = values[k]
        if value <= least:
            continue
        cell = begin + k * step
        if (
            state[cell] != EMPTY
            or (k > 0 and values[k - 1] >= value and state[cell - step] <= FREE)
            or (k + 1 < looks and values[k + 1] > value and state[cell + step] <= FREE)
        ):
            continue
        count = insert_dearest(found, worth, count, cell, value)
    return count


def refine_peaks(
    operator: Floats, work: Work, rest: Floats, step: int, least: float, count: int,
    found: Whole, worth: Floats,
) -> int:  # fmt: skip
    """Replace what was found among every step-th cell by the dearest around; return how many.

    A blurred price is smooth, so its peaks show on every step-th cell; where none does, one may
    still stand beside a cell that holds heat.
    """
    shown, state = count, work.state
    starts = found[:shown].copy()
    count = int(np.int64(0))
    for i in range(shown + work.tally[SIZE]):
        if i == shown and count > 0:
            break
        start = starts[i] if i < shown else work.free[i - shown]
        left, right = max(0, start - step), min(operator.shape[1], start + step + 1)
        values = np.dot(rest, np.ascontiguousarray(operator[:, left:right]))
        best, most = int(np.int64(-1)), least
        for k in range(len(values)):
            cell = left + k
            if values[k] > most and state[cell] == EMPTY:
                best, most = int(cell), values[k]
        if best >= 0:
            count = insert_dearest(found, worth, count, best, most)
    return count


def orthogonalise(basis: Floats, size: int, vector: Floats, shares: Floats) -> None:
    """Take out of a vector what lies along the basis, and add to `shares` how much that is."""
    known = basis[:size]
    more = np.dot(known, vector)
    vector -= np.dot(more, known)
    for i in range(size):
        shares[i] += more[i]


def make_free(work: Work, cell: int, new: Floats, held: float, top: float, turn: int) -> bool:
    """Make a cell free; False, and nothing changed, where it depends on the free ones."""
    size = work.tally[SIZE]
    if size == work.basis.shape[0]:
        return False
    axis, shares, rest = work.basis[size], work.factor[size], new.copy()
    for i in range(size):
        shares[i] = 0.0
    before = left = np.dot(new, new)
    for again in range(2):
        # Where much was lost, the directions were lost with it: twice is enough.
        if size > 0 and (again == 0 or left < 0.5 * before):
            orthogonalise(work.basis, size, rest, shares)
            left = np.dot(rest, rest)
    height = math.sqrt(left)
    if not height > DEPENDENT * math.sqrt(before):
        return False
    np.divide(rest, height, axis)
    shares[size] = height
    work.along[size] = np.dot(axis, work.beyond)
    rest = work.beyond
    rest -= work.along[size] * axis
    work.free[size], work.turn[size], work.state[cell] = cell, turn, FREE
    work.amount[size], work.bound[size] = held, top
    work.tally[SIZE] = size + 1
    update_weights(work, size)
    return True


def update_weights(work: Work, first: int) -> None:
    """Work out w anew from one place on; row j of R' is column j of R."""
    factor, weights = work.factor, work.weights
    for j in range(first, work.tally[SIZE]):
        rest = 1.0
        for i in range(j):
            rest -= factor[j, i] * weights[i]
        weights[j] = rest / factor[j, j]


def shift_readings(work: Work, change: Floats, times: float) -> None:
    """Change the readings that the free cells have to explain."""
    beyond = work.beyond
    beyond += times * change
    for _ in range(2):
        orthogonalise(work.basis, work.tally[SIZE], beyond, work.along)


def back_substitute(work: Work, right: Floats) -> None:
    """Replace `right` by R^-1 right."""
    factor = work.factor
    for j in range(work.tally[SIZE] - 1, -1, -1):
        value = right[j] / factor[j, j]
        right[j] = value
        for i in range(j):
            right[i] -= value * factor[j, i]


def refuse(work: Work, cell: int) -> None:
    """Do not try a cell again before there is progress."""
    work.state[cell] = KEPT if work.state[cell] == FULL else REFUSED
    work.refused[work.tally[BARRED]] = cell
    work.tally[BARRED] += 1


def remove_free(operator: Floats, work: Work, gone: int) -> None:
    """Take a cell that stands at a bound out of the free ones, by Givens rotations.

    They carry z along, but not w, which may be huge beside a column that all but depends on the
    others.
    """
    last, factor, along = work.tally[SIZE] - 1, work.factor, work.along
    cell, top, at_top = work.free[gone], work.bound[gone], work.amount[gone] >= work.bound[gone]
    for j in range(gone, last):
        for i in range(j + 2):
            factor[j, i] = factor[j + 1, i]
        work.free[j], work.turn[j] = work.free[j + 1], work.turn[j + 1]
        work.amount[j], work.bound[j] = work.amount[j + 1], work.bound[j + 1]
    for i in range(gone, last):
        norm = math.hypot(factor[i, i], factor[i, i + 1])
        c, s = factor[i, i] / norm, factor[i, i + 1] / norm
        for j in range(i, last):
            one, two = factor[j, i], factor[j, i + 1]
            factor[j, i], factor[j, i + 1] = c * one + s * two, c * two - s * one
        here, there = work.basis[i], work.basis[i + 1]
        turned = c * there - s * here
        here *= c
        here += s * there
        np.multiply(turned, 1.0, there)
        one, two = along[i], along[i + 1]
        along[i], along[i + 1] = c * one + s * two, c * two - s * one
    beyond = work.beyond
    beyond += along[last] * work.basis[last]
    work.tally[SIZE] = last
    update_weights(work, gone)
    work.state[cell] = EMPTY
    if at_top:
        make_full(operator, work, cell, top)


def make_full(operator: Floats, work: Work, cell: int, top: float) -> None:
    """Let a cell be full that was not."""
    shift_readings(work, operator[:, cell].copy(), -top)
    work.state[cell], work.full[work.tally[FILLED]] = FULL, cell
    work.tally[FILLED] += 1


def walk_to_target(work: Work, first: int) -> bool:
    """Go to the target, or until a cell runs empty or full; True on arrival, else see `gone`.

    Of several newcomers only the dearest, `first`, is sure to go the right way. Where others go
    the wrong way nobody moves, and they are to leave; the dearest only if it is alone in that.
    """
    turn, amount, bound, target, gone = work.turn, work.amount, work.bound, work.target, work.gone
    strays, stray, share, size = 0, -1, 1.0, work.tally[SIZE]
    free = work.free
    for p in range(size):
        step = target[p] - amount[p]
        gone[p] = 0
        if turn[p] != 0 and turn[p] * step <= 0:
            gone[p] = 1
            strays += 1
            if free[p] == first:
                stray = p
        elif target[p] < 0:
            share = min(share, -amount[p] / step)
        elif target[p] > bound[p]:
            share = min(share, (bound[p] - amount[p]) / step)
    if strays:
        if strays > 1 and stray >= 0:
            gone[stray] = 0
        return False
    for p in range(size):
        turn[p] = 0
        moved = target[p] if share >= 1.0 else amount[p] + share * (target[p] - amount[p])
        if share < 1.0 and target[p] < 0 and moved <= 1e-14 * amount[p]:
            gone[p], moved = 1, 0.0
        elif share < 1.0 and target[p] > bound[p] and bound[p] - moved <= 1e-14 * bound[p]:
            gone[p], moved = 1, bound[p]
        amount[p] = moved
    return share >= 1.0


def trade_heat(work: Work, new: Floats, most: float) -> tuple[float, int]:
    """Move heat into a column that the others can make up for, until one of them has to leave.

    Returns how much, and who meets a bound; -1 where nobody does before `most`, which is
    negative for a column that gives heat away.
    """
    amount, bound, size = work.amount, work.bound, work.tally[SIZE]
    rates = np.dot(work.basis[:size], new)
    back_substitute(work, rates)
    sign = 1.0 if most > 0 else -1.0
    far, who = abs(most), -1
    for p in range(size):
        rates[p] *= -sign
        room = bound[p] - amount[p] if rates[p] > 0 else amount[p]
        if rates[p] != 0 and room < far * abs(rates[p]):
            far, who = room / abs(rates[p]), p
    for p in range(size):
        amount[p] += far * rates[p]
    if who >= 0:
        amount[who] = bound[who] if rates[who] > 0 else 0.0
    return sign * far, who


def set_target(work: Work, inside: float) -> tuple[float, float]:
    """Set the target of the free cells.

    Returns the square of how far from the readings they can come, and the price.
    """
    miss, size = np.dot(work.beyond, work.beyond), work.tally[SIZE]
    price, steep = 0.0, 0.0
    weights, along, target = work.weights, work.along, work.target
    if size > 0 and miss < inside:
        for p in range(size):
            steep += weights[p] * weights[p]
        price = math.sqrt((inside - miss) / steep)
    for p in range(size):
        target[p] = along[p] - price * weights[p]
    back_substitute(work, target)
    return miss, price


def admit_cell(
    operator: Floats, work: Work, cell: int, top: float, held: float, may_trade: bool
) -> bool:  # fmt: skip
    """Let a cell win heat, a full one lose it, or one that holds heat be free, as is its turn.

    Returns whether others may still trade.
    """
    new, turn, traded = operator[:, cell].copy(), 1 if held == 0 else 0, 0.0
    if work.state[cell] == FULL:
        turn, held = -1, top
        shift_readings(work, new, top)
    elif held > top or top == 0:
        held = top
    while (turn == 0 and held >= top) or not make_free(
        work, cell, new, held, top, turn if traded == 0 else 0
    ):
        who = -1
        if may_trade:
            traded, who = trade_heat(work, new, top * turn)
            held += traded
        if who < 0:
            work.state[cell] = EMPTY
            if held >= top:
                make_full(operator, work, cell, top)
            if traded == 0:
                refuse(work, cell)
            return may_trade
        remove_free(operator, work, who)
        may_trade = False
    return False


def compute_residual(operator: Floats, work: Work, readings: Floats, ceiling: Floats) -> Floats:
    """Return c - B heat, afresh."""
    rest, size = readings.copy(), work.tally[SIZE]
    for p in range(size + work.tally[FILLED]):
        cell = work.free[p] if p < size else work.full[p - size]
        held = work.amount[p] if p < size else ceiling[cell]
        rest -= held * operator[:, cell].copy()
    return rest


def note_progress(work: Work, near: bool, miss: float, ceiling: Floats, best: Floats) -> bool:
    """Say whether this is better than before, by the miss, or by the heat where that is near.

    Who is refused stays so until there is progress, or the same step would come again.
    """
    now = miss
    if near:
        now = 0.0
        for p in range(work.tally[SIZE]):
            now += work.amount[p]
        for i in range(work.tally[FILLED]):
            now += ceiling[work.full[i]]
    better = (near and best[0] == 0) or now < best[1] * (1 - 1e-14)
    best[0], best[1] = 1.0 if near else 0.0, now
    if better:
        for i in range(work.tally[BARRED]):
            cell = work.refused[i]
            work.state[cell] = FULL if work.state[cell] == KEPT else EMPTY
        work.tally[BARRED] = 0
    return better


def find_cheapest_full(operator: Floats, work: Work, rest: Floats, most: float) -> int:
    """Return which full cell earns least, and less than a level; -1 if none."""
    lowest = -1
    for i in range(work.tally[FILLED]):
        if work.state[work.full[i]] == FULL:
            worth = np.dot(operator[:, work.full[i]].copy(), rest)
            if worth < most:
                lowest, most = i, worth
    return lowest


def write_result(
    work: Work, ceiling: Floats, readings: Floats, outside: float, radius: float, price: float,
    rest: Floats, values: Floats, done: bool, heat: Floats, numbers: Floats,
) -> None:  # fmt: skip
    """Put the heat in its place, and say how sure it is by weak duality."""
    size, total = work.tally[SIZE], 0.0
    for p in range(size + work.tally[FILLED]):
        cell = work.free[p] if p < size else work.full[p - size]
        heat[cell] = work.amount[p] if p < size else ceiling[cell]
        total += heat[cell]
    gains, length = np.dot(readings, rest), math.sqrt(np.dot(rest, rest))
    residual = math.sqrt(outside + length * length)
    code, gap, scale = STALLED, np.inf, residual
    if done:
        for cell in range(len(heat)):
            gains -= ceiling[cell] * max(0.0, values[cell] - price)
        least = max(0.0, gains / length) if length > 0 else 0.0
        code, gap = NEAREST, residual - math.sqrt(outside + least * least)
        if price > 0:
            code, scale = OPTIMAL, price
            gap = total - (gains - math.sqrt(radius * radius - outside) * length) / price
    numbers[0], numbers[1], numbers[2], numbers[3] = total, residual, gap, radius
    numbers[4], numbers[5], numbers[6] = scale, code, work.tally[TAKEN]


def solve(
    operator: Floats, coarse: Floats, step: int, grain: float, ceiling: Floats, readings: Floats,
    outside: float, most: float, any_heat: bool, guess: Whole, heat: Floats, rest: Floats,
    numbers: Floats,
) -> None:  # fmt: skip
    """Find the least heat.

    Args:
        operator: B, (rank, cells).
        step: of `coarse`; 1 to look at every cell each time.
        grain: the norm of the largest column of B.
        ceiling: (cells,), the most heat each holds.
        readings: c = U'y, (rank,).
        outside: ||y - U U'y||**2, which no heat explains.
        most: how far A f may stay from y.
        any_heat: whether the first heat that comes so near will do; the code is then STALLED.
        guess: cells that hold heat in `heat`; all others are 0 there.
        heat: (cells,), for the least heat.
        rest: (rank,), for c - B heat; over the price they are multipliers.
        numbers: (7,), for the total; the residual; what the total exceeds the least by at most,
            or where the code is NEAREST the residual does, infinity where STALLED; the radius
            that was kept to; the price, or the residual where there is none; the code; and the
            steps taken.
    """
    rank, cells = operator.shape
    ways = min(rank, cells)
    lines, lists = np.zeros((5, ways)), np.zeros((3, ways), np.int64)
    of_cells, tally = np.zeros((3, cells), np.int64), np.zeros(4, np.int64)
    work = Work(
        np.zeros((ways, rank)), np.zeros((ways, ways)), np.zeros(rank), lines[0], lines[1],
        lines[2], lines[3], lines[4], lists[0], lists[1], lists[2], of_cells[0], of_cells[1],
        of_cells[2], tally,
    )  # fmt: skip
    best, found, worth = np.zeros(2), np.zeros(TOGETHER, np.int64), np.zeros(TOGETHER)
    size_in = math.sqrt(np.dot(readings, readings))
    length = math.sqrt(outside + size_in * size_in)
    if length <= most:
        numbers[1], numbers[3], numbers[4] = length, most, np.inf
        return
    radius = max(most, CLOSE * length)
    inside, rounding = radius * radius - outside, 1e-15 * grain * size_in
    np.add(readings, 0.0, work.beyond)
    state = work.state
    for cell in range(cells):
        state[cell] = EMPTY if ceiling[cell] > 0 else CLOSED
    best[1] = np.inf
    near, done, price, values, chosen = False, False, 0.0, readings, guess
    news, lowest, first = len(guess), -1, int(np.int64(-1))
    while True:
        # Let them in, walk to the readings, and leave behind those that run empty or full.
        may_trade = near and tally[SIZE] > 0
        for i in range(news + 1):
            if i == news and lowest < 0:
                break
            cell = chosen[i] if i < news else work.full[lowest]
            if i == 0:
                first = cell
            if i == news:
                tally[FILLED] -= 1
                work.full[lowest] = work.full[tally[FILLED]]
            may_trade = admit_cell(operator, work, cell, ceiling[cell], heat[cell], may_trade)
            heat[cell] = 0.0
        while True:
            miss, price = set_target(work, inside)
            tally[TAKEN] += 1 if tally[SIZE] > 0 else 0
            if walk_to_target(work, first):
                break
            for p in range(tally[SIZE] - 1, -1, -1):
                if work.gone[p]:
                    stray = work.turn[p] != 0 and work.free[p] == first
                    remove_free(operator, work, p)
                    if stray:
                        refuse(work, first)
        near, size = miss < inside, tally[SIZE]
        better = note_progress(work, near, miss, ceiling, best)

        # Look for cells that would earn more than the price, and full ones that earn less.
        left = work.beyond + price * np.dot(work.weights[:size], work.basis[:size])
        if near and any_heat:
            break
        slack = rounding + SLACK * price
        if not near:
            slack += 1e-11 * grain * math.sqrt(np.dot(left, left))
        idle = near and size == 0  # nothing but full cells, and nearer than need be
        lowest = find_cheapest_full(operator, work, left, np.inf if idle else price - slack)
        news = 0
        for whole in range(2 if idle else int(step == 1), 2):
            if whole == 1:
                left = compute_residual(operator, work, readings, ceiling)
            values = np.dot(left, operator if whole == 1 else coarse)
            leap = 1 if whole == 1 else step
            news = find_peaks(values, leap, work.state, price + slack, found, worth)
            if whole == 0:
                news = refine_peaks(operator, work, left, step, price + slack, news, found, worth)
            if news > 0:
                break
        if (news == 0 and lowest < 0) or tally[TAKEN] >= MOST_STEPS:
            done = not idle and news == 0 and lowest < 0
            break
        if not better and news > 0:
            news, lowest = 1, -1
        chosen = found
    np.add(left, 0.0, rest)
    write_result(
        work, ceiling, readings, outside, radius, price, left, values, done, heat,
        numbers,
    )  # fmt: skip
