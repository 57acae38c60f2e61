"""An I2C bus of Linux, with the methods of MicroPython's `machine.I2C` that the drivers call.

It is the kernel's own device, /dev/i2c-1 on a Raspberry Pi, so nothing has to be installed; the
user must be in the group that may open it. A register is read as two messages, its number and
then its bytes: chips that keep the number, as all of ours do, need no repeated start.
"""

import fcntl
import os

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
