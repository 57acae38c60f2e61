"""What share of each cell a sensor sees: at a point, in a box, through a beam, or as an array.

Every view is of shape (sensors, cells), cells row by row, x fastest, and multiplies a field in
kelvin above the baseline. Along each axis it is the share of that axis's cells, and in a plane
the product of both: for a large room, `arrays.array_axes` sees without forming it.

What lies beyond a wall sees the wall, which is taken to be at the baseline: a row adds up to
one where the view is inside the room, and to less where it is not.
"""

import numpy as np

from edge.records import Grid

from .. import places
from .arrays import array_views as array_views
from .shares import axes_of, beams, boxes, positive, product


def point_views(places_m: places.Floats, grid: Grid) -> places.Floats:
    """Return the weights that read a field at places, straight between the middles of cells.

    Beyond the outermost middles, up to the wall, the outermost cell is read.

    Args:
        places_m: (sensors,) along a line, (sensors, 2) in a plane, as x, y.

    Raises:
        ValueError: a place outside the grid, or with another number of axes.
    """
    along = []
    for here, count, first, pitch in axes_of(places_m, grid):
        at = np.clip((here - first) / pitch, 0, count - 1)
        low = at.astype(int)
        weights = np.zeros((len(here), count))
        rows = np.arange(len(here))
        weights[rows, np.minimum(low + 1, count - 1)] = at - low
        weights[rows, low] += 1 - (at - low)
        along.append(weights)
    return product(along)


def box_views(places_m: places.Floats, side_m: float, grid: Grid) -> places.Floats:
    """Return the weights of the mean over a square of that side about each place.

    Raises:
        ValueError: as for `point_views`, or a side that is not positive.
    """
    positive("side_m", side_m)
    return product(
        boxes(axis.here - side_m / 2, axis.here + side_m / 2, axis.edges)
        for axis in axes_of(places_m, grid)
    )


def beam_views(places_m: places.Floats, deviation_m: float, grid: Grid) -> places.Floats:
    """Return the weights of a Gaussian beam of that standard deviation about each place.

    Heat that has spread to a variance is seen with the beam's variance added.

    Raises:
        ValueError: as for `point_views`, or a deviation that is not positive.
    """
    positive("deviation_m", deviation_m)
    return product(
        beams(axis.here, np.full(len(axis.here), deviation_m), axis.edges)
        for axis in axes_of(places_m, grid)
    )
