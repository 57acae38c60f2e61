"""Bregman iteration for the least heat: a dear lasso again and again, what it left out added back.

    f = least of ||A f - y_k||**2 / 2 + price sum(f)  with  0 <= f <= upper
    y_(k+1) = y_k + (y - A f)

until ||A f - y|| <= sigma sqrt(sensors). Heat that is dear is shrunk, and what is added back
undoes the shrinking: at the stop sources have nearly the warmth that they have.

Source: Osher, Burger, Goldfarb, Xu and Yin 2005; for heat sources, Li, Osher and Tsai 2014,
which is how Gilbert and McMillan 2017 solve their program.

Limits: it ends about where "l1-printed" does, after a dozen lassos where that takes one
program, and with its radius: where no heat lies within it, the nearest. It is here because it
is how the paper's figures were made. Along a line and in a plane alike.

Differs from the source:
1. Each lasso is solved exactly, not by coordinate descent with a refit.
2. Heat has a most, `upper`.
"""

import math

import numpy as np

from .quadratic import fit
from .record import Estimate, Seen
from .small import estimated, small

NAME = "bregman"

# The price, in prices of the lasso: dear enough for a dozen solves, where one ends too far in.
_DEAR = 20.0
_SOLVES = 200


def estimate(seen: Seen) -> Estimate:
    """Return the first heat of the iteration that lies within the printed radius."""
    made = small(seen)
    radius = seen.sigma * math.sqrt(len(seen.readings))
    if float(np.linalg.norm(seen.readings)) <= radius:
        return estimated(seen, made.cells, np.zeros(len(made.cells)))
    nearest = fit(made.operator, made.readings, seen.upper)
    if math.hypot(nearest.residual, made.beyond) > radius:
        status = f"infeasible: no heat lies within the radius {radius:.4g}, this comes nearest"
        return estimated(seen, made.cells, nearest.heat, status)
    price = _DEAR * seen.sigma * float(np.linalg.norm(made.operator, axis=0).max())
    target, status = made.readings, f"inaccurate: not within the radius after {_SOLVES} solves"
    for _ in range(_SOLVES):
        found = fit(made.operator, target, seen.upper, price)
        left = made.readings - made.operator @ found.heat
        if math.hypot(float(np.linalg.norm(left)), made.beyond) <= radius:
            status = found.status
            break
        target = target + left
    return estimated(seen, made.cells, found.heat, status)
