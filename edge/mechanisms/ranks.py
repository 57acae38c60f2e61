"""Places in order, as a whole mechanism: a trusted gateway sorts where all are and blurs sums.

A device tells its cell's place on a Hilbert curve, exactly: a report is private, and lives no
longer than the release. The curve fills the grid, whatever its sides. The gateway sorts all
places, adds up groups of consecutive ones, and adds exact discrete Laplace noise to each sum.

Guarantee: epsilon, pure, for one release. Neighbours: all points of one user lie elsewhere; how
many users answered is public. Trust: central, the gateway sees every place before the noise is
on. Unit: one release; the epsilons of several add up. Not protected: that a device answers.

    params = (group, num, den, order, axes, points)

group     places in a sum; the last group holds what is left
num, den  epsilon of one release
order     the curve's cells along a side are 2**order
axes      1, 2 or 3
points    places of one user; who has more tells some of them, who has fewer repeats some

Where one point of a sorted list moves, what changes in the list adds up to how far it moved, and
sums of any fixed groups change by no more. So a release of whole places below 2**(order axes)
has the sensitivity points (2**(order axes) - 1), whatever the groups.

Source: paper 004, Theorem 1, Corollary 1, steps A1 to A3; Skilling 2004 for the curve.
Differs from the paper: 1. sums and not averages are blurred, for the average of a short last
group has more than its share of sensitivity; 2. whole numbers, and noise of an exact law; 3. a
user may have several points, and the promise is for all of them.
"""

from collections import namedtuple

from ..core.noise import dlaplace
from ..core.records import Release, check_whole

NAME = "ranks"
BITS = 31  # of a place at the most: what a message holds

Params = namedtuple("Params", ("group", "num", "den", "order", "axes", "points"))


def params_of(round):
    """Return the Params of a ranks Round; ValueError where they are none."""
    why = objection(round)
    if why:
        raise ValueError("round %d cannot be answered: %s. Plan it again" % (round.number, why))
    return Params(*round.params)


def objection(round):
    """Return why the params of a Round are none, or ""."""
    if len(round.params) != 6 or min(round.params) < 1:
        return "its params are %s and must be six numbers from 1" % list(round.params)
    params = Params(*round.params)
    if params.axes > 3 or params.order * params.axes > BITS:
        return "it has %d axes of order %d; at most 3, and %d bits" % (
            params.axes,
            params.order,
            BITS,
        )
    if max(round.grid.shape) > 1 << params.order:
        return "its grid of %d x %d cells is finer than its curve" % tuple(round.grid.shape)
    return ""


def epsilon(round):
    """Return the epsilon of one answer as (num, den)."""
    return tuple(round.params[1:3])


def count_numbers(round):
    """Return how many numbers a payload has."""
    return 1 + params_of(round).points


def bits(round):
    """Return how wide a number of a report is."""
    return 32


def place_of(cell, order):
    """Return the place on the curve of one of its cells, a whole number from 0 an axis.

    Consecutive places are neighbouring cells. A coordinate beyond a side counts as the nearest.
    """
    most = (1 << order) - 1
    x = [min(max(v, 0), most) for v in cell]
    q = 1 << (order - 1)
    while q > 1:
        for i in range(len(x)):
            if x[i] & q:
                x[0] ^= q - 1
            else:
                swap = (x[0] ^ x[i]) & (q - 1)
                x[0] ^= swap
                x[i] ^= swap
        q >>= 1
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    turn, q = 0, 1 << (order - 1)
    while q > 1:
        if x[-1] & q:
            turn ^= q - 1
        q >>= 1
    place = 0
    for bit in range(order - 1, -1, -1):
        for v in x:
            place = place << 1 | ((v ^ turn) >> bit) & 1
    return place


def report(round, reading, rng):
    """Return [sensor, place, ...], as many places as the Round says; draws nothing from `rng`.

    The values of the reading are cells of the Round's grid, one after the other; one outside
    counts as the nearest. Of more cells than places some are left out, evenly; of fewer some are
    told again: so one user weighs as much as another, and the length of a report tells nothing.
    """
    params = params_of(round)
    axes = params.axes
    step = max(axes, 2)  # a cell of a line has a second coordinate, which is 0
    cells = max(len(reading.values) // step, 1)
    values = check_whole(reading.values, cells * step)
    told = [reading.sensor]
    for i in range(params.points):
        at = i * cells // params.points * step
        cell = _on_curve(round.grid, values[at : at + axes], params.order)
        told.append(place_of(cell, params.order))
    return told


def _on_curve(grid, cell, order):
    """Return the curve's cell at the middle of a grid's; a third axis is like the second."""
    found = []
    for axis in range(len(cell)):
        length = grid.shape[min(axis, 1)]
        v = min(max(cell[axis], 0), length - 1)
        found.append(((2 * v + 1) << order) // (2 * length))
    return found


def make_payload_check(round):
    """Return what says why a payload cannot count in a Round, or ""."""
    params = params_of(round)

    def why(payload):
        told = payload[1:]
        if len(told) != params.points or min(told) < 0 or max(told) >> params.order * params.axes:
            return "it has not %d places of its Round's curve" % params.points
        return ""

    return why


def release(round, payloads, rng):
    """Return the blurred sums of all groups of places in their order.

    An empty payload is of a device that had no place to tell: how many answered is public, and
    what they answered is not, so it counts as one anywhere, each of its places drawn evenly from
    the curve. ValueError where a sensor answers twice, with another number of places, or with
    none of the curve: nothing is released then. As much is drawn for who has a place, or the time
    of a release would tell how many have none.
    """
    params, why = params_of(round), make_payload_check(round)
    curve, points = 1 << params.order * params.axes, range(params.points)

    def anywhere():
        return [rng.below(curve) for _ in points]

    answers = [payload or [None] + anywhere() for payload in payloads]
    for answer in answers:
        fault = why(answer)
        if fault:
            raise ValueError(
                "a report to round %d cannot count: %s, and one user would move the sums by "
                "more than the noise hides. Leave it out" % (round.number, fault)
            )
    sensors = [payload[0] for payload in payloads if payload]
    if len(set(sensors)) != len(sensors):
        raise ValueError(
            "%d sensors sent %d answers to round %d; one answer counts, or a user would move "
            "the sums twice as far. Leave all but the first of each out"
            % (len(set(sensors)), len(sensors), round.number)
        )
    places = [place for answer in answers for place in answer[1:]]
    values = add_noise(round, sum_groups(round, places), rng)
    for _ in sensors:  # as much as for a blank, and thrown away
        anywhere()
    return Release(round, values, len(payloads))


def sum_groups(round, places):
    """Return the exact sum of each group of places in their order: private."""
    group, ordered = params_of(round).group, sorted(places)
    return [sum(ordered[i : i + group]) for i in range(0, len(ordered), group)]


def sensitivity(round):
    """Return by how much all sums together change at the most where one user is elsewhere."""
    params = params_of(round)
    return params.points * ((1 << params.order * params.axes) - 1)


def add_noise(round, sums, rng):
    """Return the sums, each with discrete Laplace noise of scale sensitivity / epsilon."""
    params = params_of(round)
    scale = sensitivity(round) * params.den
    return [value + dlaplace(scale, params.num, rng) for value in sums]
