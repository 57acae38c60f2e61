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

from collections import namedtuple

from ..core.records import Release

# An Identity of a device that takes part in secure sums: the secret of its key in the owner's
# roster, the key that the roster is signed with, and the roster's message (`secure_sum`).
Summed = namedtuple(
    "Summed",
    "site name sensor sensors mode site_key mac_key config_key state_key key_id static_key "
    "roster_key roster",
)

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


def refusal(p, number, newest, left, replace, divisor, colluders):
    """Return why one device does not answer a Round of these params, "" where it does.

    newest: the number of the Round that it answered last. left: (num, den), the epsilon that it
    has. replace: 1 where it hides what it marks, 0 where it hides whether it marks anything; a
    Round that hides less is refused. divisor: the most devices that may share the noise of a sum,
    from the owner's roster and not from the Round: who believes a Round that says a million, in a
    shard of ten, adds no noise at all. colluders: in a shard, at the least.
    """
    if number <= newest:
        return "round %d or a later one was answered already" % number
    if p.replace < replace:
        return "it hides whether a device marks anything; this one hides where it is as well"
    if p.threshold - p.colluders > divisor or p.colluders < colluders:
        return "its noise is for %d devices, with %d that collude; this one holds to %d and %d" % (
            p.threshold - p.colluders,
            p.colluders,
            divisor,
            colluders,
        )
    if p.num * left[1] > left[0] * p.den:
        return "it costs epsilon %d/%d, and %d/%d is left" % (p.num, p.den, left[0], left[1])
    return ""


def report(round, reading, rng, of):
    """Return [sensor, numbers ...]: marks and a part of the noise, modulo 2**bits.

    It is for a play, whose devices hold to the Round; those that are enrolled hold to what they
    have left (`sum_node`). of: (params_of, objection, noise, marks) of the mechanism.
    """
    params_of, wrong, noise, marks = of
    if why := wrong(round):
        raise ValueError("round %d is not answered: %s. Plan it again" % (round.number, why))
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
