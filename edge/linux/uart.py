"""A serial line of Linux, with the methods of MicroPython's `machine.UART` that the drivers call.

It is the kernel's own device, /dev/serial0 on a Raspberry Pi, /dev/ttyACM0 or /dev/ttyUSB0 where
a receiver hangs on USB; the user must be in the group that may open it, dialout. gpsd must not
have it open, and no console be on it.
"""

import os
import termios

USUAL = "/dev/serial0"


def speed_of(baud):
    """Return what the system calls this speed; ValueError where no line has it."""
    found = getattr(termios, "B%d" % baud, None)
    if found is None:
        raise ValueError(
            "%d baud are no speed of a serial line; it must be the sender's, or every byte is "
            "another. Most receivers have 9600: write baud as its maker says" % baud
        )
    return found


class Port:
    """The line at this path: eight bits, no parity, nothing of it changed, and no waiting."""

    def __init__(self, path=USUAL, baud=9600):
        self._file = -1
        speed = speed_of(baud)
        self._file = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            told = termios.tcgetattr(self._file)
            told[:6] = [0, 0, termios.CS8 | termios.CREAD | termios.CLOCAL, 0, speed, speed]
            told[6][termios.VMIN] = told[6][termios.VTIME] = 0
            termios.tcsetattr(self._file, termios.TCSANOW, told)
        except termios.error:
            os.close(self._file)
            self._file = -1
            raise OSError(
                "%s is no serial line; look at what is wired, and its name" % path
            ) from None

    def readinto(self, buffer):
        """Return how many bytes came into the buffer, or None where none did."""
        try:
            return os.readv(self._file, [buffer]) or None
        except BlockingIOError:
            return None

    def write(self, data):
        """Send bytes; return how many the system took."""
        return os.write(self._file, data)

    def close(self):
        """Let go of it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __del__(self):
        self.close()


def open_line(driver):
    """Return the line that a driver's words name."""
    return Port(driver["port"] or USUAL, driver["baud"] or 9600)
