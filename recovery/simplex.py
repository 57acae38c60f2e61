"""From counts or shares that are unbiased, and some negative, to the nearest map there is."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def project_to_total(values: ArrayLike, total: float = 1.0) -> Floats:
    """Return the nearest array without negative parts and of the given total.

        max(values - shift, 0), with the one shift that gives the total

    Nearest in Euclidean distance, exactly, by one sort. The procedure called Norm-Sub (zero what
    is negative, take the surplus evenly from what is left, begin again) ends at this array, too:
    each of its rounds only zeroes what the right shift would. It looks at nothing but released
    numbers, so it costs no privacy.

    Args:
        values: of any shape, finite.
        total: of the result; positive.

    Raises:
        ValueError: no values or values that are not finite, a total that is not positive.

    Source: Held, Wolfe and Crowder 1974, Section 3; Wang et al. 2020, "Locally differentially
    private frequency estimation with consistency", Section 4.3 for Norm-Sub.

    >>> project_to_total([0.8, 0.4, -0.3]).round(3)
    array([0.7, 0.3, 0. ])
    """
    array = np.asarray(values, np.float64)
    if not array.size or not np.isfinite(array).all():
        raise ValueError(
            f"values are {array.size} numbers, not all of them finite, but must be finite and at "
            "least one: nothing is nearest to what is not there. Leave out rounds that nobody "
            "answered."
        )
    if not 0 < total < np.inf:
        raise ValueError(
            f"total is {total:g} but must be positive and finite: a map of no heat shows "
            "nothing. Take 1 for shares, or the number of users."
        )
    falling = np.sort(array, axis=None)[::-1]
    shifts = (np.cumsum(falling) - total) / np.arange(1, array.size + 1)
    # The more cells are kept the lower the shift; those above their own shift stay.
    kept = int(np.count_nonzero(falling > shifts))
    shared = np.maximum(array - shifts[kept - 1], 0)
    return np.asarray(shared * (total / shared.sum()))
