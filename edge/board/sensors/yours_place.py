"""A place of your own: copy this, change what is not true of yours, name it as file of `yours`.

As it stands it is the tag of a Decawave DWM1001, which anchors in the room tell where it is. What
you get is the serial line, or the I2C bus, or the converter of a pin, as the config names it.
`where` is called a few times a second and must not wait. It returns two whole numbers: millimetres
from the grid's corner, x as the columns count and y as the rows do; or with unit "cell" a column
and a row. None where it does not know its place now, False where nobody answers. No number of it
in a fault.

Source: Decawave, DWM1001 firmware API guide, sections 4.3 and 5.3.2: dwm_pos_get.
"""

import struct


class Sensor:
    """The tag; its anchors were measured from the grid's corner. plane: of a site on the map."""

    unit = "mm"

    def __init__(self, device, plane=None):
        self._device, self._said = device, bytearray(18)

    def where(self):
        """Return what was asked for the last time, and ask again; quality 0 is no place."""
        count = self._device.readinto(self._said)
        self._device.write(b"\x02\x00")
        right = count == 18 and self._said[:5] == b"\x40\x01\x00\x41\x0d" and self._said[17]
        return struct.unpack_from("<ii", self._said, 5) if right else None if count else False
