"""Readings that say how much heat there is at most, and nothing of where."""

import numpy as np

from .record import Seen

# Scenes whose readings are apart by less than this share of the noise: of two such the best
# test of all takes the wrong one in 48 of 100 runs.
_APART = 0.1


def undetermined(seen: Seen) -> str:
    """Return in words what the readings cannot tell, "" where they can tell something of places.

    As much heat as the prior has at the most is thought of in one open cell and then in another.
    Heat that has spread too far, or too little to reach a sensor, looks the same from both.
    """
    columns = seen.operator if seen.open is None else seen.operator[:, seen.open]
    most = seen.prior.warmest * min(seen.prior.most, columns.shape[1])
    # No two columns are further apart than twice the way of the farthest to their mean.
    apart = 2 * float(np.linalg.norm(columns - columns.mean(axis=1, keepdims=True), axis=0).max())
    if columns.shape[1] == 1 or most * apart > _APART * seen.sigma:
        return ""
    return (
        "undetermined: wherever the heat is, the readings are alike but for a tenth of their "
        "noise, so they tell at most how much there is; the places are the estimator's own"
    )
