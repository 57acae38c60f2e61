"""What passes between the rooms of the house: six records, plain tuples with names.

A Reading is private and stays on the device: nothing here or in `wire` can pack one.
Everything else may be seen by the gateway, and all but a Report of a mechanism with
central trust may be seen by anybody.
"""

from collections import namedtuple

# shape is (columns, rows), a line of n cells is (n, 1). cell_mm is the side of a square
# cell in whole millimetres, or 0 where the grid is the unit interval or square.
Grid = namedtuple("Grid", ("shape", "cell_mm"))

# epsilon, delta and rho are ratios (num, den) of whole numbers, or None where the
# promise is not made in that currency. rho is the zCDP price of one round; epsilon
# and delta hold for the whole window that `unit` names. The rest are sentences.
Guarantee = namedtuple(
    "Guarantee", ("epsilon", "delta", "rho", "neighbours", "trust", "unit", "unprotected")
)

# params are whole numbers only; what they mean is the mechanism's business.
Round = namedtuple("Round", ("number", "mechanism", "grid", "params", "guarantee"))

# A Round of central trust: key is the public key of 32 bytes to which its reports are sealed.
SealedRound = namedtuple(
    "SealedRound", ("number", "mechanism", "grid", "params", "guarantee", "key")
)

# sensor is the index of the first sensor read, values the whole-number readings of it
# and of the sensors that follow: one for a thermometer, 64 for an 8x8 array. For the
# counting mechanisms values is a cell (x, y).
Reading = namedtuple("Reading", ("sensor", "values"))

# round is the four-byte name of the Round it answers (`wire.name_of`), sender the
# device, epoch its boot counter, seq its message counter, payload a list of whole numbers, or of
# central trust the bytes of such a list, sealed (`central`).
Report = namedtuple("Report", ("round", "sender", "epoch", "seq", "payload"))

# values are in the mechanism's order (for thermal by sensor, None where none came);
# reports says how many were folded in.
Release = namedtuple("Release", ("round", "values", "reports"))


def check_whole(values, count):
    """Return `count` readings as a tuple; ValueError where they are not all whole numbers.

    By their type and not by their value: a float that passed would fail later, or not, by what
    was seen. What came instead is not said, for it is private. Nothing has 2**127 counts, nor so
    many of the finest grains.
    """
    try:
        found = tuple(values)
    except TypeError:
        found = ()
    right = len(found) == count
    for value in found:
        right = right and type(value) is int and not abs(value) >> 127
    if not right:
        raise ValueError(
            "a sensor did not give %d whole numbers that a converter can give, and a part of a "
            "count would show in whether an answer comes. Return its counts as int" % count
        )
    return found
