"""Noise of an array's readings from tables, for Rounds that ask for it and devices that may.

A Round asks by one more param than `thermal_half.Params` has: how many bits the thresholds of the
tables have. Loaded when one comes, for tables take memory, and most Rounds ask for exact noise. A
device of fewer than ARRAY readings draws exactly all the same.

Noise from tables is not quite of its law, and delta pays for that. What a Round says of itself
may be forged, so what the price rests on is held to here: one width, and numbers from 1 to ROUNDS
alone. In the life of a key a device answers no number more than `budget.BEHIND` times: after each
power cut its slots say a greater one than after the last, and none that is so much smaller than
what was answered. So sensors together are never further from exact noise than
sensors ROUNDS BEHIND SLACK in total variation, whatever they are asked, and however often their
power is cut. `recovery.thermal.guarantee` charges that.
"""

from ..core.table import WIDEST, Sampler
from . import thermal_half

BITS = 84  # of a threshold
ARRAY = 8  # readings from which on tables are worth their memory
ROUNDS = 1 << 20  # the greatest number of a Round with such noise: one a minute for two years
SLACK = 1, 1 << 74  # of one sample, for every variance up to WIDEST: see `core.table`


def objection(round, allowed):
    """Return why a device must not answer a Round that asks for tables, or ""."""
    if not allowed:
        return "its noise is from tables, which this device was not set up for"
    if thermal_half.digits(round) != BITS:
        return "its tables are of %d bits, and this device makes them of %d" % (
            thermal_half.digits(round),
            BITS,
        )
    if not 1 <= round.number <= ROUNDS:
        return "its noise is from tables, which answer no Round but number 1 to %d" % ROUNDS
    variance = thermal_half.params_of(round).variance
    if not 1 <= variance <= WIDEST:
        return "its noise is from tables, which a variance of %d grains squared has not" % variance
    return ""


def source(variance, bits, count):
    """Return what `thermal_half.draw` draws so many readings' noise from: tables, None for exact.

    bits: of the Round, 0 where it asks for exact noise. ValueError for tables that nobody makes.
    """
    if not bits or count < ARRAY:
        return None
    if bits != BITS:
        raise ValueError(
            "tables of %d bits were asked for but only those of %d are made, or a key holder "
            "would draw other noise than the device did. Plan the Round again" % (bits, BITS)
        )
    return Sampler(variance, 1, bits)
