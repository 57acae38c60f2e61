"""The least heat by an active set, each step exact: the inner loops of `recovery.sparse`.

    minimise sum(f)  subject to  ||B f - c|| <= radius  and  0 <= f <= ceiling

On the cells P that are neither empty nor full, with B_P = Q R, z = Q'd, w = R^-T 1 and d the
readings less what the full cells explain, the least total lies at R^-1 (z - price w), where

    price = sqrt((radius**2 - ||d - Q z||**2) / w'w)

While no heat on P comes within the radius the target is the least-squares point, at price 0.
Source: Lawson and Hanson 1974, chapter 23, for the steps between the bounds.

The operator comes in one form, `axes` = (axis_x, axis_y, keep_x, keep_y, mix). Cells lie on a
grid, number row * columns + column, and pair p of a cell is axis_x[keep_x[p], column] *
axis_y[keep_y[p], row]. These are its column of B, but for `mix`, (rank, pairs), that turns pairs
into coordinates where it is not empty. A dense B is one row of cells: axis_x is B itself and
axis_y has the shape (0, 1). `coarse` are axis_x and axis_y on every step-th cell. Sensors
likewise: `bases` are (rank, sensors) of either axis, or U' whole and an empty one.

Loops go over cells that hold heat, or over the line of cells; what is as long as the rank, or a
plane of cells, is left to numpy, so that this is usable uncompiled.
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Whole: TypeAlias = NDArray[np.int64]
States: TypeAlias = NDArray[np.int8]
Axes: TypeAlias = tuple[Floats, Floats, Whole, Whole, Floats]
Two: TypeAlias = tuple[Floats, Floats]
Steps: TypeAlias = tuple[int, int]
Parts: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats]  # Q', R', z, w, d - Q z
Lists: TypeAlias = tuple[Whole, Whole, Floats, Floats]  # of free cells: which, turn, heat, bound

ZERO, OPTIMAL, NEAREST, STALLED, SPOILT = 0, 1, 2, 3, 4
EMPTY, FREE, FULL, CLOSED, REFUSED, KEPT = 0, 1, 2, 3, 4, 5
TOGETHER = 8  # cells that may begin to hold heat in one step
MOST_STEPS = 10_000
SLACK = 1e-10  # a cell that earns its price but for this is left alone
CLOSE = 1e-9  # of the readings' length: nearer to them than this is rounding
DEPENDENT = 1e-14  # what is left of a column beside the others, relative, is rounding


def column(axes: Axes, cell: int) -> Floats:
    """Return what one cell adds to the coordinates, (rank,)."""
    axis_x, axis_y, keep_x, keep_y, mix = axes
    if axis_y.shape[0] == 0:
        return axis_x[:, cell].copy()
    columns = axis_x.shape[1]
    pairs = axis_x[:, cell % columns][keep_x] * axis_y[:, cell // columns][keep_y]
    return np.dot(mix, pairs) if mix.size else pairs


def laid(axes: Axes, rest: Floats) -> Floats:
    """Return coordinates as `prices` takes them: each pair in its place, or as they are."""
    axis_x, axis_y, keep_x, keep_y, mix = axes
    if axis_y.shape[0] == 0:
        return rest
    inner = np.zeros(axis_y.shape[0] * axis_x.shape[0])
    inner[keep_y * axis_x.shape[0] + keep_x] = np.dot(rest, mix) if mix.size else rest
    return inner


def prices(axis_x: Floats, axis_y: Floats, inner: Floats) -> Floats:
    """Return B' rest on the grid, (rows, columns), of `laid` rest."""
    if axis_y.shape[0] == 0:
        return np.dot(inner, axis_x).reshape((1, axis_x.shape[1]))
    half = np.dot(inner.reshape((axis_y.shape[0], axis_x.shape[0])), axis_x)
    return np.dot(axis_y.T, half)


def ranked(found: Whole, worth: Floats) -> Whole:
    """Return the few dearest, the dearest first."""
    return found[np.argsort(-worth)[:TOGETHER]]


def peaks(values: Floats, state: States, least: float) -> Whole:
    """Return the empty places dearer than a level and than their neighbours, dearest first.

    Full cells are dearer, and do not count as neighbours.
    """
    rows, columns = values.shape
    if rows > 1:
        seen = np.where(state <= FREE, values, -np.inf)
        top = (seen > least) & (state == EMPTY)
        if not top.any():
            return np.empty(0, np.int64)
        top[:, 1:] &= seen[:, 1:] >= seen[:, :-1]
        top[:, :-1] &= seen[:, :-1] >= seen[:, 1:]
        top[1:] &= seen[1:] >= seen[:-1]
        top[:-1] &= seen[:-1] >= seen[1:]
        found = np.flatnonzero(top)
        return ranked(found, values.ravel()[found])
    line, open_ = values[0], state[0]
    found = np.empty(columns // 2 + 1, np.int64)
    worth = np.empty(len(found))
    count = 0
    for i in range(columns):
        value = line[i]
        if value > least and open_[i] == EMPTY:
            if i > 0 and line[i - 1] >= value and open_[i - 1] <= FREE:
                continue
            if i + 1 < columns and line[i + 1] > value and open_[i + 1] <= FREE:
                continue
            found[count], worth[count] = i, value
            count += 1
    if count < 2:
        return found[:count]
    return ranked(found[:count], worth[:count])


def append(parts: Parts, size: int, new: Floats) -> bool:
    """Add a column to the factors; False, and nothing changed, where it depends on the others."""
    basis, factor, along, _, beyond = parts
    if size == basis.shape[0]:
        return False
    before = np.dot(new, new)
    left = before
    if size:
        known = basis[:size]
        shares = np.dot(known, new)
        new = new - np.dot(shares, known)
        left = np.dot(new, new)
        if left < 0.5 * before:  # much was lost, and the directions with it: twice is enough
            again = np.dot(known, new)
            new -= np.dot(again, known)
            shares += again
            left = np.dot(new, new)
        factor[size, :size] = shares
    height = math.sqrt(left)
    if not height > DEPENDENT * math.sqrt(before):
        return False
    factor[size, size] = height
    basis[size] = new / height
    share = np.dot(basis[size], beyond)
    along[size] = share
    beyond -= share * basis[size]
    weigh(parts, size, size + 1)
    return True


def weigh(parts: Parts, first: int, size: int) -> None:
    """Work out w anew from one place on; row j of R' is column j of R."""
    factor, weights = parts[1], parts[3]
    for j in range(first, size):
        rest = 1.0
        for i in range(j):
            rest -= factor[j, i] * weights[i]
        weights[j] = rest / factor[j, j]


def remove(parts: Parts, size: int, gone: int) -> None:
    """Take a column out of the factors by Givens rotations, which carry z along.

    They do not carry w, which may be huge beside a column that all but depends on the others.
    """
    basis, factor, along, _, beyond = parts
    for j in range(gone, size - 1):
        for i in range(j + 2):
            factor[j, i] = factor[j + 1, i]
    for i in range(gone, size - 1):
        norm = math.hypot(factor[i, i], factor[i, i + 1])
        c, s = factor[i, i] / norm, factor[i, i + 1] / norm
        for j in range(i, size - 1):
            one, two = factor[j, i], factor[j, i + 1]
            factor[j, i], factor[j, i + 1] = c * one + s * two, c * two - s * one
        first = basis[i].copy()
        basis[i] = c * first + s * basis[i + 1]
        basis[i + 1] = c * basis[i + 1] - s * first
        one, two = along[i], along[i + 1]
        along[i], along[i + 1] = c * one + s * two, c * two - s * one
    beyond += along[size - 1] * basis[size - 1]
    weigh(parts, gone, size - 1)


def shift(parts: Parts, size: int, change: Floats) -> None:
    """Change the readings that the free cells have to explain."""
    basis, along, beyond = parts[0], parts[2], parts[4]
    beyond += change
    if size:
        for _ in range(2):
            more = np.dot(basis[:size], beyond)
            along[:size] += more
            beyond -= np.dot(more, basis[:size])


def solve_up(factor: Floats, right: Floats, size: int) -> None:
    """Replace `right` by R^-1 right."""
    for j in range(size - 1, -1, -1):
        value = right[j] / factor[j, j]
        right[j] = value
        for i in range(j):
            right[i] -= value * factor[j, i]


def leave(
    axes: Axes, parts: Parts, lists: Lists, size: int, p: int,
    flat: States, full: Whole, filled: int,
) -> int:  # fmt: skip
    """Take a cell that stands at a bound out of the free ones; return how many are full then."""
    free, turn, amount, bound = lists
    cell, top, at_top = free[p], bound[p], amount[p] >= bound[p]
    remove(parts, size, p)
    for i in range(p, size - 1):
        free[i], turn[i] = free[i + 1], turn[i + 1]
        amount[i], bound[i] = amount[i + 1], bound[i + 1]
    flat[cell] = EMPTY
    if not at_top:
        return filled
    shift(parts, size - 1, -top * column(axes, cell))
    flat[cell], full[filled] = FULL, cell
    return filled + 1


def walk(lists: Lists, target: Floats, first: int, gone: NDArray[np.bool_], size: int) -> bool:
    """Go to the target, or until a cell runs empty or full; True on arrival, else see `gone`.

    Of several newcomers only the dearest, `first`, is sure to go the right way. Where others go
    the wrong way nobody moves, and they are to leave; the dearest only if it is alone in that.
    """
    free, turn, amount, bound = lists
    strays, first_strays = 0, -1
    share = 1.0
    for p in range(size):
        step = target[p] - amount[p]
        gone[p] = turn[p] != 0 and turn[p] * step <= 0
        if gone[p]:
            strays += 1
            if free[p] == first:
                first_strays = p
        elif target[p] < 0:
            share = min(share, -amount[p] / step)
        elif target[p] > bound[p]:
            share = min(share, (bound[p] - amount[p]) / step)
    if strays:
        if strays > 1 and first_strays >= 0:
            gone[first_strays] = False
        return False
    for p in range(size):
        turn[p] = 0
        if share >= 1.0:
            amount[p] = target[p]
            continue
        moved = amount[p] + share * (target[p] - amount[p])
        if target[p] < 0 and moved <= 1e-14 * amount[p]:
            gone[p], moved = True, 0.0
        elif target[p] > bound[p] and bound[p] - moved <= 1e-14 * bound[p]:
            gone[p], moved = True, bound[p]
        amount[p] = moved
    return share >= 1.0


def trade(parts: Parts, lists: Lists, size: int, new: Floats, most: float) -> tuple[float, int]:
    """Move heat into a column that the others can make up for, until one of them has to leave.

    Returns how much, and who meets a bound; -1 where nobody does before `most`, which is
    negative for a column that gives heat away.
    """
    amount, bound = lists[2], lists[3]
    rates = np.dot(parts[0][:size], new)
    solve_up(parts[1], rates, size)
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


def left_over(
    axes: Axes, readings: Floats, ceiling: Floats, lists: Lists, size: int, full: Whole
) -> Floats:
    """Return c - B heat, afresh."""
    rest = readings.copy()
    for p in range(size):
        rest -= lists[2][p] * column(axes, lists[0][p])
    for cell in full:
        rest -= ceiling[cell if len(ceiling) > 1 else 0] * column(axes, cell)
    return rest


def window(
    axes: Axes, state: States, inner: Floats, cell: int, reach_x: int, reach_y: int
) -> tuple[int, float]:
    """Return the dearest empty cell near another, and its price; minus infinity if none."""
    rows, columns = state.shape
    row, place = cell // columns, cell % columns
    top, bottom = max(0, row - reach_y), min(rows, row + reach_y + 1)
    left, right = max(0, place - reach_x), min(columns, place + reach_x + 1)
    near_x = np.ascontiguousarray(axes[0][:, left:right])
    near_y = np.ascontiguousarray(axes[1][:, top:bottom])
    values = prices(near_x, near_y, inner)
    best, worth = -1, -np.inf
    for i in range(bottom - top):
        for j in range(right - left):
            if values[i, j] > worth and state[top + i, left + j] == EMPTY:
                best, worth = (top + i) * columns + left + j, values[i, j]
    return best, worth


def entering(
    axes: Axes, coarse: Two, steps: Steps, state: States, rest: Floats, least: float,
    free: Whole,
) -> Whole:  # fmt: skip
    """Return empty cells dearer than a level, dearest first, without looking at all of them.

    A blurred price is smooth, so its peaks show on every step-th cell; where none does, one may
    still stand beside a cell that holds heat.
    """
    step_x, step_y = steps
    columns, half_x, half_y = state.shape[1], step_x // 2, step_y // 2
    inner = laid(axes, rest)
    values = prices(coarse[0], coarse[1], inner)
    wide = values.shape[1]
    seen = np.ascontiguousarray(state[half_y::step_y, half_x::step_x])
    tops = peaks(values, seen, least)
    found, worth = np.empty(TOGETHER + len(free), np.int64), np.empty(TOGETHER + len(free))
    count = 0
    for near_heat in range(2):
        for i in range(len(free) if near_heat else len(tops)):
            if near_heat:
                start = free[i]
            else:
                start = (half_y + tops[i] // wide * step_y) * columns
                start += half_x + tops[i] % wide * step_x
            cell, value = window(axes, state, inner, start, step_x, step_y)
            known = value <= least
            for j in range(count):
                known |= found[j] == cell
            if not known:
                found[count], worth[count] = cell, value
                count += 1
        if count:
            break
    return ranked(found[:count], worth[:count])


def descend(
    axes: Axes, coarse: Two, steps: Steps, grain: float, ceiling: Floats,
    readings: Floats, outside: float, radius: float, guess: Whole, heat: Floats,
) -> tuple[int, tuple[float, float, float, float], int, float, Floats]:  # fmt: skip
    """Leave the least heat in `heat`, and return how sure it is.

    Args:
        steps: (x, y), of `coarse`; (1, 1) to look at every cell each time.
        grain: the norm of the largest column of B.
        ceiling: the most heat a cell holds, (cells,), or (1,) for all alike.
        readings: c = U'y, (rank,).
        outside: ||y - U U'y||**2, which no heat explains.
        radius: how far A f may stay from y.
        guess: cells that hold heat in `heat`; all others are 0 there.

    Returns:
        (code, (total, residual, gap, radius), steps taken, price, rest). OPTIMAL, with the
        excess over the least total at most; NEAREST, with that over the least residual; STALLED,
        with infinity. The radius is what was kept to, and the rest c - B heat; over the price,
        which is the residual where there is none, multipliers.
    """
    rank, columns, rows = len(readings), axes[0].shape[1], axes[1].shape[1]
    cells = rows * columns
    most = min(rank, cells)
    basis, factor, beyond = np.empty((most, rank)), np.empty((most, most)), readings.copy()
    along, weights, target = np.empty(most), np.empty(most), np.empty(most)
    parts = (basis, factor, along, weights, beyond)
    free, turn, gone = np.empty(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.bool_)
    amount, bound = np.empty(most), np.empty(most)
    lists = (free, turn, amount, bound)
    full, refused = np.empty(cells, np.int64), np.empty(cells, np.int64)
    size, filled, barred, taken = 0, 0, 0, 0
    flat = np.zeros(cells, np.int8)
    state = flat.reshape((rows, columns))
    apart = len(ceiling) > 1
    if apart:
        flat[ceiling <= 0] = CLOSED
    size_in = math.sqrt(np.dot(readings, readings))
    radius = max(radius, CLOSE * math.sqrt(outside + size_in * size_in))
    inside = radius * radius - outside
    rounding = 1e-15 * grain * size_in

    for cell in guess:
        top = ceiling[cell if apart else 0]
        if top > 0 and heat[cell] >= top:
            beyond -= top * column(axes, cell)
            flat[cell], full[filled] = FULL, cell
            filled += 1
    for cell in guess:
        if flat[cell] == EMPTY and heat[cell] > 0 and append(parts, size, column(axes, cell)):
            free[size], amount[size], bound[size] = cell, heat[cell], ceiling[cell if apart else 0]
            flat[cell] = FREE
            size += 1
        heat[cell] = 0.0

    first, alone, phase, merit, price, done = -1, False, 0, np.inf, 0.0, False
    rest, highest = readings, 0.0
    values = np.zeros((rows, 0))
    while taken < MOST_STEPS:
        # Walk to the target of these cells, and leave behind those that run empty or full.
        miss = np.dot(beyond, beyond)
        near, price = miss < inside, 0.0
        while size:
            taken += 1
            if near:
                steep = 0.0
                for p in range(size):
                    steep += weights[p] * weights[p]
                price = math.sqrt((inside - miss) / steep)
            for p in range(size):
                target[p] = along[p] - price * weights[p]
            solve_up(factor, target, size)
            if walk(lists, target, first, gone, size):
                break
            for p in range(size - 1, -1, -1):
                if gone[p]:
                    cell, new = free[p], turn[p] != 0
                    filled = leave(axes, parts, lists, size, p, flat, full, filled)
                    size -= 1
                    if new and cell == first:
                        flat[cell] = KEPT if flat[cell] == FULL else REFUSED
                        refused[barred] = cell
                        barred += 1
            miss = np.dot(beyond, beyond)
            near, price = miss < inside, 0.0

        # Who is refused stays so until there is progress, or the same step would come again.
        now = miss
        if near:
            now = 0.0
            for p in range(size):
                now += amount[p]
            for i in range(filled):
                now += ceiling[full[i] if apart else 0]
        better = int(near) > phase or now < merit * (1 - 1e-14)
        phase, merit, alone = int(near), now, not better
        if better:
            for i in range(barred):
                flat[refused[i]] = FULL if flat[refused[i]] == KEPT else EMPTY
            barred = 0

        # Look for cells that would earn more than the price, and full ones that earn less.
        rest = beyond + price * np.dot(weights[:size], basis[:size]) if size else beyond.copy()
        slack = rounding + SLACK * price
        if not near:
            slack += 1e-11 * grain * math.sqrt(np.dot(rest, rest))
        idle = near and size == 0  # nothing but full cells, and nearer than need be
        lowest, cheapest = -1, np.inf if idle else price - slack
        for i in range(filled):
            if flat[full[i]] == FULL:
                worth = np.dot(column(axes, full[i]), rest)
                if worth < cheapest:
                    lowest, cheapest = i, worth
        newcomers = full[:0]
        if not idle:
            if steps[0] * steps[1] > 1:
                newcomers = entering(axes, coarse, steps, state, rest, price + slack, free[:size])
            if len(newcomers) == 0:
                rest = left_over(axes, readings, ceiling, lists, size, full[:filled])
                values = prices(axes[0], axes[1], laid(axes, rest))
                highest = values.max()
                if highest > price + slack:
                    newcomers = peaks(values, state, price + slack)
                done = len(newcomers) == 0 and lowest < 0
        if done or (idle and lowest < 0):
            break
        if alone and len(newcomers):
            newcomers, lowest = newcomers[:1], -1
        if lowest >= 0:
            newcomers = np.append(newcomers, full[lowest])
            filled -= 1
            full[lowest] = full[filled]

        first, before = newcomers[0], size
        for cell in newcomers:
            new, top, out = column(axes, cell), ceiling[cell if apart else 0], flat[cell] == FULL
            held = top if out else 0.0
            if out:
                shift(parts, size, top * new)
            placed, traded = append(parts, size, new), 0.0
            if not placed and near and 0 < size == before:
                traded, who = trade(parts, lists, size, new, -top if out else top)
                held += traded
                if who >= 0:
                    filled = leave(axes, parts, lists, size, who, flat, full, filled)
                    size, before = size - 1, -1
                    placed = append(parts, size, new)
            if placed:
                free[size], amount[size], bound[size], flat[cell] = cell, held, top, FREE
                turn[size] = 0 if traded != 0 else (-1 if out else 1)
                size += 1
                continue
            flat[cell] = EMPTY
            if held >= top:
                shift(parts, size, -top * new)
                flat[cell], full[filled] = FULL, cell
                filled += 1
            if traded == 0:
                flat[cell] = KEPT if flat[cell] == FULL else REFUSED
                refused[barred] = cell
                barred += 1

    total = 0.0
    for p in range(size):
        heat[free[p]] = amount[p]
        total += amount[p]
    for cell in full[:filled]:
        heat[cell] = ceiling[cell if apart else 0]
        total += heat[cell]
    gains, length = np.dot(readings, rest), math.sqrt(np.dot(rest, rest))
    residual = math.sqrt(outside + length * length)
    if not done:
        return STALLED, (total, residual, np.inf, radius), taken, residual, rest
    if highest > price:
        over = np.maximum(0.0, values.ravel() - price)
        gains -= np.dot(ceiling, over) if apart else ceiling[0] * over.sum()
    if price > 0:
        gap = total - (gains - math.sqrt(inside) * length) / price
        return OPTIMAL, (total, residual, gap, radius), taken, price, rest
    least = max(0.0, gains / length) if length else 0.0
    gap = residual - math.sqrt(outside + least * least)
    return NEAREST, (total, residual, gap, radius), taken, residual, rest


def coordinates(bases: Two, axes: Axes, readings: Floats) -> Floats:
    """Return U'y, (rank,)."""
    basis_x, basis_y = bases
    if basis_y.shape[0] == 0:
        return np.dot(basis_x, readings)
    table = readings.reshape((basis_y.shape[1], basis_x.shape[1]))
    inside = np.dot(np.dot(basis_y, table), basis_x.T)
    return inside.ravel()[axes[3] * basis_x.shape[0] + axes[2]]


def expanded(bases: Two, axes: Axes, inside: Floats) -> Floats:
    """Return U inside, one number a sensor."""
    basis_x, basis_y = bases
    if basis_y.shape[0] == 0:
        return np.dot(inside, basis_x)
    table = np.zeros(basis_y.shape[0] * basis_x.shape[0])
    table[axes[3] * basis_x.shape[0] + axes[2]] = inside
    half = np.dot(table.reshape((basis_y.shape[0], basis_x.shape[0])), basis_x)
    return np.dot(basis_y.T, half).ravel()


def solve(
    bases: Two, axes: Axes, coarse: Two, steps: Steps, grain: float,
    ceiling: Floats, readings: Floats, radius: float, guess: Whole, heat: Floats,
) -> tuple[int, tuple[float, float, float, float], int, Floats]:  # fmt: skip
    """Return what `descend` finds for y, (sensors,), and the multipliers instead of the rest.

    The heat to begin with is in `heat`, and the least heat is left there. The code is SPOILT
    where a reading is not finite.
    """
    size = math.sqrt(np.dot(readings, readings))
    if size <= radius or not math.isfinite(size):
        heat[:] = 0.0
        code = ZERO if size <= radius else SPOILT
        return code, (0.0, size, 0.0, radius), 0, np.zeros(len(readings))
    inside = coordinates(bases, axes, readings)
    beyond = readings - expanded(bases, axes, inside)
    code, numbers, taken, price, rest = descend(
        axes, coarse, steps, grain, ceiling, inside, np.dot(beyond, beyond), radius, guess, heat
    )
    return code, numbers, taken, (beyond + expanded(bases, axes, rest)) / price


def solve_many(
    bases: Two, axes: Axes, coarse: Two, steps: Steps, grain: float,
    ceiling: Floats, readings: Floats, radii: Floats, heat: Floats,
) -> tuple[Whole, Floats, Whole, Floats, Floats]:  # fmt: skip
    """Return what `descend` finds for each of the readings, (batch, sensors), as arrays.

    Returns:
        codes, SPOILT where the readings are not finite; (batch, 4); steps taken; prices; and
        B heat, (batch, rank), for the multipliers are (y - U B heat) / price.
    """
    batch, rank = len(readings), axes[4].shape[0] if axes[4].size else len(axes[2])
    codes, taken = np.zeros(batch, np.int64), np.zeros(batch, np.int64)
    numbers, scales, told = np.zeros((batch, 4)), np.full(batch, np.inf), np.zeros((batch, rank))
    dense, nobody = bases[1].shape[0] == 0, np.empty(0, np.int64)
    if dense:
        told[:] = np.dot(readings, bases[0].T)
    for one in range(batch):
        target = readings[one]
        size = math.sqrt(np.dot(target, target))
        if size <= radii[one] or not math.isfinite(size):
            codes[one] = ZERO if size <= radii[one] else SPOILT
            numbers[one, 1], numbers[one, 3], told[one] = size, radii[one], 0.0
            continue
        inside = told[one].copy() if dense else coordinates(bases, axes, target)
        beyond = target - expanded(bases, axes, inside)
        codes[one], found, taken[one], scales[one], rest = descend(
            axes, coarse, steps, grain, ceiling, inside, np.dot(beyond, beyond), radii[one],
            nobody, heat[one],
        )  # fmt: skip
        for i in range(4):
            numbers[one, i] = found[i]
        told[one] = inside - rest
    return codes, numbers, taken, scales, told
