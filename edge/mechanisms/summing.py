"""What mechanisms of distributed trust share: sums over shards, and what one device answers.

The params of their Rounds begin with ten numbers, of which these seven have one meaning for all:

    (_, replace, num, den, shards, threshold, colluders, bits, ...)

    replace    1 where neighbours differ by one device's marks for any others, 0 for none
    num, den   epsilon of the Round
    shards     sums that are made; a device is in the one that its number leaves over
    threshold  a sum of fewer reports is never opened
    colluders  of a shard may give their own part of the noise away
    bits       sums are modulo 2**bits

Nobody is told by how many the noise is divided: it is threshold - colluders, reckoned by each
device, and held against the most that it was enrolled with.
"""

from ..core.records import Release

HEAD = 10
BITS_MOST = 62


def objection(p):
    """Return why no device may answer a Round of these params, "" where it may."""
    if p.replace not in (0, 1):
        return "it asks for what this device does not know"
    if p.num < 1 or p.den < 1:
        return "its epsilon of %d/%d is not above 0" % (p.num, p.den)
    if p.shards < 1 or p.colluders < 0 or p.threshold <= p.colluders:
        return (
            "of %d reports that open a sum, %d may collude, and nobody is left for the noise"
            % (p.threshold, p.colluders)
        )
    if not 1 <= p.bits <= BITS_MOST:
        return "its sums are of %d bits" % p.bits
    return ""


class Account:
    """What one device answers, whoever asks: its whole epsilon, and with how few it shares noise.

    of: (params_of, objection), of a mechanism's own. num, den: the epsilon of all Rounds together.
    replace: 1 where it hides what this device marks, 0 where it hides whether it marks anything;
    a Round that hides less is refused. divisor: the most devices that may share the noise of a
    sum, from the owner's roster and not from the Round: who believes a Round that says a million,
    in a shard of ten, adds no noise at all. colluders: in a shard, at the least.
    """

    of = objection, objection  # to be given by a mechanism

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
        if why := self.of[1](round):
            return why
        p = self.of[0](round)
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
        p = self.of[0](round)
        num, den = self.num * p.den - p.num * self.den, self.den * p.den
        a, b = num, den
        while b:
            a, b = b, a % b
        self.num, self.den = num // a, den // a
        self.newest = round.number


def report(round, reading, rng, account, of):
    """Return [sensor, numbers ...]: marks and a part of the noise, modulo 2**bits.

    account: the device's own, which pays first; None in a play, whose devices hold to the Round.
    of: (params_of, objection, noise, marks) of the mechanism.
    """
    params_of, wrong, noise, marks = of
    if account is None:
        if why := wrong(round):
            raise ValueError("round %d is not answered: %s. Plan it again" % (round.number, why))
    else:
        account.charge(round)
    # The noise first: how long it takes tells how large it is, and must not tell of a place.
    numbers = noise(round, rng)
    for place, count in marks(round, reading, rng):
        numbers[place] += count
    most = 1 << params_of(round).bits
    return [reading.sensor] + [number % most for number in numbers]


def release(round, payloads, p, size):
    """Return the sums of so many numbers over all shards that have enough reports.

    A shard with fewer than the threshold lacks noise, so its sum is not made at all. Here the
    secure sum is simulated: this process holds every report, which a real one never sees.
    ValueError where a device reports twice, or a report is none.
    """
    modulus = 1 << p.bits
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
