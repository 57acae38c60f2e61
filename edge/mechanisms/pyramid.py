"""Squares within squares: what each device weighs of them, added, with noise on every square.

Guarantee: epsilon, pure, for one release as the Round states, against everybody but the gateway.
Neighbours: what one device reports, or nothing in its place; to replace its places by others
costs twice epsilon. Trust: central, the gateway sees every report and draws the noise. Unit: one
report of one device. Not protected: that a device answers, how many do, and what comes later.

    Round.params = (units, points, kept, first, num, den, *weights)

A device has `units` parts of mass and gives them to at most `points` squares of the finest
measured level. Level i has 2**i squares a side, over a grid that is padded to a power of two;
squares that lie wholly in the padding are never measured. Levels from `first` on are measured,
one for each weight, and level i gets the epsilon num/den weight / (sum of weights), so that they
add up to num/den exactly. From one level to the next go the children of the `kept` squares with
most parts. What is not measured has no influence, so that noise is drawn for nothing else.

Source: paper 000, Algorithms 1 and 2.

Differs from the paper:
1. Only measured levels share epsilon, and noise is exact discrete Laplace on whole parts.
2. The noise has scale 1/epsilon on parts that are not divided by the level's 2**i yet.
"""

from collections import namedtuple

from ..core.grid import clamp_cell, depth
from ..core.noise import dlaplace
from ..core.records import Release, check_whole

NAME = "pyramid"
DEEPEST = 12  # levels of 4096 squares a side
BITS = 31  # of parts at the most: what a message holds

Params = namedtuple("Params", ("units", "points", "kept", "first", "num", "den", "weights"))


def params_of(round):
    """Return the params of a Round by name; ValueError where they mean nothing."""
    given = round.params
    p = None
    if len(given) > 6:
        units, points, kept, first, num, den = given[:6]
        p = Params(units, points, kept, first, num, den, tuple(given[6:]))
    if (
        p is None
        or not all([type(n) is int for n in given])
        or min(p.units, p.points, p.kept, p.num, p.den) < 1
        or min(p.weights) < 1
        or p.units >> BITS
        or not 0 <= p.first <= p.first + len(p.weights) - 1 <= depth(round.grid) <= DEEPEST
    ):
        raise ValueError(
            "round %d has params that no pyramid of %d x %d cells has: whole numbers above 0, and "
            "a weight for each level between the whole and the cells. Plan it again"
            % ((round.number,) + tuple(round.grid.shape))
        )
    return p


def epsilon(round):
    """Return (num, den), the epsilon of one release."""
    p = params_of(round)
    return p.num, p.den


def count_numbers(round):
    """Return how many numbers a payload has; all of a Round have as many."""
    return 1 + 2 * params_of(round).points


def bits(round):
    """Return how many bits one number of a payload has on the wire."""
    p = params_of(round)
    return 16 if max(p.units, 1 << 2 * (p.first + len(p.weights) - 1)) < 1 << 15 else 32


def epsilons(round):
    """Return (num, den) of each measured level; they add up to the Round's num/den exactly."""
    p = params_of(round)
    total = sum(p.weights)
    return [(p.num * weight, p.den * total) for weight in p.weights]


def objection(round):
    """Return why nobody can answer a Round: its params mean nothing. Else ""."""
    try:
        params_of(round)
    except ValueError as why:
        return str(why)
    return ""


def report(round, reading, rng):
    """Return the payload [sensor, square, parts, square, parts, ...] of a Reading.

    The values are a cell (x, y) with all the mass, or x, y, parts for each of several; a cell
    outside the grid counts as the nearest one. All payloads of a Round have one length, filled
    up with squares of no parts. Draws nothing from `rng`: the gateway does. The cells are those
    of the grid, the squares those of the finest measured level, which are fewer or as many.

    Mass above one is divided so that it is one: each square gets what the running sum of the
    others rounds down to, so that all together is `units` exactly. Where more squares than
    `points` have parts, the same is done in larger pieces, and less than a piece is lost.
    """
    p = params_of(round)
    parts = divide_mass(round.grid, p, p.first + len(p.weights) - 1, reading.values)
    payload = [reading.sensor]
    for square in sorted(parts):
        payload += [square, parts[square]]
    return payload + [0] * (count_numbers(round) - len(payload))


def divide_mass(grid, p, last, values):
    """Return {square: parts} of the values of a Reading, squares of level `last`: see `report`.

    p: with `units` and `points`.
    """
    values = check_whole(values, len(values))
    if len(values) == 2:
        values = values + (p.units,)
    if not values or len(values) % 3 or min(values[2::3]) < 0:
        raise ValueError(
            "a place is a cell x, y, or x, y, parts for each of several, with parts from 0 up; "
            "what came is neither, and is not said here. Return such whole numbers"
        )
    shift = depth(grid) - last
    masses = {}  # type: dict[int, int]
    for at in range(0, len(values), 3):
        x, y = clamp_cell(grid, values[at : at + 2])
        square = ((y >> shift) << last) + (x >> shift)
        masses[square] = masses.get(square, 0) + values[at + 2]
    mass = max(sum(masses.values()), p.units)  # what counts as one
    piece = 1
    if len(masses) > p.points:
        piece = (p.units + p.points - 1) // p.points
    found, before = {}, 0  # type: dict[int, int], int
    for square in sorted(masses):
        after = before + masses[square]
        parts = p.units * after // (mass * piece) - p.units * before // (mass * piece)
        before = after
        if parts:
            found[square] = parts * piece
    return found


def unpack_levels(round, payload):
    """Return what one payload adds to each measured level: {square: parts}, coarsest first."""
    p = params_of(round)
    last = p.first + len(p.weights) - 1
    found = [{}]  # type: list[dict[int, int]]
    for at in range(1, len(payload), 2):
        if payload[at + 1]:
            found[0][payload[at]] = found[0].get(payload[at], 0) + payload[at + 1]
    for level in range(last, p.first, -1):
        found.append(coarsen(found[-1], level))
    return found[::-1]


def make_payload_check(round):
    """Return what says why a payload cannot count in a Round, or "": of its numbers, none."""
    p = params_of(round)
    last = p.first + len(p.weights) - 1

    def why(payload):
        squares, parts = payload[1::2], payload[2::2]
        if len(payload) != count_numbers(round) or not all([type(n) is int for n in payload]):
            return "it is not a device and %d squares with parts" % p.points
        if min(parts) < 0 or sum(parts) > p.units:
            return "its parts are not 0 to %d together" % p.units
        if not all([_inside(round.grid, last, square) for square in squares]):
            return "it has a square outside the grid"
        return ""

    return why


def release(round, payloads, rng):
    """Return the noisy parts of every measured square, coarsest level first, in order.

    Here the veil falls: the noise is drawn from `rng`, and nothing else leaves. An empty payload
    is a device that had no place: it counts as an answer and adds nothing. ValueError where a
    sensor answers twice, or has more than one mass: then the promise would not hold.
    """
    p = params_of(round)
    why = make_payload_check(round)
    sums = {}  # type: dict[int, int]
    sensors = set()
    placed = [payload for payload in payloads if payload]
    for payload in placed:
        fault = why(payload)
        if fault:
            raise ValueError(
                "a payload of round %d cannot count: %s. Leave it out" % (round.number, fault)
            )
        sensors.add(payload[0])
        for at in range(1, len(payload), 2):
            sums[payload[at]] = sums.get(payload[at], 0) + payload[at + 1]
    if len(sensors) != len(placed):
        raise ValueError(
            "%d sensors sent %d answers to round %d; one answer counts, or a device would be "
            "hidden less than promised. Leave all but the first of each out"
            % (len(sensors), len(placed), round.number)
        )
    found = [sums]
    for level in range(p.first + len(p.weights) - 1, p.first, -1):
        found.append(coarsen(found[-1], level))
    found.reverse()
    values = veil(round, lambda k, squares: [found[k].get(s, 0) for s in squares], rng)
    return Release(round, values, len(payloads))


def veil(round, sums, rng):
    """Return the values of a Release: sums with exact noise, for the squares that are reached.

    sums(k, squares) gives the true parts of these squares of the k-th measured level. It is a
    function so that a simulation can add up millions in its own way, and be blurred in this one.
    """
    scales = [(params_of(round).units * den, num) for num, den in epsilons(round)]

    def noisy(k, squares):
        return [parts + dlaplace(scales[k][0], scales[k][1], rng) for parts in sums(k, squares)]

    return gather_values(round, noisy)


def gather_values(round, noisy):
    """Return the values of a Release, from what gives the noisy parts of squares of a level.

    noisy(k, squares) is called once a level, coarsest first. Where the noise came with the
    reports, as from a secure sum, it only looks up.
    """
    p = params_of(round)
    squares, values = list_squares(round.grid, p.first), []
    for k in range(len(p.weights)):
        parts = noisy(k, squares)
        values += parts
        if k + 1 < len(p.weights):
            squares = list_children(round.grid, p.first + k, pick_fullest(squares, parts, p.kept))
    return values


def pick_fullest(squares, noisy, kept):
    """Return the `kept` squares with most parts, in order; of equal ones those that come first."""
    if len(squares) <= kept:
        return squares
    order = sorted(range(len(squares)), key=lambda i: (-noisy[i], i))
    return sorted([squares[i] for i in order[:kept]])


def list_squares(grid, level):
    """Return the squares of a level that hold a cell of the grid, in order: y 2**level + x."""
    shift = depth(grid) - level
    columns, rows = grid.shape
    across = ((columns - 1) >> shift) + 1
    down = ((rows - 1) >> shift) + 1
    return [(y << level) + x for y in range(down) for x in range(across)]


def list_children(grid, level, squares):
    """Return the squares of the next level within these, in order; none that is all padding."""
    found = []
    for square in squares:
        y, x = square >> level, square & ((1 << level) - 1)
        corner = (y << (level + 2)) + 2 * x
        for child in (corner, corner + 1, corner + (2 << level), corner + (2 << level) + 1):
            if _inside(grid, level + 1, child):
                found.append(child)
    return sorted(found)


def _inside(grid, level, square):
    shift = depth(grid) - level
    y, x = square >> level, square & ((1 << level) - 1)
    return square >= 0 and x << shift < grid.shape[0] and y << shift < grid.shape[1]


def coarsen(sums, level):
    """Return {square: parts} one level up."""
    found = {}  # type: dict[int, int]
    for square, parts in sums.items():
        y, x = square >> level, square & ((1 << level) - 1)
        above = ((y >> 1) << (level - 1)) + (x >> 1)
        found[above] = found.get(above, 0) + parts
    return found
