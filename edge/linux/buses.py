"""The buses of a Raspberry Pi, with the methods of MicroPython's that the drivers call.

`Bus` is the kernel's own I2C device, /dev/i2c-1 on a Raspberry Pi, so nothing has to be installed;
the user must be in the group that may open it. A register is read as two messages, its number and
then its bytes: chips that keep the number, as all of ours do, need no repeated start.

`Wire` has one-wire sensors, as `ds18x20.DS18X20`: the kernel (overlay w1-gpio) makes a folder of
each, family, a dash and its number, and in it a file: reading that converts, and gives the nine
bytes of the scratchpad in hexadecimal.
"""

import fcntl
import os
from binascii import unhexlify

SLAVE = 0x0703  # I2C_SLAVE of linux/i2c-dev.h: whom the next messages are for


class Bus:
    """The bus of this number."""

    def __init__(self, number, folder="/dev"):
        self._file = os.open("%s/i2c-%d" % (folder, number), os.O_RDWR | os.O_CLOEXEC)

    def close(self):
        """Let go of it."""
        os.close(self._file)

    def writeto(self, address, data):
        """Send bytes; OSError where nobody acknowledges them."""
        fcntl.ioctl(self._file, SLAVE, address)
        if os.write(self._file, data) != len(data):
            raise OSError("the bus took a part of the bytes; look at the wires")

    def readfrom_into(self, address, buffer):
        """Fill the buffer with what the chip sends."""
        fcntl.ioctl(self._file, SLAVE, address)
        found = os.read(self._file, len(buffer))
        if len(found) != len(buffer):
            raise OSError("the bus gave a part of the bytes; look at the wires")
        buffer[:] = found

    def writeto_mem(self, address, register, data):
        """Write bytes to a register."""
        self.writeto(address, bytes([register]) + bytes(data))

    def readfrom_mem_into(self, address, register, buffer):
        """Fill the buffer from this register on."""
        self.writeto(address, bytes([register]))
        self.readfrom_into(address, buffer)


FAMILY = 0x28  # of the DS18B20
FOLDER = "/sys/bus/w1/devices"


class Wire:
    """All one-wire buses of this computer."""

    def __init__(self, folder=FOLDER):
        self._folder = folder
        self._seen = {}

    def scan(self):
        """Return the ROM codes of the sensors, less their CRC: family, then number, low first."""
        names = [name for name in os.listdir(self._folder) if name.startswith("%02x-" % FAMILY)]
        return [_rom(name) for name in sorted(names)]

    def convert_temp(self):
        """Forget what was read: the kernel converts when the file is read again."""
        self._seen.clear()

    def read_scratch(self, rom):
        """Return the nine bytes of a sensor's scratchpad."""
        name = "%02x-%s" % (rom[0], bytes(reversed(rom[1:7])).hex())
        if name not in self._seen:
            with open("%s/%s/w1_slave" % (self._folder, name), encoding="ascii") as file:
                self._seen[name] = unhexlify(file.readline().split(":")[0].replace(" ", ""))
        return self._seen[name]

    def write_scratch(self, rom, data):
        """Set the resolution, of which the kernel lets us set nothing else: 9 to 12 bits."""
        name = "%02x-%s" % (rom[0], bytes(reversed(rom[1:7])).hex())
        with open("%s/%s/resolution" % (self._folder, name), "w", encoding="ascii") as file:
            file.write("%d\n" % (9 + (data[2] >> 5 & 3)))
        self._seen.pop(name, None)


def _rom(name):
    family, number = name.split("-")
    return unhexlify(family) + bytes(reversed(unhexlify(number)))


def open_camera(driver):
    """Return the MLX90640 by the library that makes its degrees, two frames a second.

    ValueError where that is not here.
    """
    try:
        import adafruit_mlx90640
        import board
        import busio
    except ImportError:
        raise ValueError(
            "the library of the MLX90640 is not installed; its chip sends no degrees but what "
            "they are reckoned from. Install adafruit-circuitpython-mlx90640 beside heatveil"
        ) from None
    try:
        wires = busio.I2C(board.SCL, board.SDA, frequency=800000)
        camera = adafruit_mlx90640.MLX90640(wires)
        camera.refresh_rate = adafruit_mlx90640.RefreshRate.REFRESH_4_HZ  # each shows half
        return camera
    except (RuntimeError, ValueError):
        pass
    raise OSError("the MLX90640 does not answer; look at its wires and that the bus is on")
