"""Texas Instruments TMP117: one sensor, a 128th of a kelvin a count.

Registers, of two bytes each, the high one first: 0x00 the result, sixteen bits in two's
complement, which is 0x8000 till the first conversion ends; 0x0F the identity, whose lower twelve
bits are 0x117. It converts by itself, eight times averaged, once a second.

Source: Texas Instruments, TMP117 data sheet SNOSD82D, sections 7.3 and 7.6.
"""

from . import bus

ADDRESS = 0x48  # to 0x4B, as ADD0 is wired
RESULT, IDENTITY = 0x00, 0x0F
LOWEST, HIGHEST = -60 << 7, 155 << 7  # it measures from -55 to 150 degrees


class Sensor(bus.Chip):
    """The sensor, known to be one. empty: its count of the empty room, or None for 20 degrees."""

    step = (1, 128)

    def __init__(self, i2c, empty=None, address=ADDRESS):
        bus.Chip.__init__(self, i2c, empty, address, 20 << 7, 2)
        if self.word(IDENTITY) & 0xFFF != 0x117:
            raise ValueError(bus.ANOTHER % "TMP117")

    def counts(self):
        """Return the count, in 128ths of a degree Celsius."""
        return bus.possible((bus.to_signed(self.word(RESULT), 16),), LOWEST, HIGHEST)
