"""Cells of a grid in whole numbers: the nearest one, and how deep squares within squares go.

A cell is (x, y), x across from the left and y down from the top, counted from 0.
"""


def clamp_cell(grid, cell):
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
