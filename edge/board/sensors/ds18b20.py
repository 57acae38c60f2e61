"""Maxim DS18B20: any number of sensors on one wire, a sixteenth of a kelvin a count.

Nine bytes of scratchpad: 0 and 1 the count, low byte first, sixteen bits in two's complement; 4
the resolution, 0x7F for twelve bits, which convert within 750 ms; 8 the CRC of those before it,
low bit first. After a loss of power the count is that of 85 degrees until it has converted.

wire: the firmware's `ds18x20.DS18X20`, or whatever has its methods `convert_temp`,
`read_scratch` and `write_scratch`; on Linux `edge.linux.buses`. Its `read_temp` is a float and
is not called. A reading takes most of a second, during which nothing else runs.

Source: Maxim, DS18B20 data sheet, figures 2, 9 and 10, table 3; Application Note 27.
"""

from . import bus

CONVERT_MS = 750
TWELVE_BITS = 0x7F
POWER_ON = 85 << 4
LOWEST, HIGHEST = -60 << 4, 130 << 4  # it measures from -55 to 125 degrees


class Sensor(bus.Counted):
    """The sensors with these ROM codes, in this order: it says which is which.

    roms: eight bytes each. empty: their counts of the empty room, or None for 20 degrees.
    """

    step = (1, 16)

    def __init__(self, wire, roms, empty=None):
        self.sensors = len(roms)
        self._wire = wire
        self._roms = roms
        self._empty = bus.level(empty, 20 << 4, self.sensors)
        for rom in roms:
            if _coarse(self._scratch(rom)):
                self._asked(wire.write_scratch, rom, bytes([0, 0, TWELVE_BITS]))

    def counts(self):
        """Return the count of each sensor, in sixteenths of a degree Celsius."""
        self._asked(self._wire.convert_temp)
        bus.pause(CONVERT_MS)
        found = []
        for rom in self._roms:
            raw = self._scratch(rom)
            if _coarse(raw):  # its power was gone for a moment, and with it what was set
                raise ValueError(bus.RUBBISH)
            found.append(bus.to_signed(raw[0] | raw[1] << 8, 16))
        if POWER_ON in found:
            raise ValueError(bus.RUBBISH)
        return bus.possible(found, LOWEST, HIGHEST)

    def _scratch(self, rom):
        raw = self._asked(self._wire.read_scratch, rom)
        if len(raw) != 9 or max(raw) == 0 or crc8_low_first(raw):
            raise ValueError(bus.RUBBISH)
        return raw

    def _asked(self, call, *args):
        try:
            return call(*args)
        except Exception:  # the firmware's drivers raise what they like, with bytes in it
            pass
        raise OSError(bus.GONE)


def _coarse(raw):
    """Say whether a scratchpad's count has fewer than twelve bits: its low ones mean nothing."""
    return raw[4] & 0x60 != 0x60


def crc8_low_first(data):
    """Return the CRC of Maxim's one-wire devices; nothing where the last byte is that CRC."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x8C if crc & 1 else crc >> 1
    return crc
