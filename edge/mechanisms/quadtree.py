"""Crowds in squares within squares, device half: a mark in one's own square, and some noise.

Guarantee: epsilon, pure, of the sum over a shard of devices, and of nothing less than that: one
report alone has hardly any noise. Neighbours: as the Round says, a device's marks against none, or
against any others. Trust: distributed. Whoever adds the reports up must be unable to see one of
them: this file does no more than to add modulo 2**bits, which is what a secure sum hides behind.

    Round.params = (kind, replace, num, den, shards, threshold, colluders, bits, scale, places,
                    *squares)

    kind       COUNTS, PROPORTIONS, SYSTEMATIC or STOCHASTIC: what a device marks, see `make_marks`
    replace ... bits: as in `summing`
    scale      into how many marks a device splits itself; 1 where it has one place
    places     the most places that a device has
    squares    those that count, each a number: 4**level and its place along the Z curve.
               A device counts in the smallest one that holds its cell, so a square counts for
               what no smaller one takes from it

Source: paper 001, Algorithms 1 and 2.

Differs from the paper:
1. Noise is divided by threshold - colluders. The paper divides by all that finish, although some
   of these may hand their part to whoever looks at the sum.
2. Noise is drawn exactly, in whole numbers; the paper's code draws float16 gammas.
3. A device that moves changes two numbers. Where that is to be hidden noise is twice as wide.
4. A device may split itself among its places so that the parts always add up to `scale`.
"""

from collections import namedtuple

from ..core.grid import clamp_cell, depth
from ..core.noise import coin
from ..core.records import check_whole
from ..core.shares import draw_shares
from . import summing

NAME = "quadtree"
COUNTS, PROPORTIONS, SYSTEMATIC, STOCHASTIC = range(4)
PLACES_MOST = 64

Params = namedtuple(
    "Params",
    "kind replace num den shards threshold colluders bits scale places squares",
)


def params_of(round):
    """Return the params by name, the squares as one tuple."""
    return Params(*(round.params[: summing.HEAD] + (tuple(round.params[summing.HEAD :]),)))


def sensitivity(params):
    """Return by how much one device changes all numbers together, at the most."""
    most = params.scale
    if params.kind == STOCHASTIC:  # each place may be rounded up
        most += params.places
    return 2 * most if params.replace else most


def count_sums(round):
    """Return how many numbers a report holds."""
    p = params_of(round)
    return len(p.squares) * (2 if p.kind == PROPORTIONS else 1)


def epsilon(round):
    """Return the epsilon of one answer as (num, den)."""
    return tuple(round.params[2:4])


def objection(round):
    """Return why no device may answer such a Round, "" where it may."""
    if len(round.params) <= summing.HEAD:
        return "its params are cut short"
    p = params_of(round)
    if not COUNTS <= p.kind <= STOCHASTIC:
        return "it asks for what this device does not know"
    if why := summing.objection(p):
        return why
    if p.scale < 1 or not 1 <= p.places <= PLACES_MOST:
        return "its sums are of %d marks and %d places" % (p.scale, p.places)
    if p.kind in (COUNTS, PROPORTIONS) and (p.scale, p.places) != (1, 1):
        return "it asks for %d marks of a device that has one" % p.scale
    before, end = 0, 2 << (2 * depth(round.grid))
    for square in p.squares:
        whole = square
        while whole > 3:
            whole >>= 2
        if whole != 1 or not before < square < end:
            return "its squares are not in order, or not of its grid"
        before = square
    return ""


def make_marks(round, reading, rng):
    """Return [(place, marks)] of a Reading before its noise, places as the numbers of a report.

    The Reading's values are, by the Round's kind,

        COUNTS                  (x, y)           one mark in the square of the cell
        PROPORTIONS             (x, y, yes)      one mark, in the first of two numbers of the
                                                 square for yes, in the second for no
        SYSTEMATIC, STOCHASTIC  (x, y, weight)   times the number of places: `scale` marks, in
                                                 proportion to the weights, rounded by chance

    A cell outside the grid counts as the nearest one of it, a place beyond the most as none.
    """
    p = params_of(round)
    at = {p.squares[i]: i for i in range(len(p.squares))}
    found = reading.values
    if p.kind in (COUNTS, PROPORTIONS):
        found = check_whole(found, 2 + p.kind)
        place = _square(round.grid, found, at)
        if place < 0:
            return []
        return [(place if p.kind == COUNTS else 2 * place + (not found[2]), 1)]
    found = (
        check_whole(found, min(len(found) // 3, p.places) * 3)
        if len(found) % 3 == 0
        else check_whole((), 3)
    )
    weights = {-1: 0}
    for i in range(0, len(found), 3):
        place = _square(round.grid, found[i : i + 2], at)
        if found[i + 2] > 0:
            weights[place] = weights.get(place, 0) + found[i + 2]
    del weights[-1]  # of cells that no square holds
    # In a public order that has nothing to do with where they are, or neighbours' roundings would
    # be each other's.
    order = sorted(weights, key=lambda place: (p.squares[place] * 0x9E3779B1) % 0x100000000)
    return (_systematic if p.kind == SYSTEMATIC else _stochastic)(weights, order, p.scale, rng)


def _systematic(weights, order, scale, rng):
    """Return marks that add up to scale, each its share on average and less than one off."""
    total = sum(weights.values())
    if not total:
        return []
    upto, before, made = rng.below(total), 0, []
    for place in order:
        upto += scale * weights[place]
        made.append((place, upto // total - before))
        before = upto // total
    return made


def _stochastic(weights, order, scale, rng):
    """Return marks that are each rounded by a coin of its own, as in the paper's Section 5.7."""
    total, made = sum(weights.values()), []
    for place in order:
        count, rest = divmod(scale * weights[place], total)
        made.append((place, count + coin(rest, total, rng)))
    return made


def report(round, reading, rng):
    """Return [sensor, numbers ...]: see `summing.report`."""
    return summing.report(round, reading, rng, (params_of, objection, draw_noise, make_marks))


def draw_noise(round, rng):
    """Return this device's part of the noise of every number."""
    p = params_of(round)
    divisor = p.threshold - p.colluders
    return draw_shares(count_sums(round), divisor, p.num, p.den * sensitivity(p), rng)


def release(round, payloads, rng):
    """Return the sums over all shards that have enough reports; draws nothing from `rng`."""
    return summing.release(round, payloads, params_of(round), count_sums(round))


def _square(grid, cell, at):
    """Return the place of the smallest listed square that holds the cell, -1 where none does."""
    x, y = clamp_cell(grid, cell)
    square = 1
    for level in range(depth(grid) - 1, -1, -1):
        square = 4 * square + 2 * (y >> level & 1) + (x >> level & 1)
    while square:
        if square in at:
            return at[square]
        square >>= 2
    return -1
