"""Microchip MCP9808: one sensor, a sixteenth of a kelvin a count.

Registers, of two bytes each, the high one first: 0x05 the temperature, thirteen bits in two's
complement below three bits of alarms; 0x06 the maker, 0x0054; 0x07 the kind, 0x04 and a revision.
It converts by itself, within 250 ms, at the resolution that it has after power: the finest. Before
its first result it says 0 degrees.

Source: Microchip, MCP9808 data sheet DS25095A, section 5, registers 5-4 to 5-7.
"""

from . import bus

ADDRESS = 0x18  # to 0x1F, as A0 to A2 are wired
RESULT, MAKER, KIND = 0x05, 0x06, 0x07
START_MS = 250  # from power to the first result
LOWEST, HIGHEST = -45 << 4, 130 << 4  # it measures from -40 to 125 degrees


class Sensor(bus.Chip):
    """The sensor, known to be one. empty: its count of the empty room, or None for 20 degrees."""

    step = (1, 16)

    def __init__(self, i2c, empty=None, address=ADDRESS):
        bus.Chip.__init__(self, i2c, empty, address, 20 << 4, 2)
        if self.word(MAKER) != 0x0054 or self.word(KIND) >> 8 != 0x04:
            raise ValueError(bus.ANOTHER % "MCP9808")
        bus.pause(START_MS)

    def counts(self):
        """Return the count, in sixteenths of a degree Celsius."""
        return bus.possible((bus.to_signed(self.word(RESULT), 13),), LOWEST, HIGHEST)
