"""Places, as a whole mechanism: a device answers a cell, likelier one near its own than another.

Guarantee: epsilon, pure, for one report as the Round states, against everybody. Neighbours: any
two cells of the grid. Trust: local, nobody but the device sees its cell. Unit: one report; the
epsilons of several add up. Not protected: that a device answers, and that it is enrolled.

Source: paper 003, Sections IV to VI, with the corrections that `footprint` names.
"""

from ..core.records import Release
from .disk_half import NAME as NAME
from .disk_half import draw as draw
from .disk_half import veil as veil
from .footprint import Table as Table
from .footprint import bits as bits
from .footprint import outer as outer


def report(round, reading, rng, table=None):
    """Return the payload [sensor, place] of a Reading whose values are a cell (x, y).

    table: the round's own, for who reports often; made anew, with all its checks, if None.
    """
    if table is None:
        table = Table(round)
    elif table.of != (round.grid, round.params):
        raise ValueError(
            "a table of another round came with round %d, and a cell must be hidden by its own "
            "Round's weights. Make a Table of this round" % round.number
        )
    return veil(round, reading, draw(table, rng))


def release(round, payloads, rng):
    """Return how many answered each cell of the outer array, row by row; draws nothing from `rng`.

    ValueError where a sensor answers twice, or a cell that no device of this Round could answer.
    """
    table = Table(round)
    counts, sensors = [0] * (table.columns * table.rows), set()
    for payload in payloads:
        if len(payload) != 2 or not 0 <= payload[1] < len(counts):
            raise _outside(round, payload)
        sensors.add(payload[0])
        counts[payload[1]] += 1
    if len(sensors) != len(payloads):
        raise ValueError(
            "%d sensors sent %d answers to round %d; one answer counts, or a device would speak "
            "for several. Leave all but the first of each out"
            % (len(sensors), len(payloads), round.number)
        )
    for j, count, half in table.list_caps():
        short = table.reach_x - half
        for row in range(table.reach_y - j - count + 1, table.reach_y - j + 1):
            for y in (row, table.rows - 1 - row):
                first, end = y * table.columns, (y + 1) * table.columns
                if any(counts[first : first + short]) or any(counts[end - short : end]):
                    raise _outside(round, (y,))
    return Release(round, counts, len(payloads))


def _outside(round, answer):
    return ValueError(
        "an answer came from outside the cells of round %d (%s); no device that holds to the "
        "Round gives one. Leave out what does not fit" % (round.number, list(answer))
    )
