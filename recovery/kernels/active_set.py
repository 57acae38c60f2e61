"""The least heat by an active set, each step exact: the inner loops of `recovery.sparse`.

    minimise sum(f)  subject to  ||B f - c|| <= radius  and  0 <= f <= ceiling

On the cells P that are neither empty nor full, with B_P = Q R, z = Q'd, w = R^-T 1 and d the
readings less what the full cells explain, the least total lies at R^-1 (z - price w), where

    price = sqrt((radius**2 - ||d - Q z||**2) / w'w)

While no heat on P comes within the radius the target is the least-squares point, at price 0.
Source: Lawson and Hanson 1974, chapter 23, for the steps between the bounds.

The operator comes in one form, `axes` = (axis_x, axis_y, keep_x, keep_y, mix). Cells lie on a
grid, number row * columns + column, and pair p of a cell is axis_x[column, keep_x[p]] *
axis_y[row, keep_y[p]]. These are its column of B, but for `mix`, (rank, pairs), that turns pairs
into coordinates where it is not empty. A dense B is one row of cells: axis_x is its transpose
and axis_y has the shape (1, 0). `coarse` is the same on every step-th cell. Sensors likewise:
`bases` are (sensors of an axis, rank) for either axis, or U whole and an empty one.
"""

import math

import numpy as np

ZERO, OPTIMAL, NEAREST, STALLED = 0, 1, 2, 3
EMPTY, FREE, FULL, CLOSED, REFUSED, KEPT = 0, 1, 2, 3, 4, 5
TOGETHER = 8  # cells that may begin to hold heat in one step
MOST_STEPS = 10_000
SLACK = 1e-10  # a cell that earns its price but for this is left alone
CLOSE = 1e-9  # of the readings' length: nearer to them than this is rounding
DEPENDENT = 1e-14  # what is left of a column beside the others, relative, is rounding


def column(axes, cell):
    """Return what one cell adds to the coordinates, (rank,)."""
    axis_x, axis_y, keep_x, keep_y, mix = axes
    if axis_y.shape[1] == 0:
        return axis_x[cell].copy()
    columns = axis_x.shape[0]
    pairs = axis_x[cell % columns][keep_x] * axis_y[cell // columns][keep_y]
    return np.dot(mix, pairs) if mix.size else pairs


def prices(axes, rest):
    """Return B' rest on the grid, (rows, columns)."""
    axis_x, axis_y, keep_x, keep_y, mix = axes
    if axis_y.shape[1] == 0:
        return np.dot(axis_x, rest).reshape((1, axis_x.shape[0]))
    inner = np.zeros(axis_x.shape[1] * axis_y.shape[1])
    inner[keep_x * axis_y.shape[1] + keep_y] = np.dot(rest, mix) if mix.size else rest
    half = np.dot(axis_x, inner.reshape((axis_x.shape[1], axis_y.shape[1])))
    return np.dot(axis_y, half.T)


def peaks(values, least):
    """Return the highest places of a grid above a level that no neighbour exceeds, best first."""
    rows, columns = values.shape
    framed = np.full((rows + 2, columns + 2), -np.inf)
    framed[1:-1, 1:-1] = values
    top = (values > least) & (values >= framed[1:-1, :-2]) & (values >= framed[1:-1, 2:])
    if rows > 1:
        top &= (values >= framed[:-2, 1:-1]) & (values >= framed[2:, 1:-1])
    found = np.flatnonzero(top)
    return found[np.argsort(-values.ravel()[found])[:TOGETHER]]


def append(parts, size, new):
    """Add a column to the factors; False, and nothing changed, where it depends on the others."""
    basis, factor, along, weights, beyond = parts
    if size == basis.shape[0]:
        return False
    shares = np.dot(basis[:size], new)
    rest = new - np.dot(shares, basis[:size])
    again = np.dot(basis[:size], rest)  # twice is enough, once is not
    rest -= np.dot(again, basis[:size])
    height = math.sqrt(np.dot(rest, rest))
    if not height > DEPENDENT * math.sqrt(np.dot(new, new)):
        return False
    factor[size, :size] = shares + again
    factor[size, size] = height
    basis[size] = rest / height
    along[size] = np.dot(basis[size], beyond)
    weights[size] = (1.0 - np.dot(factor[size, :size], weights[:size])) / height
    beyond -= along[size] * basis[size]
    return True


def remove(parts, size, gone):
    """Take a column out of the factors by Givens rotations, which carry z along.

    Row j of `factor` is column j of R.
    """
    basis, factor, along, weights, beyond = parts
    for j in range(gone, size - 1):
        factor[j, : j + 2] = factor[j + 1, : j + 2]
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
    # These may have been huge beside a column that all but depends on the others.
    for j in range(gone, size - 1):
        weights[j] = (1.0 - np.dot(factor[j, :j], weights[:j])) / factor[j, j]
    beyond += along[size - 1] * basis[size - 1]


def shift(parts, size, change):
    """Change the readings that the free cells have to explain."""
    basis, _, along, _, beyond = parts
    beyond += change
    for _ in range(2):
        more = np.dot(basis[:size], beyond)
        along[:size] += more
        beyond -= np.dot(more, basis[:size])


def solved(factor, right):
    """Return R^-1 right, in its place."""
    for j in range(len(right) - 1, -1, -1):
        right[j] /= factor[j, j]
        right[:j] -= right[j] * factor[j, :j]
    return right


def stride(amount, target, bound):
    """Return how far from the amounts to the target no cell leaves its bounds, at most 1."""
    share = 1.0
    for p in range(len(amount)):
        if target[p] < 0:
            share = min(share, amount[p] / (amount[p] - target[p]))
        elif target[p] > bound[p]:
            share = min(share, (bound[p] - amount[p]) / (target[p] - amount[p]))
    return share


def walk(amount, target, bound, share):
    """Go that far, and return who has met a bound."""
    met = np.zeros(len(amount), np.bool_)
    for p in range(len(amount)):
        moved = amount[p] + share * (target[p] - amount[p])
        if target[p] < 0 and moved <= 1e-14 * amount[p]:
            met[p], moved = True, 0.0
        elif target[p] > bound[p] and bound[p] - moved <= 1e-14 * bound[p]:
            met[p], moved = True, bound[p]
        amount[p] = moved
    return met


def leave(axes, parts, lists, size, p, state, full, filled):
    """Take a cell that stands at a bound out of the free ones; return how many are full then."""
    free, turn, amount, bound = lists
    cell, top, at_top = free[p], bound[p], amount[p] >= bound[p]
    remove(parts, size, p)
    for i in range(p, size - 1):
        free[i], turn[i] = free[i + 1], turn[i + 1]
        amount[i], bound[i] = amount[i + 1], bound[i + 1]
    state[cell] = EMPTY
    if not at_top:
        return filled
    shift(parts, size - 1, -top * column(axes, cell))
    state[cell], full[filled] = FULL, cell
    return filled + 1


def trade(parts, size, new, amount, bound, most):
    """Move heat into a column that the others can make up for, until one of them has to leave.

    Returns how much, and who meets a bound; -1 where nobody does before `most`, which is
    negative for a column that gives heat away.
    """
    basis, factor = parts[0], parts[1]
    rates = -np.sign(most) * solved(factor, np.dot(basis[:size], new))
    far, who = abs(most), -1
    for p in range(size):
        room = bound[p] - amount[p] if rates[p] > 0 else amount[p]
        if rates[p] != 0 and room < far * abs(rates[p]):
            far, who = room / abs(rates[p]), p
    amount[:size] += far * rates
    if who >= 0:
        amount[who] = bound[who] if rates[who] > 0 else 0.0
    return np.sign(most) * far, who


def left_over(axes, readings, ceiling, free, amount, full):
    """Return c - B heat, afresh."""
    rest = readings.copy()
    for p in range(len(free)):
        rest -= amount[p] * column(axes, free[p])
    for cell in full:
        rest -= ceiling[cell if len(ceiling) > 1 else 0] * column(axes, cell)
    return rest


def excess(values, ceiling, price):
    """Return what all cells, full, would earn beyond their price."""
    over = np.maximum(0.0, values.ravel() - price)
    return ceiling[0] * over.sum() if len(ceiling) == 1 else np.dot(ceiling, over)


def window(axes, state, rest, cell, reach_x, reach_y):
    """Return the dearest empty cell near another, and its price; minus infinity if none."""
    axis_x, axis_y, keep_x, keep_y, mix = axes
    rows, columns = state.shape
    row, place = cell // columns, cell % columns
    top, bottom = max(0, row - reach_y), min(rows, row + reach_y + 1)
    left, right = max(0, place - reach_x), min(columns, place + reach_x + 1)
    values = prices((axis_x[left:right], axis_y[top:bottom], keep_x, keep_y, mix), rest)
    seen = np.where(state[top:bottom, left:right] == EMPTY, values, -np.inf)
    best = int(np.argmax(seen))
    row, place = best // (right - left), best % (right - left)
    return (top + row) * columns + left + place, seen[row, place]


def entering(axes, coarse, steps, state, rest, least, free):
    """Return empty cells dearer than a level, dearest first, without looking at all of them.

    A blurred price is smooth, so its peaks show on every step-th cell; where none does, one may
    still stand beside a cell that holds heat.
    """
    step_x, step_y = steps
    columns, half_x, half_y = state.shape[1], step_x // 2, step_y // 2
    values = prices(coarse, rest)
    seen = state[half_y::step_y, half_x::step_x]
    tops = peaks(np.where(seen <= FREE, values, -np.inf), least)
    found, worth = np.empty(TOGETHER + len(free), np.int64), np.empty(TOGETHER + len(free))
    count = 0
    for near_heat in range(2):
        for i in range(len(free) if near_heat else len(tops)):
            row, place = 0, 0
            if not near_heat:
                row, place = tops[i] // values.shape[1], tops[i] % values.shape[1]
            start = (half_y + row * step_y) * columns + half_x + place * step_x
            if near_heat:
                start = free[i]
            cell, value = window(axes, state, rest, start, step_x, step_y)
            if value > least and not (found[:count] == cell).any():
                found[count], worth[count] = cell, value
                count += 1
        if count:
            break
    return found[:count][np.argsort(-worth[:count])[:TOGETHER]]


def descend(axes, coarse, steps, grain, ceiling, readings, radius, guess, heat):
    """Leave the least heat in `heat`, and return (code, price, rest, gap, steps taken).

    Args:
        steps: (x, y), of `coarse`; (1, 1) to look at every cell each time.
        grain: the norm of the largest column of B.
        ceiling: the most heat a cell holds, (cells,), or (1,) for all alike.
        readings: c, (rank,).
        radius: negative where no heat can be near enough.
        guess: cells that hold heat in `heat`; all others are 0 there.

    Returns:
        OPTIMAL, and the excess over the least total at most; NEAREST, and that over the least
        residual; STALLED, and infinity. The rest is c - B heat: over the price, the multipliers.
    """
    axis_x, axis_y = axes[0], axes[1]
    rank, columns, rows = len(readings), axis_x.shape[0], max(1, axis_y.shape[0])
    cells = rows * columns
    most = min(rank, cells)
    basis, factor, beyond = np.empty((most, rank)), np.empty((most, most)), readings.copy()
    along, weights = np.empty(most), np.empty(most)
    parts = (basis, factor, along, weights, beyond)
    free, turn = np.empty(most, np.int64), np.zeros(most, np.int8)
    amount, bound = np.empty(most), np.empty(most)
    lists = (free, turn, amount, bound)
    full, refused = np.empty(cells, np.int64), np.empty(cells, np.int64)
    size, filled, barred, taken = 0, 0, 0, 0
    flat = np.zeros(cells, np.int8)
    state = flat.reshape((rows, columns))
    apart = len(ceiling) > 1
    if apart:
        flat[ceiling <= 0] = CLOSED
    inside = radius * radius if radius > 0 else -1.0
    rounding = 1e-15 * grain * math.sqrt(np.dot(readings, readings))

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
    values, rest = np.zeros((rows, 0)), readings
    while taken < MOST_STEPS:
        # Walk to the target of these cells, and leave behind those that run empty or full.
        while size:
            taken += 1
            miss = np.dot(beyond, beyond)
            near, price = miss < inside, 0.0
            if near:
                price = math.sqrt((inside - miss) / np.dot(weights[:size], weights[:size]))
            target = solved(factor, along[:size] - price * weights[:size])
            # Of several newcomers only the dearest is sure to go the right way.
            gone = (turn[:size] != 0) & (turn[:size] * (target - amount[:size]) <= 0)
            if gone.sum() > 1:
                gone &= free[:size] != first
            if not gone.any():
                turn[:size] = 0
                share = stride(amount[:size], target, bound)
                if share >= 1.0:
                    amount[:size] = target
                    break
                gone = walk(amount[:size], target, bound, share)
            for p in range(size - 1, -1, -1):
                if gone[p]:
                    cell, new = free[p], turn[p] != 0
                    filled = leave(axes, parts, lists, size, p, flat, full, filled)
                    size -= 1
                    if new and cell == first:
                        flat[cell] = KEPT if flat[cell] == FULL else REFUSED
                        refused[barred] = cell
                        barred += 1

        if size == 0:
            near, price = np.dot(beyond, beyond) < inside, 0.0

        # Who is refused stays so until there is progress, or the same step would come again.
        now = np.dot(beyond, beyond)
        if near:
            now = amount[:size].sum()
            for i in range(filled):
                now += ceiling[full[i] if apart else 0]
        better = int(near) > phase or now < merit * (1 - 1e-14)
        phase, merit, alone = int(near), now, not better
        if better:
            for i in range(barred):
                flat[refused[i]] = FULL if flat[refused[i]] == KEPT else EMPTY
            barred = 0

        # Look for cells that would earn more than the price, and full ones that earn less.
        rest = beyond + price * np.dot(weights[:size], basis[:size])
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
        newcomers = np.empty(0, np.int64)
        if not idle:
            if steps[0] * steps[1] > 1:
                newcomers = entering(axes, coarse, steps, state, rest, price + slack, free[:size])
            if len(newcomers) == 0:
                rest = left_over(axes, readings, ceiling, free[:size], amount, full[:filled])
                values = prices(axes, rest)
                newcomers = peaks(np.where(state <= FREE, values, -np.inf), price + slack)
                newcomers = newcomers[flat[newcomers] == EMPTY]
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
            new, top, out = column(axes, cell), ceiling[cell if apart else 0], flat[cell] >= FULL
            held = top if out else 0.0
            if out:
                shift(parts, size, top * new)
            placed, traded = append(parts, size, new), 0.0
            if not placed and near and size == before:
                traded, who = trade(parts, size, new, amount, bound, -top if out else top)
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

    for p in range(size):
        heat[free[p]] = amount[p]
    for cell in full[:filled]:
        heat[cell] = ceiling[cell if apart else 0]
    length = math.sqrt(np.dot(rest, rest))
    if not done:
        return STALLED, price, rest, np.inf, taken
    gains = np.dot(readings, rest) - excess(values, ceiling, price)
    if price > 0:
        return OPTIMAL, price, rest, heat.sum() - (gains - radius * length) / price, taken
    return NEAREST, price, rest, length - gains / length if length else 0.0, taken


def coordinates(bases, axes, readings):
    """Return U'y, and y - U U'y."""
    basis_x, basis_y = bases
    if basis_y.shape[1] == 0:
        inside = np.dot(readings, basis_x)
        return inside, readings - np.dot(basis_x, inside)
    keep = axes[3] * basis_x.shape[1] + axes[2]
    table = readings.reshape((basis_y.shape[0], basis_x.shape[0]))
    inside = np.dot(np.dot(basis_y.T, table), basis_x).ravel()[keep]
    return inside, readings - expanded(bases, axes, inside)


def expanded(bases, axes, inside):
    """Return U inside, one number a sensor."""
    basis_x, basis_y = bases
    if basis_y.shape[1] == 0:
        return np.dot(basis_x, inside)
    table = np.zeros(basis_y.shape[1] * basis_x.shape[1])
    table[axes[3] * basis_x.shape[1] + axes[2]] = inside
    half = np.dot(basis_y, table.reshape((basis_y.shape[1], basis_x.shape[1])))
    return np.dot(half, basis_x.T).ravel()


def search(axes, coarse, steps, grain, ceiling, inside, outside, size, radius, guess, heat):
    """Return (code, (objective, residual, gap, radius), steps taken, price, rest).

    Args:
        inside, outside, size: U'y, ||y - U U'y||**2 and ||y||.
        radius: as asked; the one returned is what was kept to.
    """
    radius = max(radius, CLOSE * size)
    room = radius * radius - outside
    code, price, rest, gap, taken = descend(
        axes, coarse, steps, grain, ceiling, inside, math.sqrt(room) if room > 0 else -1.0, guess,
        heat,
    )  # fmt: skip
    length = math.sqrt(np.dot(rest, rest))
    residual = math.sqrt(outside + length * length)
    if code == NEAREST:
        gap = residual - math.sqrt(outside + max(0.0, length - gap) ** 2)
    return code, (heat.sum(), residual, gap, radius), taken, price if price > 0 else residual, rest


def solve(bases, axes, coarse, steps, grain, ceiling, readings, radius, guess, heat):
    """Return what `search` finds for readings, (sensors,), and the multipliers instead of c - B f.

    The heat to begin with is in `heat`, and the least heat is left there.
    """
    size = math.sqrt(np.dot(readings, readings))
    if size <= radius:
        heat[:] = 0.0
        return ZERO, (0.0, size, 0.0, radius), 0, np.zeros(len(readings))
    inside, beyond = coordinates(bases, axes, readings)
    code, numbers, taken, price, rest = search(
        axes, coarse, steps, grain, ceiling, inside, np.dot(beyond, beyond), size, radius, guess,
        heat,
    )  # fmt: skip
    return code, numbers, taken, (beyond + expanded(bases, axes, rest)) / price


def solve_many(bases, axes, coarse, steps, grain, ceiling, readings, radii, heat):
    """Return what `search` finds for each of the readings, (batch, sensors), as arrays.

    Returns:
        codes; (batch, 4); steps taken; prices; and B heat, (batch, rank), for the multipliers
        are (y - U B heat) / price.
    """
    batch, rank = len(readings), len(axes[2]) if axes[4].size == 0 else axes[4].shape[0]
    codes, taken = np.zeros(batch, np.int64), np.zeros(batch, np.int64)
    numbers, prices_, told = np.zeros((batch, 4)), np.full(batch, np.inf), np.zeros((batch, rank))
    flat, nobody = bases[1].shape[1] == 0, np.empty(0, np.int64)
    if flat:
        told[:] = np.dot(readings, bases[0])
    for one in range(batch):
        size = math.sqrt(np.dot(readings[one], readings[one]))
        if size <= radii[one]:
            numbers[one], told[one] = np.array((0.0, size, 0.0, radii[one])), 0.0
            continue
        if flat:
            inside = told[one].copy()
            beyond = readings[one] - np.dot(bases[0], inside)
        else:
            inside, beyond = coordinates(bases, axes, readings[one])
        codes[one], found, taken[one], prices_[one], rest = search(
            axes, coarse, steps, grain, ceiling, inside, np.dot(beyond, beyond), size, radii[one],
            nobody, heat[one],
        )  # fmt: skip
        numbers[one], told[one] = np.array(found), inside - rest
    return codes, numbers, taken, prices_, told
