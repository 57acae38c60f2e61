"""Crowds in squares within squares, device half: a mark in one's own square, and some noise.

Guarantee: epsilon, pure, of the sum over a shard of devices, and of nothing less than that: one
report alone has hardly any noise. Neighbours: as the Round says, a device's marks against none, or
against any others. Trust: distributed. Whoever adds the reports up must be unable to see one of
them: this file does no more than to add modulo 2**bits, which is what a secure sum hides behind.

    Round.params = (kind, replace, num, den, shards, threshold, colluders, bits, scale, places,
                    *squares)

    kind       COUNTS, PROPORTIONS, SYSTEMATIC or STOCHASTIC: what a device marks, see `marks`
    replace    1 where neighbours differ by one device's marks for any others, 0 for none
    num, den   epsilon of this Round
    shards     sums that are made; a device is in the one that its number leaves over
    threshold  a sum of fewer reports is never opened
    colluders  of a shard may give their own part of the noise away
    bits       sums are modulo 2**bits
    scale      into how many marks a device splits itself; 1 where it has one place
    places     the most places that a device has
    squares    those that count, each a number: 4**level and its place along the Z curve.
               A device counts in the smallest one that holds its cell, so a square counts for
               what no smaller one takes from it

Source: paper 001, Algorithms 1 and 2.

Differs from the paper:
1. Nobody is told by how many the noise is divided: it is threshold - colluders, reckoned by each
   device, and held against the most that it was enrolled with. The paper divides by all that
   finish, although some of these may hand their part to whoever looks at the sum.
2. Noise is drawn exactly, in whole numbers; the paper's code draws float16 gammas.
3. A device that moves changes two numbers. Where that is to be hidden noise is twice as wide.
4. A device may split itself among its places so that the parts always add up to `scale`.
"""

from collections import namedtuple

from ..grid import depth, nearest
from ..noise import coin, shares
from ..records import Release, whole

NAME = "quadtree"
COUNTS, PROPORTIONS, SYSTEMATIC, STOCHASTIC = range(4)
BITS_MOST = 62
PLACES_MOST = 64

_HEAD = 10
Params = namedtuple(
    "Params",
    (
        "kind",
        "replace",
        "num",
        "den",
        "shards",
        "threshold",
        "colluders",
        "bits",
        "scale",
        "places",
        "squares",
    ),
)


def params_of(round):
    """Return the params by name, the squares as one tuple."""
    return Params(*(round.params[:_HEAD] + (tuple(round.params[_HEAD:]),)))


def sensitivity(params):
    """Return by how much one device changes all numbers together, at the most."""
    most = params.scale
    if params.kind == STOCHASTIC:  # each place may be rounded up
        most += params.places
    return 2 * most if params.replace else most


def length(params):
    """Return how many numbers a report holds."""
    return len(params.squares) * (2 if params.kind == PROPORTIONS else 1)


def epsilon(round):
    """Return the epsilon of one answer as (num, den)."""
    return tuple(round.params[2:4])


def objection(round):
    """Return why no device may answer such a Round, "" where it may."""
    if len(round.params) <= _HEAD:
        return "its params are cut short"
    p = params_of(round)
    if not COUNTS <= p.kind <= STOCHASTIC or p.replace not in (0, 1):
        return "it asks for what this device does not know"
    if p.num < 1 or p.den < 1:
        return "its epsilon of %d/%d is not above 0" % (p.num, p.den)
    if p.shards < 1 or p.colluders < 0 or p.threshold <= p.colluders:
        return (
            "of %d reports that open a sum, %d may collude, and nobody is left for the noise"
            % (
                p.threshold,
                p.colluders,
            )
        )
    if not 1 <= p.bits <= BITS_MOST or p.scale < 1 or not 1 <= p.places <= PLACES_MOST:
        return "its sums are of %d bits, %d marks and %d places" % (p.bits, p.scale, p.places)
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


class Account:
    """What one device answers, whoever asks: its whole epsilon, and with how few it shares noise.

    num, den: the epsilon of all Rounds together. replace: 1 where it hides
    what this device marks, 0 where it hides whether it marks anything; a Round that hides less is
    refused. divisor: the most devices that may share the noise of a sum, from the owner's roster
    and not from the Round: who believes a Round that says a million, in a shard of ten, adds no
    noise at all. colluders: in a shard, at the least.
    """

    def __init__(self, num, den, replace, divisor, colluders=0):
        if num < 1 or den < 1 or replace not in (0, 1) or divisor < 1 or colluders < 0:
            raise ValueError(
                "an account of epsilon %d/%d, replace %s, among %d devices protects nobody; "
                "needed: an epsilon above 0, replace 0 or 1, and one device at least. Take them "
                "from the enrolment" % (num, den, replace, divisor)
            )
        self.num, self.den, self.replace = num, den, replace
        self.divisor, self.colluders = divisor, colluders
        self.newest = -1

    def objection(self, round):
        """Return why this device does not answer a Round, "" where it does."""
        if why := objection(round):
            return why
        p = params_of(round)
        if round.number <= self.newest:
            return "round %d or a later one was answered already" % round.number
        if p.replace < self.replace:
            return "it hides whether a device marks anything; this one hides where it is as well"
        if p.threshold - p.colluders > self.divisor or p.colluders < self.colluders:
            return (
                "its noise is for %d devices, with %d that collude; this one holds to %d and %d"
                % (
                    p.threshold - p.colluders,
                    p.colluders,
                    self.divisor,
                    self.colluders,
                )
            )
        if p.num * self.den > self.num * p.den:
            return "it costs epsilon %d/%d, and %d/%d is left" % (p.num, p.den, self.num, self.den)
        return ""

    def charge(self, round):
        """Pay for an answer to a Round; ValueError where `objection` has one."""
        if why := self.objection(round):
            raise ValueError(
                "round %d is not answered: %s. Ask for what was agreed" % (round.number, why)
            )
        p = params_of(round)
        num, den = self.num * p.den - p.num * self.den, self.den * p.den
        a, b = num, den
        while b:
            a, b = b, a % b
        self.num, self.den = num // a, den // a
        self.newest = round.number


def marks(round, reading, rng):
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
        found = whole(found, 2 + p.kind)
        place = _square(round.grid, found, at)
        if place < 0:
            return []
        return [(place if p.kind == COUNTS else 2 * place + (not found[2]), 1)]
    found = (
        whole(found, min(len(found) // 3, p.places) * 3) if len(found) % 3 == 0 else whole((), 3)
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


def report(round, reading, rng, account=None):
    """Return [sensor, numbers ...]: marks and a part of the noise, modulo 2**bits.

    account: the device's own, which pays first; None in a play, whose devices hold to the Round.
    """
    if account is None:
        if why := objection(round):
            raise ValueError("round %d is not answered: %s. Plan it again" % (round.number, why))
    else:
        account.charge(round)
    # The noise first: how long it takes tells how large it is, and must not tell of a place.
    numbers = noise(round, rng)
    for place, count in marks(round, reading, rng):
        numbers[place] += count
    most = 1 << params_of(round).bits
    return [reading.sensor] + [number % most for number in numbers]


def noise(round, rng):
    """Return this device's part of the noise of every number."""
    p = params_of(round)
    divisor = p.threshold - p.colluders
    return shares(length(p), divisor, p.num, p.den * sensitivity(p), rng)


def release(round, payloads, rng):
    """Return the sums over all shards that have enough reports; draws nothing from `rng`.

    A shard with fewer than the threshold lacks noise, so its sum is not made at all. Here the
    secure sum is simulated: this process holds every report, which a real one never sees.
    ValueError where a device reports twice, or a report is none.
    """
    p = params_of(round)
    size, modulus = length(p), 1 << p.bits
    sensors = set()
    for payload in payloads:
        if len(payload) != size + 1 or not all([0 <= n < modulus for n in payload[1:]]):
            raise ValueError(
                "a report to round %d has %d numbers but must have %d below 2**%d, or the sum "
                "would be another. Leave it out" % (round.number, len(payload) - 1, size, p.bits)
            )
        if payload[0] in sensors:
            raise ValueError(
                "device %d reports twice to round %d; a device is in one shard, once, or it would "
                "be seen twice for one price. Leave the second report out"
                % (payload[0], round.number)
            )
        sensors.add(payload[0])
    values, reports = [0] * size, 0
    for shard in range(p.shards):
        members = [payload for payload in payloads if payload[0] % p.shards == shard]
        if len(members) < p.threshold:
            continue
        reports += len(members)
        for i in range(size):
            total = sum([payload[i + 1] for payload in members]) % modulus
            values[i] += total - modulus if 2 * total >= modulus else total
    return Release(round, values, reports)


def _square(grid, cell, at):
    """Return the place of the smallest listed square that holds the cell, -1 where none does."""
    x, y = nearest(grid, cell)
    square = 1
    for level in range(depth(grid) - 1, -1, -1):
        square = 4 * square + 2 * (y >> level & 1) + (x >> level & 1)
    while square:
        if square in at:
            return at[square]
        square >>= 2
    return -1
