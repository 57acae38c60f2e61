"""One-wire sensors of Linux, with the methods of MicroPython's `ds18x20.DS18X20` that are called.

The kernel (overlay w1-gpio) makes a folder of each sensor, family, a dash and its number, and in
it a file: reading that converts, and gives the nine bytes of the scratchpad in hexadecimal.
"""

import os
from binascii import unhexlify

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
