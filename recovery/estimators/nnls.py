"""Non-negative least squares: the heat that comes nearest to the readings, noise and all.

    minimise  ||A f - y||**2   with  0 <= f <= upper

Source: Lawson and Hanson 1974, chapter 23.

Limits: nothing but the bounds holds the noise back, which is why it is sparse all the same
and never far off the total; its few peaks stand where the noise puts them, and for one source
it is the worst of the sparse estimators. It needs no sigma. Along a line and in a plane alike.

Differs from the source:
1. Heat has a most, `upper`, as it has in the other convex programs here.
"""

from .quadratic import fit
from .record import Estimate, Seen
from .small import estimated, small

NAME = "nnls"


def estimate(seen: Seen) -> Estimate:
    """Return the nearest heat, proved by its duality gap."""
    made = small(seen)
    found = fit(made.operator, made.readings, seen.upper)
    return estimated(seen, made.cells, found.heat, found.status, found.gap)
