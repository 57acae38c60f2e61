"""What every driver does with a bus: ask it once, and say nothing of what it said.

A driver's fault is one of two sentences, GONE or RUBBISH. Neither holds a number, for what a
sensor says must not leave by way of a traceback.

i2c: whatever has the methods of MicroPython's `machine.I2C` that are called here: `writeto`,
`readfrom_into`, `writeto_mem` and `readfrom_mem_into`. On Linux that is `edge.linux.buses`.
"""

import time

from ...core.pixels import subtract_baseline as subtract_baseline

GONE = "the sensor does not answer; look at its wires, its power and its address"
RUBBISH = "the sensor answers what it cannot measure; look at its wires and its power"
ANOTHER = (
    "what answers at this address is no %s; another chip's bytes would be taken for degrees. Mend "
    "the address, or name the driver of what is there"
)


def write(i2c, address, register, data, bits=8):
    """Write bytes to a register, whose number has so many bits; OSError where nobody is there."""
    try:
        i2c.writeto_mem(address, register, data, addrsize=bits)
        return
    except Exception:  # a bus that hangs up half way is as gone as one that times out
        pass
    raise OSError(GONE)


def fill(i2c, address, register, buffer, bits=8):
    """Read registers, from this one on, into the buffer, and return it; OSError if gone."""
    try:
        i2c.readfrom_mem_into(address, register, buffer, addrsize=bits)
        return buffer
    except Exception:
        pass
    raise OSError(GONE)


def ask(i2c, address, command, wait_ms, buffer):
    """Send a command, wait, and read the answer into the buffer; OSError if gone."""
    try:
        i2c.writeto(address, command)
        pause(wait_ms)
        i2c.readfrom_into(address, buffer)
        return buffer
    except Exception:
        pass
    raise OSError(GONE)


def to_signed(number, bits):
    """Return a number of so many bits as two's complement means it."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def possible(counts, low, high):
    """Return the counts; ValueError where the sensor, in any room at all, cannot give them.

    The bounds are the sensor's own and far from what a room shows. So that an answer failed
    tells of a broken wire and of nothing that happened in front of it.
    """
    try:
        rubbish = [None for count in counts if not low <= count <= high]
    except TypeError:  # no number at all
        rubbish = counts
    if rubbish:
        raise ValueError(RUBBISH)
    return counts


def level(empty, usual, sensors):
    """Return the counts of the empty room: those given, or the sensor's usual one.

    empty: one whole number for all sensors, a list of one each, or None.
    """
    if empty is None:
        empty = usual
    if type(empty) is int:
        empty = (empty,) * sensors
    if len(empty) != sensors or not all([type(count) is int for count in empty]):
        raise ValueError(
            "the empty room is given for %d sensors but this one has %d, each with a whole "
            "count of its own: grains are counted from there. Record it again, or leave it out"
            % (len(empty), sensors)
        )
    return tuple(empty)


def read_grains(driver, params):
    """Return the grains of each sensor above the empty room."""
    return subtract_baseline(driver.counts(), driver._empty, params.exponent, driver.step)


class Counted:
    """What every driver does with its counts: `step` of a kelvin each, from `_empty` on."""

    read = read_grains


class Chip(Counted):
    """A sensor on an I2C bus, whose answers have so many bytes; `usual`: its count at 20 degrees.

    empty: its counts of the empty room, or None for the usual one.
    """

    sensors = 1

    def __init__(self, i2c, empty, address, usual, size):
        self._i2c = i2c
        self._address = address
        self._empty = level(empty, usual, self.sensors)
        self._raw = bytearray(size)

    def fill(self, register):
        """Return what it has from this register on."""
        return fill(self._i2c, self._address, register, self._raw)

    def word(self, register):
        """Return a register of two bytes, the high one first."""
        raw = self.fill(register)
        return raw[0] << 8 | raw[1]


def pause(wait_ms):
    """Wait so many milliseconds."""
    if hasattr(time, "sleep_ms"):
        time.sleep_ms(wait_ms)
    else:
        time.sleep(wait_ms / 1000)  # the one float of this folder, and no reading is in it


def crc8(data, start, polynomial=0x31):
    """Return the CRC of eight bits, high bit first; polynomial: without its x**8."""
    crc = start
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ polynomial) & 255 if crc & 128 else crc << 1
    return crc
