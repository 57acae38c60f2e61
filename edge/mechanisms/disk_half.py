"""What a device does to a cell before it leaves: move it, mostly near by, now and then anywhere.

What is drawn depends on no cell, so it is drawn ahead, as noise is; `veil` adds the cell to it.
The Round's weights are in `footprint`, the guarantee in `disk`.

What a device that answers with its place needs beside `node`: why not, at which price, how.

Loaded by `Node` where a device is one of these, and by no thermometer.
"""

from ..core.grid import clamp_cell
from ..core.records import check_whole
from . import disk_limits
from .footprint import HEAD, Table, outer
from .footprint import bits as bits

NAME = "disk"


def draw(table, rng):
    """Return (1, dx, dy), an offset from the true cell, or (0, x, y), a place of the outer array.

    One number below the total weight decides. The offset (dx, dy) has the chance
    (weight - far) / total, each place of the outer domain far / total: together the law.
    """
    u = rng.below(table.total)
    if u < table.inner:
        return _offset(table, u)
    return _anywhere(table, (u - table.inner) // table.far)


def veil(round, reading, drawn):
    """Return the payload [sensor, place in the outer array], row by row from the top.

    A cell outside the grid counts as the nearest one of it. What is checked here is what was
    drawn, never the cell.
    """
    columns, rows, reach_x, reach_y = outer(round.grid, round.params[0])
    near, x, y = drawn
    if near not in (0, 1) or not (-reach_x * near <= x < columns and -reach_y * near <= y < rows):
        raise ValueError(
            "what was drawn is not of round %d, and a cell must be hidden by its own Round's "
            "weights. Draw from the Table of this round" % round.number
        )
    cell = clamp_cell(round.grid, check_whole(reading.values, 2))
    x += near * (cell[0] + reach_x)
    y += near * (cell[1] + reach_y)
    return [reading.sensor, y * columns + x]


def _offset(table, u):
    """Return the offset at u of what the footprint weighs beyond far."""
    y = 0
    while u >= table.upto[y]:
        y += 1
    if y:
        u -= table.upto[y - 1]
    params, full, at = table.of[1], table.fulls[y], table.at[y] - table.fulls[y]
    over = (table.near if full else params[at]) - table.far
    images, x = 4 if y else 1, 0  # of the row's first cell, on the diagonal; x counts from there
    if u >= images * over:
        u -= images * over
        images, x = table.count_mirrors(y), 1
        over = table.near - table.far
        if full > 1:
            x += min(u // (images * over), full - 1)
            u -= (x - 1) * images * over
        while True:
            if x >= full:
                over = params[at + x] - table.far
            if u < images * over:
                break
            u -= images * over
            x += 1
    return _mirror(table, x + y, y, u // over)


def _mirror(table, x, y, image):
    """Return the drawn offset at one of the mirror images of a cell of the octant."""
    if image & 1:
        x = -x
    turned = image & 2
    if y:
        if turned:
            y = -y
        turned = image & 4
    if turned or not table.reach_x:
        x, y = y, x
    return 1, x, y


def _anywhere(table, k):
    """Return the drawn place number k of the outer domain: the grid's own rows first."""
    own = table.rows - 2 * table.reach_y
    if k < own * table.columns:
        return 0, k % table.columns, table.reach_y + k // table.columns
    k -= own * table.columns
    j = half = width = 0
    for j, count, half in table.list_caps():  # noqa: B007, the run that k falls into is used below
        width = table.columns - 2 * (table.reach_x - half)
        if k < 2 * count * width:
            break
        k -= 2 * count * width
    row, x = k // width, k % width
    j += row // 2
    y = table.reach_y + own - 1 + j if row % 2 else table.reach_y - j
    return 0, table.reach_x - half + x, y


class Half:
    """The disk mechanism as a Node uses it, with the Table of the last Round."""

    NAME = NAME  # what is here under the same names, for a Node

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

        As in `thermal_half`: from public numbers alone, before anything is charged or read.
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
            self.find_law(round)
        except MemoryError:
            return "there is no room here for its weights"
        except ValueError as why:
            return "its weights are wrong: %s" % why
        return ""

    def find_law(self, round):
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
        return draw(table, rng)

    def make_meta(self, round):
        """Return what the device's `meta` says otherwise than a thermometer's."""
        return {"mechanism": self.NAME, "unit": "cell"}

    explain_loosening = staticmethod(disk_limits.explain_loosening)
    veil = staticmethod(veil)
    bits = staticmethod(bits)
