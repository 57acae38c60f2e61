"""Sensirion SHT40, SHT41 and SHT45: one sensor, 175 K in 65535 counts; the humidity is unused.

    degrees Celsius = -45 + 175 count / 65535

The command 0xFD measures with high repeatability, within 8.3 ms. The answer has six bytes: count,
its CRC, humidity, its CRC; high bytes first, CRC of eight bits with polynomial 0x31 from 0xFF.

Source: Sensirion, SHT4x data sheet, sections 4.3 to 4.6.
"""

from . import bus

ADDRESS = 0x44
MEASURE = b"\xfd"
WAIT_MS = 10


class Sensor(bus.Chip):
    """The sensor. empty: its count of the empty room, or None for 20 degrees."""

    step = (175, 65535)

    def __init__(self, i2c, empty=None, address=ADDRESS):
        bus.Chip.__init__(self, i2c, empty, address, 24342, 6)
        self.counts()  # or it is not there

    def counts(self):
        """Return the count; both CRCs must hold, for a bus that is torn is torn in one place."""
        raw = bus.ask(self._i2c, self._address, MEASURE, WAIT_MS, self._raw)
        if bus.crc8(raw[:2], 0xFF) != raw[2] or bus.crc8(raw[3:5], 0xFF) != raw[5]:
            raise ValueError(bus.RUBBISH)
        return (raw[0] << 8 | raw[1],)
