"""What a device that answers with its place needs beside `node`: why not, at which price, how.

Loaded by `Node` where a device is one of these, and by no thermometer.
"""

from . import disk_limits, place
from .footprint import HEAD, Table


def half(mechanism, identity, step, follower, tables):
    """Return what a Node of another mechanism than thermal works with; arguments as of a Node.

    And what it draws ahead before a Round came: nothing, for the weights come with that.
    """
    if mechanism != place.NAME:
        from . import central

        return central.half(mechanism, identity, step or follower or tables)
    return Half(identity, step, follower, tables), None


class Half:
    """The disk mechanism as a Node uses it, with the Table of the last Round."""

    NAME = place.NAME

    def __init__(self, identity, step, follower, tables):
        if identity.sensors != 1 or step or follower or tables:
            raise ValueError(
                "%s is to answer with its place, and has %d sensors or something that is for "
                "temperatures: a step, a level that follows, tables. A place is one sensor's, and "
                "nothing is added to it. Leave the others out" % (identity.name, identity.sensors)
            )
        self._table = None

    def objection(self, round, identity, limits, newest):
        """Return why this device must not answer a Round, or ""; the Table is there if it may.

        As in `refusals`: from public numbers alone, before anything is charged or read.
        """
        if identity.mode != "sealed":
            return (
                "it asks for a place, and this device is not sealed: who holds its key could "
                "tell an answer that is near the place from one that is anywhere"
            )
        if len(round.params) <= HEAD:
            return "it has %d params, and no footprint" % len(round.params)
        if round.number <= newest:
            return "it is round %d, and round %d is already answered" % (round.number, newest)
        why = disk_limits.objection(limits, round.guarantee, *round.params[3:HEAD])
        if why:
            return why
        try:
            self.like(round)
        except MemoryError:
            return "there is no room here for its weights"
        except ValueError as why:
            return "its weights are wrong: %s" % why
        return ""

    def like(self, round):
        """Return what a draw depends on: this Round's Table, the same one while Rounds are alike.

        Asked for at each answer, and not kept from the objection: a Round whose sensor failed may
        come again after another one was looked at.
        """
        if self._table is None or self._table.of != (round.grid, round.params):
            self._table = None  # first, to make room
            self._table = Table(round)
        return self._table, 0

    def params_of(self, round):
        """Return what the sensor is asked with: the grid whose cell it is to tell."""
        return round.grid

    def cost(self, limits, round):
        """Return the nano-rho of the answer."""
        return disk_limits.price(limits, *round.params[3:HEAD])

    def draw(self, table, count, rng):
        """Return an offset or a place; there is one sensor, whatever `count`."""
        return place.draw(table, rng)

    def said(self):
        """Return what the device's `meta` says otherwise than a thermometer's."""
        return {"mechanism": self.NAME, "unit": "cell"}

    looser = staticmethod(disk_limits.looser)
    veil = staticmethod(place.veil)
    bits = staticmethod(place.bits)
