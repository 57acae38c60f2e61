"""What a device will do at most: given when it is enrolled, and over the air only made tighter.

    Limits(version, exponent, square, variance, budget, pace_ms)

    version   rises with every change
    exponent  the coarsest grain it answers in, 2**-exponent kelvin
    square    squared sensitivity: how far the worst move changes all readings together, in
              grains squared
    variance  the least variance of noise it answers with, in grains squared
    budget    nano-rho for the life of its key, all mechanisms together
    pace_ms   the least time between two fresh answers

Whole numbers only, so that every device reckons the same price. In zero-concentrated
differential privacy an answer costs rho = square / (2 variance), and costs add up.
Source: Canonne, Kamath and Steinke 2020, Theorem 14.

Message: the CBOR map {0: 1, 1: version, 2: exponent, 3: square, 4: variance, 5: budget,
6: pace_ms} with its MAC under the device's config key, as in `wire`.
"""

from collections import namedtuple

from . import cbor, wire

NAMES = ("version", "exponent", "square", "variance", "budget", "pace_ms")
Limits = namedtuple("Limits", ("version", "exponent", "square", "variance", "budget", "pace_ms"))

# The least and the most of each, in order: what fits its place in a slot of the budget.
LEAST = (1, -64, 1, 1, 0, 0)
MOST = ((1 << 32) - 1, 64, (1 << 63) - 1, (1 << 63) - 1, (1 << 63) - 1, (1 << 32) - 1)
FIELDS = len(NAMES)
BYTES = 33
WIDTHS = (4, 1, 8, 8, 8, 4)  # of each in a slot
NANO = 1000000000
LONGEST = 128  # bytes of a message


def topic(site, node):
    """Return the topic on which a device takes tighter limits."""
    return wire.topic(site, node, "cmd/limits")


def objection(limits):
    """Return why these are no limits at all, or "" where they are."""
    for i in range(FIELDS):
        if not isinstance(limits[i], int) or not LEAST[i] <= limits[i] <= MOST[i]:
            return (
                "the %s of the limits is no whole number from %d to %d, and a device cannot hold "
                "to what it cannot reckon with; give one that is" % (NAMES[i], LEAST[i], MOST[i])
            )
    return ""


def price(limits, exponent, variance):
    """Return the nano-rho of one answer, rounded up, in grains of 2**-exponent kelvin.

        10**9 * square / (2 * variance)

    with both in kelvin squared: each is a whole number of its own grains squared, and grains
    are powers of two apart, so the quotient is exact until it is rounded.
    """
    if variance < 1:
        raise ValueError(
            "a variance of %d is no noise at all; it must be at least 1, or an answer has no "
            "price that could be paid. Ask with more noise" % variance
        )
    cost, noise = _alike(NANO * limits.square, limits.exponent, 2 * variance, exponent)
    return -(-cost // noise)


def looser(old, new):
    """Return why the new limits protect less than the old, or "" where they do not."""
    if why := objection(new):
        return why
    if new.version <= old.version:
        return "limits of version %d came, and version %d is in force; newer ones are needed" % (
            new.version,
            old.version,
        )
    if new.exponent < old.exponent:
        return _loose("coarser grains", "make the grain finer")
    for what, before, after in (
        ("a smaller sensitivity", old.square, new.square),
        ("less noise", old.variance, new.variance),
    ):
        before, after = _alike(before, old.exponent, after, new.exponent)
        if after < before:
            return _loose(what, "raise it")
    if new.budget > old.budget:
        return _loose("a larger budget", "lower it")
    if new.pace_ms < old.pace_ms:
        return _loose("a faster pace", "slow it down")
    return ""


def pack_limits(limits, key, topic):
    """Return the signed message that asks a device to tighten its limits."""
    if why := objection(limits):
        raise ValueError(why)
    body = {0: wire.VERSION}
    for i in range(FIELDS):
        body[i + 1] = limits[i]
    return wire.signed(cbor.encode(body), key, topic)


def unpack_limits(message, key, topic):
    """Return the Limits in a message signed with the device's config key, or raise Fault."""
    body = wire.opened(message, key, topic, LONGEST)
    limits = Limits(*[body.get(i + 1) for i in range(FIELDS)])
    if why := objection(limits):
        raise wire.Fault(why)
    return limits


def to_bytes(limits):
    """Return the 33 bytes by which limits are stored; the exponent counts from -64."""
    packed = b""
    for i in range(FIELDS):
        number = limits[i] - LEAST[1] if i == 1 else limits[i]
        packed += number.to_bytes(WIDTHS[i], "big")
    return packed


def from_bytes(packed):
    """Return the Limits that `to_bytes` stored."""
    numbers, at = [], 0
    for width in WIDTHS:
        numbers.append(int.from_bytes(packed[at : at + width], "big"))
        at += width
    numbers[1] += LEAST[1]
    return Limits(*numbers)


def _alike(a, a_exponent, b, b_exponent):
    """Return two numbers of grains squared as numbers of the finer of their grains squared."""
    if a_exponent < b_exponent:
        return a << (2 * (b_exponent - a_exponent)), b
    return a, b << (2 * (a_exponent - b_exponent))


def _loose(what, instead):
    return (
        "the new limits allow %s, and over the air limits only become tighter, for whoever "
        "stole a key must not be able to lift the veil; %s, or enrol the device again"
        % (what, instead)
    )
