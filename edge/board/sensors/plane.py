"""From an angle to millimetres of the site's grid: two products, a sum and a quotient an axis.

    plane = (latitude, longitude, x east, x north, y east, y north, x_mm, y_mm)

A point of the site, near the middle of its grid, in units of 1e-7 degree; what one such unit
eastward or northward adds to x and y, in millimetres times `UNIT`; and where in the grid that
point is. A host worked that out from the grid's corner and bearing, so the device needs no sine.
"""

UNIT = 1 << 24
NUMBERS = 8
TURN = 3600000000  # 360 degrees


def objection(plane):
    """Return why these are no such numbers, or "" where they are."""
    right = isinstance(plane, (list, tuple)) and len(plane) == NUMBERS
    if right and all([isinstance(one, int) and -(1 << 50) < one < 1 << 50 for one in plane]):
        return ""
    return "its plane is not %d whole numbers" % NUMBERS


def to_millimetres(plane, fix):
    """Return (x, y) of a fix in millimetres from the grid's corner; it may lie far outside.

    The shorter way round the earth is taken, so the grid may lie across the 180th meridian.
    """
    north = fix[0] - plane[0]
    east = (fix[1] - plane[1] + TURN // 2) % TURN - TURN // 2
    x = plane[6] + (plane[2] * east + plane[3] * north) // UNIT
    y = plane[7] + (plane[4] * east + plane[5] * north) // UNIT
    return x, y
