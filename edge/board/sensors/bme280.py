"""Bosch BME280, and the BMP280 that has no humidity: hundredths of a kelvin; the rest is unused.

Registers, of a byte each: 0xD0 the kind (0x60, or 0x58); 0x88 to 0x8D three words of calibration,
low byte first, the first without a sign; 0xF4 how it measures, once (0xA1: temperature averaged 16
times, no pressure); 0xF3 whose bit 3 says that it still does; 0xFA to 0xFC the result, twenty bits
from the highest on; 0xE0 a reset, for a filter of 0xF5 that another program left on would make
readings of earlier ones. It sleeps between.

A result of 0x80000 says that nothing was measured, and is a true one too (26.46 degrees with the
worked trim); a device silent at one temperature alone would tell it. So 0xF4 is asked instead.

It rounds twice. The formula takes seventeen of the bits, and from one of those to the next it
goes by 2.7 mK in the worked example, and by 3.1 at the most (`find_widest_step`). A chip whose
calibration lets that be more than `behind` is refused. Hundredths are rounded from there.

Source: Bosch Sensortec, BME280 data sheet BST-BME280-DS002, sections 4.2 and 5.4, appendix 9.1;
BMP280 data sheet BST-BMP280-DS001, section 3.12, for the worked example.
"""

from . import bus

ADDRESS = 0x76  # or 0x77, as SDO is wired
KIND, CALIBRATION, RESET, STATUS, CONTROL, RESULT = 0xD0, 0x88, 0xE0, 0xF3, 0xF4, 0xFA
ONCE, ANEW = b"\xa1", b"\xb6"
WAIT_MS, STARTS_MS = 40, 3  # 38.05 and 2 at the most
UNIT = (1, 100)
FINE = 20  # of 5120 to a kelvin: less than `behind`
LOWEST, HIGHEST = -4500, 9000  # it measures from -40 to 85 degrees


class Sensor(bus.Chip):
    """The sensor, known to be one. empty: its count of the empty room, or None for 20 degrees."""

    step = UNIT
    behind = (4, 1000)

    def __init__(self, i2c, empty=None, address=ADDRESS):
        bus.Chip.__init__(self, i2c, empty, address, 2000, 3)
        self._byte = bytearray(1)
        if bus.fill(i2c, address, KIND, self._byte)[0] not in (0x60, 0x58):
            raise ValueError(bus.ANOTHER % "BME280 or BMP280")
        bus.write(i2c, address, RESET, ANEW)
        bus.pause(STARTS_MS)
        raw = bus.fill(i2c, address, CALIBRATION, bytearray(6))
        words = [raw[i] | raw[i + 1] << 8 for i in (0, 2, 4)]
        self._trim = words[0], bus.to_signed(words[1], 16), bus.to_signed(words[2], 16)
        if find_widest_step(self._trim) > FINE:
            raise ValueError(bus.RUBBISH)

    def counts(self):
        """Return the count, in hundredths of a degree Celsius."""
        bus.write(self._i2c, self._address, CONTROL, ONCE)
        bus.pause(WAIT_MS)
        busy = bus.fill(self._i2c, self._address, STATUS, self._byte)[0] & 8
        control = bus.fill(self._i2c, self._address, CONTROL, self._byte)[0]
        raw = self.fill(RESULT)
        found = raw[0] << 12 | raw[1] << 4 | raw[2] >> 4
        if busy or control & 0xE0 != 0xA0:  # it lost its power, and with it what it was told
            raise ValueError(bus.RUBBISH)
        return bus.possible((compensate(found, self._trim) * 5 + 128 >> 8,), LOWEST, HIGHEST)


def compensate(found, trim):
    """Return the temperature in 5120ths of a degree, as the data sheet makes it of a result."""
    first, second, third = trim
    fine = ((found >> 3) - (first << 1)) * second >> 11
    return fine + ((((found >> 4) - first) * ((found >> 4) - first) >> 12) * third >> 14)


def find_widest_step(trim):
    """Return by how much `compensate` goes at most from one result to the next.

    By |second| / 2**11 and by 33 |third| / 2**14, for the squares of neighbours of 16 bits are at
    most 2**17 + 1 apart; and each term is rounded down.
    """
    return (abs(trim[1]) >> 11) + (33 * abs(trim[2]) >> 14) + 2
