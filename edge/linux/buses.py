"""The buses of a Raspberry Pi, with the methods of MicroPython's that the drivers call.

`Bus` is the kernel's own I2C device, /dev/i2c-1 on a Raspberry Pi, so nothing has to be installed;
the user must be in the group that may open it. A register is read in one transfer of two messages,
its number and then its bytes, with a repeated start between them as on a board.

`Wire` has one-wire sensors, as `ds18x20.DS18X20`: the kernel (overlay w1-gpio) makes a folder of
each, family, a dash and its number, and in it a file: reading that converts, and gives the nine
bytes of the scratchpad in hexadecimal.
"""

import fcntl
import os
import struct
from array import array
from binascii import unhexlify

SLAVE, TRANSFER = 0x0703, 0x0707  # of linux/i2c-dev.h: whom messages are for; some in one go
READ = 1  # the flag of a message whose bytes the chip sends


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

    def writeto_mem(self, address, register, data, addrsize=8):
        """Write bytes to a register, whose number has so many bits."""
        self.writeto(address, register.to_bytes(addrsize // 8, "big") + bytes(data))

    def readfrom_mem_into(self, address, register, buffer, addrsize=8):
        """Fill the buffer from this register on."""
        asked = array("B", register.to_bytes(addrsize // 8, "big"))
        found, messages = array("B", bytes(len(buffer))), array("B")
        for flag, part in ((0, asked), (READ, found)):
            where, size = part.buffer_info()
            messages.frombytes(struct.pack("HHHP", address, flag, size, where))
        fcntl.ioctl(self._file, TRANSFER, struct.pack("PI", messages.buffer_info()[0], 2))
        buffer[:] = found.tobytes()


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
