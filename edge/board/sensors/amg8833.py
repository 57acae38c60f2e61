"""Panasonic Grid-EYE AMG8833: eight by eight pixels, a quarter of a kelvin a count.

Registers, of a byte each: 0x00 power (0 is normal), 0x01 reset (0x3F all of it), 0x02 frames a
second (0 is ten, 1 is one), 0x80 to 0xFF the pixels: two bytes each, the low one first, twelve
bits in two's complement. The address is 0x69, or 0x68 where AD_SELECT is grounded.

Source: Panasonic, Infrared Array Sensor Grid-EYE, specifications and reference of registers.
"""

from . import bus

ADDRESS = 0x69
POWER, RESET, RATE, PIXELS = 0x00, 0x01, 0x02, 0x80
START_MS = 50  # from power or reset to the first command
SETTLE_MS = 200  # two frames at ten a second: the first after a reset may be empty
LOWEST, HIGHEST = -160, 500  # -40 and 125 degrees: it measures from -20 to 100


class Sensor(bus.Chip):
    """The array, started. empty: its counts of the empty room, or None for 20 degrees."""

    step = (1, 4)
    sensors = 64

    def __init__(self, i2c, empty=None, address=ADDRESS):
        bus.Chip.__init__(self, i2c, empty, address, 80, 128)
        bus.write(i2c, address, POWER, b"\x00")
        bus.pause(START_MS)
        bus.write(i2c, address, RESET, b"\x3f")
        bus.pause(START_MS)
        bus.write(i2c, address, RATE, b"\x00")
        bus.pause(SETTLE_MS)

    def counts(self):
        """Return 64 counts, row by row, in quarters of a degree Celsius."""
        raw = self.fill(PIXELS)
        if min(raw) == max(raw):  # the bus floats or sticks: no room fills both halves of a count
            raise ValueError(bus.RUBBISH)
        found = [bus.to_signed(raw[i] | raw[i + 1] << 8, 12) for i in range(0, 128, 2)]
        return bus.possible(found, LOWEST, HIGHEST)
