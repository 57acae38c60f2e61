"""A receiver for satellites on a serial line, one that speaks NMEA 0183: as good as all do.

It is heard, and never spoken to. What it says is looked at some times a second (`where`), and the
place of its last fix is what counts: under a roof it goes on talking, without one.

line: whatever has `readinto(buffer)`, which gives how many bytes came, or None, and does not
wait: `machine.UART` with no timeout, on Linux `edge.linux.uart`.
"""

from ...core.compat import Uptime
from . import bus, nmea, plane

SILENT_MS = 10000  # a receiver says something once a second, with a fix or without
ROOM = 256  # bytes that are taken at a time
TIMES = 8  # at the most: whoever sends without end must not hold the device up


class Sensor:
    """The receiver. told: the plane of the site's grid (`plane`)."""

    unit = "mm"

    def __init__(self, line, told):
        self._line = line
        self._plane = told
        self._came = bytearray(ROOM)
        self._sentence = bytearray(nmea.LONGEST)
        self._size = -1  # of the sentence that is coming; below 0 while none is
        self._clock = Uptime()
        self._heard_ms = None  # when a sentence came last that was whole

    def where(self):
        """Return (x, y) of the last fix that has come since; None if none has.

        False while nothing was heard yet, OSError where it has been silent for long.
        """
        fix = None
        for _ in range(TIMES):
            count = self._read()
            for i in range(count):
                fix = self._took(self._came[i]) or fix
            if count < ROOM:
                break
        if fix:
            return plane.millimetres(self._plane, fix)
        if self._clock.now_ms() - (self._heard_ms or 0) > SILENT_MS:
            raise OSError(bus.GONE)
        return False if self._heard_ms is None else None

    def _read(self):
        try:
            return self._line.readinto(self._came) or 0
        except Exception:  # a line that was pulled, with whatever the system says of it
            pass
        raise OSError(bus.GONE)

    def _took(self, byte):
        """Take a byte more; return the fix of the sentence that it ends, or None."""
        if byte == 36:  # $, and what came before it was half a sentence
            self._size = 0
            return None
        if self._size < 0:
            return None
        if byte not in (10, 13):
            if self._size == nmea.LONGEST:
                self._size = -1
            else:
                self._sentence[self._size] = byte
                self._size += 1
            return None
        size, self._size = self._size, -1
        fix = nmea.fix_of(self._sentence[:size])
        if fix is nmea.SPOILT:
            return None
        self._heard_ms = self._clock.now_ms()
        return fix
