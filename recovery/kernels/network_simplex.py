"""The network simplex: masses moved along arcs of whole costs at the least total, exactly.

A basis is a spanning tree. `links` (6, nodes) holds, for each node, its parent, the arc to the
parent, the size of its subtree, its first child, its next and its previous sibling; -1 is none.
`upward` says whether the mass on the arc to the parent flows towards it, and `flow` how much.
Prices are whole numbers, so whether an arc is too dear is decided without a tolerance.
"""

import numpy as np


def find_spanning_tree(order, tails, heads, nodes):
    """Return the arcs of a spanning forest, each arc taken in its turn unless it closes a ring.

    Source: Kruskal 1956, with the path halving of Tarjan and van Leeuwen 1984.
    """
    boss = np.arange(nodes)
    tree = np.empty(nodes - 1, np.int32)
    count = 0
    for arc in order:
        if count == nodes - 1:
            break
        u, v = tails[arc], heads[arc]
        while boss[u] != u:
            boss[u] = boss[boss[u]]
            u = boss[u]
        while boss[v] != v:
            boss[v] = boss[boss[v]]
            v = boss[v]
        if u != v:
            boss[u] = v
            tree[count] = arc
            count += 1
    return tree[:count]


def hang_tree(tree, root, tails, heads, costs, both, detour, supply, links, upward, flow, price):
    """Fill the basis: the tree hung up at its root, the one flow on it, and its prices.

    An arc that goes only one way may be needed the other way; then its place is taken by an
    artificial arc, as dear as `detour`, noted as -2 - arc. An arc without flow points to the
    root, so that the tree is strongly feasible and pivots cannot circle.

    Source: Cunningham 1976, "A network simplex method".
    """
    nodes = len(supply)
    start = np.zeros(nodes + 1, np.int32)
    for arc in tree:
        start[tails[arc] + 1] += 1
        start[heads[arc] + 1] += 1
    for u in range(nodes):
        start[u + 1] += start[u]
    fill = start.copy()
    at_node = np.empty(2 * len(tree), np.int32)
    for arc in tree:
        for u in (tails[arc], heads[arc]):
            at_node[fill[u]] = arc
            fill[u] += 1
    parent, arc_up, size, child, following, previous = links
    links[:] = -1
    size[:] = 1
    flow[:] = supply
    order = np.empty(nodes, np.int32)
    order[0] = root
    seen = 1
    for k in range(nodes):
        u = order[k]
        for i in range(start[u], start[u + 1]):
            arc = at_node[i]
            if arc == arc_up[u]:
                continue
            v = heads[arc] if tails[arc] == u else tails[arc]
            parent[v], arc_up[v] = u, arc
            following[v] = child[u]
            if child[u] >= 0:
                previous[child[u]] = v
            child[u] = v
            order[seen] = v
            seen += 1
    for k in range(nodes - 1, 0, -1):
        u = order[k]
        size[parent[u]] += size[u]
        flow[parent[u]] += flow[u]
    price[root] = 0
    for k in range(1, nodes):
        u = order[k]
        arc = arc_up[u]
        cost = costs[arc]
        upward[u] = flow[u] >= 0
        if not both and upward[u] != (tails[arc] == u):
            cost = detour
            arc_up[u] = -2 - arc
        price[u] = price[parent[u]] + (cost if upward[u] else -cost)
        flow[u] = abs(flow[u])


def pivot_to_optimum(tails, heads, costs, both, block, patience, links, upward, flow, price):
    """Pivot until no arc is too dear; return how many pivots it took, or -1 out of patience.

    An arc from u to v is too dear while price(u) - price(v) exceeds its cost; arcs that go
    `both` ways are looked at from both ends. Arcs are priced `block` after `block`. Patience
    is in arcs and nodes visited.

    Source: Ahuja, Magnanti and Orlin 1993, Network Flows, chapter 11.

    Differs from the source:
        1. Of the two sides of the tree, the smaller one has its prices changed.
    """
    parent, arc_up, size, child, following, previous = links
    arcs, nodes = len(tails), len(price)
    stack = np.empty(nodes, np.int32)
    at = 0
    pivots = 0
    while True:
        worst = 0
        entering = -1
        looked = 0
        left = block
        while looked < arcs:
            excess = price[tails[at]] - price[heads[at]]
            if both and excess < 0:
                excess = -excess
            excess -= costs[at]
            if excess > worst:
                worst = excess
                entering = at
            at += 1
            if at == arcs:
                at = 0
            looked += 1
            left -= 1
            if left == 0:
                if entering >= 0:
                    break
                left = block
        if entering < 0:
            return pivots
        patience -= looked
        if patience < 0:
            return -1
        pivots += 1
        i, j = tails[entering], heads[entering]
        if both and price[i] < price[j]:
            i, j = j, i
        # The ring: over the entering arc from i to j, up to where both meet, and down to i.
        u, v = i, j
        while u != v:
            if size[u] < size[v]:
                u = parent[u]
            else:
                v = parent[v]
        meeting = u
        step = np.inf
        leaving = -1
        below_i = True
        u = i
        while u != meeting:
            if upward[u] and flow[u] < step:
                step = flow[u]
                leaving = u
            u = parent[u]
        # The last arc of the ring that blocks leaves: this keeps the tree strongly feasible.
        u = j
        while u != meeting:
            if not upward[u] and flow[u] <= step:
                step = flow[u]
                leaving = u
                below_i = False
            u = parent[u]
        u = i
        while u != meeting:
            flow[u] += -step if upward[u] else step
            u = parent[u]
        u = j
        while u != meeting:
            flow[u] += step if upward[u] else -step
            u = parent[u]
        inner, outer, shift = (i, j, -worst) if below_i else (j, i, worst)
        moved = size[leaving]
        u = parent[leaving]
        while u != meeting:
            size[u] -= moved
            u = parent[u]
        u = outer
        while u != meeting:
            size[u] += moved
            u = parent[u]
        # The path from the entering arc to the leaving one is turned upside down.
        u, above = inner, outer
        arc, amount, rises = entering, step, below_i
        given = 0
        while True:
            old_parent, old_arc, old_size = parent[u], arc_up[u], size[u]
            old_amount, old_rises = flow[u], upward[u]
            if previous[u] >= 0:
                following[previous[u]] = following[u]
            else:
                child[old_parent] = following[u]
            if following[u] >= 0:
                previous[following[u]] = previous[u]
            following[u] = child[above]
            previous[u] = -1
            if child[above] >= 0:
                previous[child[above]] = u
            child[above] = u
            parent[u], arc_up[u], size[u] = above, arc, moved - given
            flow[u], upward[u] = amount, rises
            if u == leaving:
                break
            given = old_size
            above, arc, amount, rises = u, old_arc, old_amount, not old_rises
            u = old_parent
        first = inner
        patience -= min(moved, nodes - moved)
        if 2 * moved > nodes:
            shift = -shift
            first = outer
            while parent[first] >= 0:
                first = parent[first]
        stack[0] = first
        top = 1
        while top > 0:
            top -= 1
            u = stack[top]
            price[u] += shift
            u = child[u]
            while u >= 0:
                if u != inner:
                    stack[top] = u
                    top += 1
                u = following[u]


# Which of many cells is the cheapest to go to, where each asks a price for being gone to.

INFINITE = 1 << 60


def transform_line(height, chosen, best, source, parabola, begins):
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


def find_nearest(height):
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
        transform_line(height[y], cells, line[:columns], mine[:columns], parabola, begins)
        half[:, y] = line[:columns]
        via[:, y] = mine[:columns]
    for x in range(columns):
        transform_line(half[x], via[x], line[:rows], mine[:rows], parabola, begins)
        best[:, x] = line[:rows]
        source[:, x] = mine[:rows]
    return best, source


def find_cheapest(away, y_from, x_from, y_to, x_to, height):
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
