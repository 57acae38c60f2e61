"""The set of sources that is nearest on average to those that are possible, in a plane.

In a plane no formula gives the map of least expected earth mover's distance. Of the possible
sets the one nearest on average, their medoid, is taken; then every source goes to the middle of
those that it is matched with, as long as that brings the set nearer.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Medoid:
    """One set of sources, and how far it is from the possible ones on average.

    Args:
        cells: (sources,), where they stand.
        shares: (sources,), of all heat.
        expected_error: mean earth mover's distance, in the unit of the places.
    """

    cells: Whole
    shares: Floats
    expected_error: float


def medoid(sets: Whole, weights: Floats, places: Floats, powers: Floats | None = None) -> Medoid:
    """Return the set of least expected distance, among the possible ones and near to them.

    Args:
        sets: (sets, most), the cells of each possible set; -1 where it has fewer sources.
        weights: (sets,), their chances, not negative; of any sum.
        places: (cells, 1) or (cells, 2), where the cells are.
        powers: (sets, most), heat of each source; None where all are equal.

    Raises:
        ValueError: no set with a source and a chance.
    """
    raise NotImplementedError
