"""The records of `core.records` that analysts make, with words for `help`; on no board.

There such words would take heap, so they are put in here.
"""

from .core.records import Grid as Grid
from .core.records import Reading as Reading

Grid.__doc__ = """The cells of a map: a line, or a plane.

Args:
    shape: (columns, rows), whole numbers from 1; a line of n cells is (n, 1). Arrays of a map,
        such as `Heatmap.mass`, are (rows, columns): that of Grid((12, 10), 500) is (10, 12).
    cell_mm: the side of a square cell, in whole millimetres; 0 where the grid is the unit
        interval or square.
"""
Reading.__doc__ = """What one device has read: private, so nothing can pack it.

Args:
    sensor: the number of the first sensor that it reads, from 0, row by row.
    values: whole numbers, one for that sensor and one for each that follows. For `thermal` they
        are grains: kelvin above the empty room, times 2**round.params[1], rounded. For the other
        mechanisms they are one cell, (column, row), from 0, of the Round's grid.
"""
