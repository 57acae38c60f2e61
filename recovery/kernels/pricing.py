"""Which of many cells is the cheapest to go to, where each asks a price for being gone to."""

import numpy as np

INFINITE = 1 << 60


def along(height, chosen, best, source, parabola, begins):
    """Fill `best` with the least (x - y)**2 + height[y] of every place x, and `source` with where.

    Source: Felzenszwalb and Huttenlocher 2012, "Distance transforms of sampled functions".

    Differs from the source:
        1. Heights are whole numbers, and where one parabola takes over from the next is rounded
           down to a whole place: both are exact.
    """
    places = len(height)
    top = -1
    for y in range(places):
        if height[y] >= INFINITE:
            continue
        while top >= 0:
            x = parabola[top]
            # From the place after `meets` on, y is strictly below x.
            meets = (height[y] + y * y - height[x] - x * x) // (2 * (y - x))
            if meets >= begins[top]:
                break
            top -= 1
        top += 1
        parabola[top] = y
        begins[top] = meets + 1 if top > 0 else 0
    if top < 0:
        best[:] = INFINITE
        source[:] = -1
        return
    k = 0
    for x in range(places):
        while k < top and begins[k + 1] <= x:
            k += 1
        y = parabola[k]
        best[x] = (x - y) * (x - y) + height[y]
        source[x] = chosen[y]


def nearest(height):
    """Return, for every cell, the least squared distance plus height, and the cell it is at.

    `height` is (rows, columns) of whole numbers, INFINITE where there is nothing to go to.
    """
    rows, columns = height.shape
    most = max(rows, columns)
    parabola, begins = np.empty(most, np.int64), np.empty(most, np.int64)
    half, via = np.empty((columns, rows), np.int64), np.empty((columns, rows), np.int64)
    best, source = np.empty((rows, columns), np.int64), np.empty((rows, columns), np.int64)
    line, mine = np.empty(most, np.int64), np.empty(most, np.int64)
    for y in range(rows):
        cells = np.arange(y * columns, (y + 1) * columns)
        along(height[y], cells, line[:columns], mine[:columns], parabola, begins)
        half[:, y] = line[:columns]
        via[:, y] = mine[:columns]
    for x in range(columns):
        along(half[x], via[x], line[:rows], mine[:rows], parabola, begins)
        best[:, x] = line[:rows]
        source[:, x] = mine[:rows]
    return best, source


def cheapest(away, y_from, x_from, y_to, x_to, height):
    """Return, for every place to start from, the least way plus height, and the index of where.

    `away` is (rows, columns), what a move by so many rows and columns costs. Every pair is
    looked at.
    """
    best = np.full(len(y_from), INFINITE, np.int64)
    source = np.zeros(len(y_from), np.int64)
    for i in range(len(y_from)):
        for j in range(len(y_to)):
            cost = away[abs(y_from[i] - y_to[j]), abs(x_from[i] - x_to[j])] + height[j]
            if cost < best[i]:
                best[i] = cost
                source[i] = j
    return best, source
