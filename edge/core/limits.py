"""What a device will do at most: given when it is enrolled, and over the air only made tighter."""

#     Limits(version, exponent, square, variance, budget, pace_ms)
#
#     version   rises with every change
#     exponent  the coarsest grain it answers in, 2**-exponent kelvin
#     square    squared sensitivity: how far the worst move changes all readings together, in
#               grains squared
#     variance  the least variance of noise it answers with, in grains squared
#     budget    nano-rho for the life of its key, all mechanisms together
#     pace_ms   the least time between two fresh answers
#
# Whole numbers only, so that every device reckons the same price. In zero-concentrated
# differential privacy an answer costs rho = square / (2 variance), and costs add up.
# Source: Canonne, Kamath and Steinke 2020, Theorem 14.

from collections import namedtuple

NAMES = ("version", "exponent", "square", "variance", "budget", "pace_ms")
Limits = namedtuple("Limits", ("version", "exponent", "square", "variance", "budget", "pace_ms"))

# The least and the most of each, in order: what fits its place in a slot of the budget.
LEAST = (1, -64, 1, 1, 0, 0)
MOST = ((1 << 32) - 1, 64, (1 << 63) - 1, (1 << 63) - 1, (1 << 63) - 1, (1 << 32) - 1)
FIELDS = len(NAMES)
BYTES = 33
WIDTHS = (4, 1, 8, 8, 8, 4)  # of each in a slot
NANO = 1000000000


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
            "a variance of %d is no noise; it must be at least 1, or an answer has no price. Ask "
            "with more noise" % variance
        )
    cost, noise = align_grains(NANO * limits.square, limits.exponent, 2 * variance, exponent)
    return -(-cost // noise)


def to_bytes(limits):
    """Return the 33 bytes by which limits are stored; the exponent counts from -64."""
    packed = bytearray()
    for i in range(FIELDS):
        number = limits[i] - LEAST[1] if i == 1 else limits[i]
        packed.extend(number.to_bytes(WIDTHS[i], "big"))
    return packed


def from_bytes(packed):
    """Return the Limits that `to_bytes` stored."""
    numbers, at = [], 0
    for width in WIDTHS:
        numbers.append(int.from_bytes(packed[at : at + width], "big"))
        at += width
    numbers[1] += LEAST[1]
    return Limits(*numbers)


def align_grains(a, a_exponent, b, b_exponent):
    """Return two numbers of grains squared as numbers of the finer of their grains squared."""
    if a_exponent < b_exponent:
        return a << (2 * (b_exponent - a_exponent)), b
    return a, b << (2 * (a_exponent - b_exponent))
