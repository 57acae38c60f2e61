"""The least heat within the printed radius, for reproducing the paper's figures.

    minimise  sum(f)   with  ||A f - y|| <= sigma sqrt(sensors)  and  0 <= f <= upper

Source: Gilbert and McMillan 2017, Algorithm 1.

Limits: those of "l1". The radius leaves out the truth half of the time and every heat in a
third of the runs; then the heat that comes nearest is returned, and its status says so.
"""

import math

from .least_l1 import within
from .record import Estimate, Seen

NAME = "l1-printed"


def estimate(seen: Seen) -> Estimate:
    """Return the least heat within the printed radius, or the nearest."""
    return within(seen, seen.sigma * math.sqrt(len(seen.readings)))
