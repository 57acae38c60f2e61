"""The two refusals that all operators share: vectors that do not fit, sources that are not."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..places import Floats


def vectors(name: str, given: ArrayLike, size: int) -> Floats:
    """Return `given` as floats, (size,) or (size, k).

    Raises:
        ValueError: it has another shape.
    """
    found = np.asarray(given, dtype=float)
    if found.ndim not in (1, 2) or len(found) != size:
        raise ValueError(
            f"{name} has shape {found.shape} but must be ({size},) or ({size}, k), one number for "
            "each place, or no number belongs to its place. Count with x fastest."
        )
    return found


def chosen_sources(sources: ArrayLike, size: int) -> NDArray[np.intp]:
    """Return the indices as whole numbers, (k,).

    Raises:
        IndexError: one of them is no source.
    """
    found = np.atleast_1d(np.asarray(sources)).astype(np.intp)
    if found.size and not 0 <= found.min() <= found.max() < size:
        raise IndexError(
            f"the sources asked for run from {found.min()} to {found.max()} but must be 0 to "
            f"{size - 1}: there are no others. Count the cells with x fastest."
        )
    return found


def unit_columns(sources: NDArray[np.intp], size: int) -> Floats:
    """Return one unit of heat in each of these sources, (size, k)."""
    heat = np.zeros((size, len(sources)))
    heat[sources, np.arange(len(sources))] = 1.0
    return heat
