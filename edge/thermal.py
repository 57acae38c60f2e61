"""Thermal readings, as a whole mechanism: blurred (`veil`), gathered, opened by a key holder.

A device has `veil` alone. Guarantee: (epsilon, delta) as the Round states. Neighbours: one source
of warmth stands up to the protected distance elsewhere. Trust: local, nobody but the device sees
a reading. Unit: the window of readings that the Round names. Not protected: that there are
sources, how many and how warm; and nothing against the holder of the key of a device enrolled as
keyholder.

Source: Gilbert and McMillan 2017, Section 3, Proposition 4, with the noise of Canonne, Kamath
and Steinke 2020 in place of a rounded Gaussian.
"""

from .records import Reading, Release
from .veil import MARGIN as MARGIN
from .veil import NAME as NAME
from .veil import PARAMS as PARAMS
from .veil import Params as Params
from .veil import bits as bits
from .veil import draw as draw
from .veil import veil as veil


def report(round, reading, rng):
    """Return the payload of a Reading: each value clamped, then blurred from `rng`."""
    variance = Params(*round.params).variance
    return veil(round, reading, draw(variance, len(reading.values), rng))


def unveil(round, payload, rng):
    """Return the Reading behind a payload, for who can repeat its stream: a key holder.

    Exact, bit for bit, for readings within the clamp. What comes out is private.
    """
    noise = draw(Params(*round.params).variance, len(payload) - 1, rng)
    return Reading(payload[0], tuple([y - z for y, z in zip(payload[1:], noise)]))


def release(round, payloads, rng):
    """Return the blurred readings by sensor, None where none came; draws nothing from `rng`."""
    sensors = Params(*round.params).sensors
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
            values[sensor] = value
    return Release(round, values, len(payloads))
