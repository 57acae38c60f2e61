"""Cells of a grid in whole numbers: their order, the squares of a level, the Hilbert curve.

A cell is (x, y), x across from the left and y down from the top, counted from 0. Levels and
the Hilbert curve are for square grids whose side is a power of two.
"""


def cells(grid):
    """Return how many cells the grid has."""
    return grid.shape[0] * grid.shape[1]


def index(grid, cell):
    """Return the place of a cell in the row-by-row order, x fastest."""
    return cell[1] * grid.shape[0] + cell[0]


def nearest(grid, cell):
    """Return the cell itself, or the nearest one of the grid where it lies outside.

    Outsiders are moved in, never dropped: dropping would tell that there was one.
    """
    columns, rows = grid.shape
    return min(max(cell[0], 0), columns - 1), min(max(cell[1], 0), rows - 1)


def depth(grid):
    """Return the level of the single cells: the side is padded to 2**depth."""
    side, level = max(grid.shape), 0
    while 1 << level < side:
        level += 1
    return level


def levels(grid):
    """Return the depth of a grid that needs no padding; ValueError where it needs some."""
    columns, rows = grid.shape
    deepest = depth(grid)
    if columns != rows or columns != 1 << deepest:
        raise ValueError(
            "the grid is %d x %d but squares within squares need equal sides that are a power "
            "of two; take %d x %d" % (columns, rows, 1 << deepest, 1 << deepest)
        )
    return deepest


def square(grid, cell, level):
    """Return the square (x, y) of a level that holds the cell."""
    shift = levels(grid) - level
    if not 0 <= shift <= levels(grid):
        raise ValueError("level %d is not among 0 to %d" % (level, levels(grid)))
    return cell[0] >> shift, cell[1] >> shift


def path(grid, cell):
    """Return the quadrants from the whole square down to the cell.

    0 is top left, 1 top right, 2 bottom left, 3 bottom right.
    """
    steps = []
    for level in range(1, levels(grid) + 1):
        x, y = square(grid, cell, level)
        steps.append((y & 1) * 2 + (x & 1))
    return steps


def hilbert(grid, cell):
    """Return the place of a cell along the Hilbert curve, 0 to cells - 1.

    Neighbours on the curve are neighbours on the grid.
    Source: Hamilton and Rau-Chaplin 2008, Section 2, in two dimensions.
    """
    x, y = cell
    place = 0
    half = (1 << levels(grid)) >> 1
    while half:
        right, low = int(x & half > 0), int(y & half > 0)
        place += half * half * ((3 * right) ^ low)
        x, y = _turn(half, x & (half - 1), y & (half - 1), right, low)
        half >>= 1
    return place


def hilbert_cell(grid, place):
    """Return the cell (x, y) at a place along the Hilbert curve: the inverse of `hilbert`."""
    x = y = 0
    half = 1
    while half < grid.shape[0]:
        right = 1 & (place >> 1)
        low = 1 & (place ^ right)
        x, y = _turn(half, x, y, right, low)
        x, y = x + half * right, y + half * low
        place >>= 2
        half <<= 1
    return x, y


def _turn(side, x, y, right, low):
    """Return (x, y) in the frame of a quadrant: the lower curves are turned, one mirrored."""
    if low:
        return x, y
    if right:
        x, y = side - 1 - x, side - 1 - y
    return y, x
