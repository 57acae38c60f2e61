"""Thermal readings, as a whole mechanism: blurred (`veil`), gathered, opened by a key holder.

A device has `veil` alone. Guarantee: (epsilon, delta) as the Round states. Neighbours: one source
of warmth stands up to the protected distance elsewhere. Trust: local, nobody but the device sees
a reading. Unit: the window of readings that the Round names. Not protected: that there are
sources, how many and how warm; and nothing against the holder of the key of a device enrolled as
keyholder.

Source: Gilbert and McMillan 2017, Section 3, Proposition 4, with the noise of Canonne, Kamath
and Steinke 2020 in place of a rounded Gaussian.
"""

from ..core.records import Reading, Release
from .thermal_half import MARGIN as MARGIN
from .thermal_half import NAME as NAME
from .thermal_half import PARAMS as PARAMS
from .thermal_half import Params as Params
from .thermal_half import bits as bits
from .thermal_half import draw as draw
from .thermal_half import params_of as params_of
from .thermal_half import table_bits as table_bits
from .thermal_half import veil as veil


def report(round, reading, rng):
    """Return the payload of a Reading: each value clamped, then blurred from `rng`."""
    return veil(round, reading, draw_noise(round, len(reading.values), rng))


def unveil(round, payload, rng, tables=None):
    """Return the Reading behind a payload, for who can repeat its stream: a key holder.

    Exact, bit for bit, for readings within the clamp. What comes out is private. tables: as for
    `draw_noise`.
    """
    drawn = draw_noise(round, len(payload) - 1, rng, tables)
    return Reading(payload[0], tuple([y - z for y, z in zip(payload[1:], drawn)]))


def draw_noise(round, count, rng, tables=None):
    """Return the noise of a report of `count` readings, drawn as a device draws it.

    tables: of `find_tables`, for who asks often; made anew if None.
    """
    variance = params_of(round).variance
    if tables is None:
        tables = find_tables(round, count)
    elif tables.variance != (variance, 1):
        raise ValueError(
            "tables of variance %d/%d came for round %d, whose noise has %d: it would be other "
            "noise. Take those of `find_tables`" % (tables.variance + (round.number, variance))
        )
    return draw(variance, count, rng, tables)


def find_tables(round, count):
    """Return the tables that a report of `count` readings gets its noise from, None for none."""
    if not table_bits(round):
        return None
    from ..core import table  # which takes memory, for who needs them

    return table.find_tables(params_of(round).variance, table_bits(round), count)


def release(round, payloads, rng):
    """Return the blurred readings by sensor, None where none came; draws nothing from `rng`."""
    sensors = params_of(round).sensors
    values = [None] * sensors
    for payload in payloads:
        for sensor, value in enumerate(payload[1:], payload[0]):
            if not 0 <= sensor < sensors:
                raise ValueError(
                    "sensor %d is not in round %d, which has sensors 0 to %d"
                    % (sensor, round.number, sensors - 1)
                )
            if values[sensor] is not None:
                raise ValueError(
                    "sensor %d answers round %d twice; one answer counts, or its noise would "
                    "be averaged away. Leave the second out" % (sensor, round.number)
                )
            kind = type(value)
            if kind is not int:
                raise ValueError(
                    "sensor %d answers round %d with a %s but must with a whole number of grains, "
                    "kelvin times 2**%d, rounded and blurred: no map is made of anything else. "
                    "Take what `report` returns"
                    % (sensor, round.number, kind.__name__, params_of(round).exponent)
                )
            values[sensor] = value
    return Release(round, values, len(payloads))
