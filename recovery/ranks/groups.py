"""How many places go into a group, and how far from the truth the places come back.

Along the curve, which is 1 long, groups of k of n places with a release of epsilon e err by

    error(n, e, k) = phi(k sqrt(e / n)) / sqrt(n e)

in the mean over places, as long as that is well below 1: noise of scale 1 / (k e) in averages
that are k / n apart, so that phi depends on their ratio alone. phi is the mean of 60 runs of the
mechanism on 100 000 places that lie evenly. It is least, 0.70, from 1.7 to 1.9; clusters take the
place of the least and hardly its height.

    rule    k = 1.74 sqrt(n / e): the least of phi
    paper   the least of equation 7, which takes the noise of k-fold groups for that of one place
            divided by k, and adds what errors of independent signs do not add up to

Several places of one user, m, are as a release of epsilon e / m.

Source: paper 004, Section 5; equations 4 and 7, Table 1.
Differs from the paper: 1. equation 4 is printed upside down, and at n = 10 000 twice the epsilon
divides the error by 1.6, not by 2; 2. Table 1 is worked out anew, 100 to 300 runs an entry: some
entries printed are up to two fifths smaller.
"""

import math

import numpy as np

from ..noise import epsilon_of_report
from .query import Query, count_of

RULE = 1.74
_RATIO = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.3, 1.6, 1.9, 2.2, 2.6, 3.2, 4.0, 6.0)
_PHI = (2.21, 1.78, 1.384, 1.08, 0.9, 0.793, 0.742, 0.712, 0.702, 0.714, 0.757, 0.859, 1.03, 1.503)

TABLE_POINTS = (2_000, 5_000, 10_000, 20_000, 100_000, 180_000)
TABLE_EPSILONS = (0.5, 1.0, 2.0, 3.0)
# Group sizes by points (down) and epsilon: by equation 7, and as printed in Table 1.
TABLE = (
    (40, 31, 25, 21),
    (59, 43, 37, 30),
    (79, 62, 47, 39),
    (103, 84, 62, 54),
    (201, 153, 120, 104),
    (264, 194, 153, 126),
)
PRINTED = (
    (44, 29, 20, 12),
    (59, 37, 27, 18),
    (79, 51, 36, 27),
    (121, 83, 61, 41),
    (234, 150, 98, 73),
    (300, 177, 110, 94),
)


def group_of(query: Query) -> int:
    """Return how many places a group has: the query's own number, or what its rule gives."""
    if query.group is not None:
        return query.group
    by = {"rule": choose_group, "paper": find_paper_group}[query.groups]
    return by(count_of(query), float(epsilon_of_report(query)) / query.points)


def choose_group(count: int, epsilon: float) -> int:
    """Return the size of groups with the least error on places that lie evenly.

    >>> choose_group(10_000, 1.0), choose_group(3, 0.01)
    (174, 1)
    """
    return _bound(RULE * math.sqrt(count / epsilon), count)


def find_paper_group(count: int, epsilon: float) -> int:
    """Return the size that Table 1 gives, between its entries and beyond them as a power law.

    >>> find_paper_group(10_000, 1.0), find_paper_group(180_000, 0.5)
    (62, 264)
    """
    logs = np.log(np.array(TABLE, dtype=np.float64))
    by_epsilon = [
        _interpolate_line(math.log(epsilon), np.log(TABLE_EPSILONS), row) for row in logs
    ]
    found = _interpolate_line(math.log(count), np.log(TABLE_POINTS), np.array(by_epsilon))
    return _bound(math.exp(found), count)


def predict_error(count: int, epsilon: float, group: int) -> float:
    """Return by which part of the curve a place is off, on average; at most 1/4, an even guess's.

    >>> round(predict_error(10_000, 1.0, 174), 4)
    0.0071
    """
    ratio = group * math.sqrt(epsilon / count)
    if ratio <= _RATIO[0]:  # as isotonic regression errs: with the cube root of the ratio
        phi = _PHI[0] * (_RATIO[0] / ratio) ** (1 / 3)
    elif ratio >= _RATIO[-1]:  # the width of a group
        phi = _PHI[-1] * ratio / _RATIO[-1]
    else:
        phi = float(np.exp(np.interp(math.log(ratio), np.log(_RATIO), np.log(_PHI))))
    return min(phi / math.sqrt(count * epsilon), 0.25)


def _bound(size: float, count: int) -> int:
    return max(1, min(round(size), count // 2))


def _interpolate_line(at: float, places: np.ndarray, values: np.ndarray) -> float:
    """Return the value on the line through the two nearest places, also beyond the last."""
    i = int(np.clip(np.searchsorted(places, at), 1, len(places) - 1))
    part = (at - places[i - 1]) / (places[i] - places[i - 1])
    return float(values[i - 1] + part * (values[i] - values[i - 1]))
