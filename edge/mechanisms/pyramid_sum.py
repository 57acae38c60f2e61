"""The levels of a pyramid by a secure sum: parts of one's squares, and some noise on every one.

Guarantee: epsilon, pure, of the sum over a shard of devices, and of nothing less than that: one
report alone has hardly any noise. Neighbours: a device's places against any others. Trust:
distributed, as for every secure sum. Unit: one report of one device. Not protected: that a device
takes part, and what comes later.

    Round.params = (first, replace, num, den, shards, threshold, colluders, bits, units, points,
                    *weights)

What shards and noise need is as in `summing`; a device that moves changes twice its mass, so
replace is 1. units, points, first and weights are those of `pyramid`, of whose measured levels
every square is in the sum, coarsest level first: what is opened has its noise already, so that
nothing is gained by leaving squares out. Level i gets the epsilon num/den weight / (sum of
weights), and each device's part of that level's noise.

Source: paper 000, Section 3 (a sum over many devices) with the levels of Algorithm 1; noise in
shares as in paper 001.
"""

from collections import namedtuple

from ..core.grid import depth
from ..core.shares import draw_shares
from . import summing
from .pyramid import BITS, DEEPEST, coarsen, divide_mass, list_squares

NAME = "pyramid_sum"
LONGEST = 100_000  # numbers of a secure sum

Params = namedtuple(
    "Params",
    "first replace num den shards threshold colluders bits units points weights",
)


def params_of(round):
    """Return the params by name, the weights as one tuple."""
    return Params(*(round.params[: summing.HEAD] + (tuple(round.params[summing.HEAD :]),)))


def sensitivity(params):
    """Return by how much one device changes all numbers of one level together, at the most."""
    return 2 * params.units


def list_levels(round):
    """Return the squares of each measured level, coarsest first."""
    p = params_of(round)
    return [list_squares(round.grid, p.first + k) for k in range(len(p.weights))]


def count_sums(round):
    """Return how many numbers a report holds."""
    p = params_of(round)
    return sum([_size(round.grid, p.first + k) for k in range(len(p.weights))])


def epsilon(round):
    """Return the epsilon of one answer as (num, den)."""
    return tuple(round.params[2:4])


def list_rates(round):
    """Return (num, den), epsilon over sensitivity, of the numbers of each measured level."""
    p = params_of(round)
    total = sum(p.weights)
    return [(p.num * weight, p.den * total * sensitivity(p)) for weight in p.weights]


def objection(round):
    """Return why no device may answer such a Round, "" where it may."""
    if len(round.params) <= summing.HEAD or not all([type(n) is int for n in round.params]):
        return "its params are cut short"
    p = params_of(round)
    if why := summing.objection(p):
        return why
    if p.replace != 1:
        return "it hides whether a device has a place, and not which"
    if (
        min(p.units, p.points) < 1
        or min(p.weights) < 1
        or p.units >> BITS
        or not 0 <= p.first <= p.first + len(p.weights) - 1 <= depth(round.grid) <= DEEPEST
    ):
        return "its levels are none of its grid, or its parts are no whole numbers above 0"
    if count_sums(round) > LONGEST:
        return "it asks for %d numbers, and a sum has %d at most" % (count_sums(round), LONGEST)
    return ""


def make_marks(round, reading, rng):
    """Return [(place, parts)] of a Reading before its noise, places as the numbers of a report.

    The values are a cell (x, y), or x, y, parts for each of several: see `pyramid.divided`, which
    makes of them the squares of the finest level. Draws nothing from `rng`.
    """
    p = params_of(round)
    last = p.first + len(p.weights) - 1
    parts, found = divide_mass(round.grid, p, last, reading.values), []
    for level in range(last, p.first - 1, -1):
        start = sum([_size(round.grid, above) for above in range(p.first, level)])
        across = ((round.grid.shape[0] - 1) >> (depth(round.grid) - level)) + 1
        for square in sorted(parts):
            y, x = square >> level, square & ((1 << level) - 1)
            found.append((start + y * across + x, parts[square]))
        if level > p.first:
            parts = coarsen(parts, level)
    return found


def draw_noise(round, rng):
    """Return this device's part of the noise of every number."""
    p = params_of(round)
    found = []
    for k, (num, den) in enumerate(list_rates(round)):
        size = _size(round.grid, p.first + k)
        found += draw_shares(size, p.threshold - p.colluders, num, den, rng)
    return found


def report(round, reading, rng):
    """Return [sensor, numbers ...]: see `summing.report`."""
    return summing.report(round, reading, rng, (params_of, objection, draw_noise, make_marks))


def release(round, payloads, rng):
    """Return the sums over all shards that have enough reports; draws nothing from `rng`."""
    return summing.release(round, payloads, params_of(round), count_sums(round))


def _size(grid, level):
    """Return how many squares of a level hold a cell of the grid."""
    shift = depth(grid) - level
    return (((grid.shape[0] - 1) >> shift) + 1) * (((grid.shape[1] - 1) >> shift) + 1)
