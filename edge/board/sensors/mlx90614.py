"""Melexis MLX90614: what one spot radiates, a fiftieth of a kelvin a count, from absolute zero.

A word of its memory is read by SMBus: the command, a repeated start, then the low byte, the high
one and a CRC (PEC) over all that went over the bus, addresses included. Word 0x07 is the object,
whose highest bit says that it is wrong; the maker calibrates from 0x27AD, -70 degrees. What lies
behind a count (17 bits, and the chip's own computing) is not known to be finer in every room.

Source: Melexis, MLX90614 data sheet 3901090614, sections 8.3.4, 8.4 and 8.7; application note
390119061402, SMBus communication, for the range and the CRC.
"""

from . import bus

ADDRESS = 0x5A
OBJECT = 0x07
START_MS = 250  # from power to the first result
POLYNOMIAL = 0x07
LOWEST, HIGHEST = 0x27AD, 0x7FFF


class Sensor(bus.Chip):
    """The sensor. empty: its count of the empty room, or None for 20 degrees."""

    step = (1, 50)

    def __init__(self, i2c, empty=None, address=ADDRESS):
        bus.Chip.__init__(self, i2c, empty, address, 14658, 3)
        bus.pause(START_MS)
        self.counts()  # or it is not there

    def counts(self):
        """Return the count, in fiftieths of a kelvin above absolute zero."""
        raw = self.fill(OBJECT)
        said = bytes([self._address << 1, OBJECT, self._address << 1 | 1]) + bytes(raw[:2])
        if bus.crc8(said, 0, POLYNOMIAL) != raw[2]:
            raise ValueError(bus.RUBBISH)
        return bus.possible((raw[0] | raw[1] << 8,), LOWEST, HIGHEST)
