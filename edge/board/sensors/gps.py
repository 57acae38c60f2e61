"""A receiver for satellites on a serial line, one that speaks NMEA 0183: as good as all do.

It is heard, and never spoken to. What it says is looked at some times a second (`where`), and the
place of its last fix is what counts: under a roof it goes on talking, without one.

line: whatever has `readinto(buffer)`, which gives how many bytes came, or None, and does not
wait: `machine.UART` with no timeout, on Linux `edge.linux.uart`.

    $GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47

Behind the talker (GP, GN, GL, GA, GB, ...) stands the kind. GGA: time, latitude, N or S,
longitude, E or W, quality (0 is none). RMC: time, A or V, then the same. Degrees come as ddmm.mmmm
and dddmm.mmmm. Behind the star: all bytes from $ to there, added without carry, in hexadecimal; a
sentence without it is not believed. Other kinds are passed over.

Source: NMEA 0183, version 4.11, sections 5.3 and 8.3, for GGA and RMC; u-blox M8 protocol
specification, section 31, for qualities and modes.
"""

from ...core.compat import Uptime
from . import bus, plane

SILENT_MS = 10000  # a receiver says something once a second, with a fix or without
ROOM = 256  # bytes that are taken at a time
TIMES = 8  # at the most: whoever sends without end must not hold the device up
LONGEST = 100  # bytes: the standard has 82, and some receivers do not hold to it
DEGREE = 10000000  # angles come in units of 1e-7 degree, some 11 mm
MEASURED = (b"1", b"2", b"3", b"4", b"5", b"6")  # and not typed in by hand (7), or invented (8)
INVENTED = (b"N", b"M", b"S")  # the same of a mode, and none
SPOILT = False


class Sensor:
    """The receiver. told: the plane of the site's grid (`plane`)."""

    unit = "mm"

    def __init__(self, line, told):
        self._line = line
        self._plane = told
        self._came = bytearray(ROOM)
        self._sentence = bytearray(LONGEST)
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
            return plane.to_millimetres(self._plane, fix)
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
            if self._size == LONGEST:
                self._size = -1
            else:
                self._sentence[self._size] = byte
                self._size += 1
            return None
        size, self._size = self._size, -1
        fix = parse_fix(self._sentence[:size])
        if fix is SPOILT:
            return None
        self._heard_ms = self._clock.now_ms()
        return fix


def parse_fix(line):
    """Return (latitude, longitude) of a sentence, north and east positive; None if it has none.

    SPOILT where the line is no whole sentence. line: the bytes between $ and the line's end.
    """
    body, star, said = bytes(line).partition(b"*")
    if not star or len(said) != 2 or _sum(body) != _hexadecimal(said):
        return SPOILT
    fields = body.split(b",")
    kind = fields[0][2:]
    if kind == b"GGA" and len(fields) > 6:
        first, measured = 2, fields[6] in MEASURED
    elif kind == b"RMC" and len(fields) > 9:
        first, measured = 3, fields[2] == b"A"
        if len(fields) > 12 and fields[12] in INVENTED:
            measured = False
    else:
        return None
    north = _degrees(fields[first], 2, 90, b"NS", fields[first + 1])
    east = _degrees(fields[first + 2], 3, 180, b"EW", fields[first + 3])
    if not measured or north is None or east is None:
        return None
    return north, east


def _sum(body):
    found = 0
    for byte in body:
        found ^= byte
    return found


def _hexadecimal(text):
    try:
        return int(text, 16)
    except ValueError:
        return -1


def _degrees(text, digits, most, sides, side):
    """Return an angle in units of 1e-7 degree, or None where the field does not hold one."""
    whole, _, part = text.partition(b".")
    sign = sides.find(side) if len(side) == 1 else -1
    if sign < 0 or len(whole) != digits + 2 or not whole.isdigit() or not (part + b"0").isdigit():
        return None
    minutes, fraction = int(whole[digits:]), int((part + b"0000000")[:7])
    if minutes > 59:
        return None
    found = int(whole[:digits]) * DEGREE + (minutes * DEGREE + fraction + 30) // 60
    if found > most * DEGREE:
        return None
    return -found if sign else found
