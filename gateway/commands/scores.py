"""How near a map came to the truth, in the numbers that `play` writes and the demo prints.

Only a simulation has these: in a real room nobody knows the truth.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from recovery.distance import earth_movers, kl, mse, pearson, similarity, wasserstein2

Floats = NDArray[np.float64]
Scores = dict[str, float | None]

# Straight ways between more pairs of cells than this take longer than a play.
_PAIRS_MAX = 2**27

_SCORES: dict[str, Callable[[Floats, Floats], float]] = {
    "emd_l1": lambda truth, mass: earth_movers(truth, mass, "l1"),
    "emd_l2": lambda truth, mass: _straight(truth, mass),
    "w2": wasserstein2,
    "similarity": similarity,
    "pearson": pearson,
    "kl": kl,
    "mse": mse,
}


def scores(truth: Floats, mass: Floats | None) -> Scores:
    """Return every score of a map against the truth; None where it was not computed.

    Args:
        truth: (rows, columns), the heat that there is, of any total above 0.
        mass: (rows, columns), the map, which adds to one; None where there is no map.

    Distances are in units of the map's longer side, the interval; `w2_cells` is in cells.
    """
    if mass is None:
        return dict.fromkeys((*_SCORES, "w2_cells"))
    true_mass = truth / truth.sum()
    found = {name: _number(score, true_mass, mass) for name, score in _SCORES.items()}
    w2 = found["w2"]
    return {**found, "w2_cells": None if w2 is None else w2 * max(truth.shape)}


def data_free(truth: Floats, name: str = "emd_l1") -> float | None:
    """Return a score of a guess that has seen nothing: as much in every cell.

    What a map must beat to be worth anything.

    >>> data_free(np.array([[0.0, 1.0, 0.0, 0.0]]))
    0.25
    """
    uniform = np.full(truth.shape, 1 / truth.size)
    return _number(_SCORES[name], truth / truth.sum(), uniform)


def _straight(truth: Floats, mass: Floats) -> float:
    pairs = int(np.count_nonzero(truth)) * int(np.count_nonzero(mass))
    if min(truth.shape) > 1 and pairs > _PAIRS_MAX:
        raise ValueError(f"{pairs} pairs of cells are too many to wait for")
    return earth_movers(truth, mass, "l2")


def _number(score: Callable[[Floats, Floats], float], truth: Floats, mass: Floats) -> float | None:
    """Return the score, or None where it does not apply: too large a plane, a flat map."""
    try:
        value = float(score(truth, mass))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
