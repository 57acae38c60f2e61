"""The likeliest scene of all: maximum a posteriori over sets of sources.

    maximise over sets S and powers w   -||A_S w - y||**2 / (2 sigma**2) + log prior(S, w)

With equal powers the best set is found exactly where that takes a second at most, which along
a hundred cells is up to four sources and in 400 cells three; beyond by exchanging any two
sources for any others until nothing is gained. With a range of powers they are fitted within
it, and any two sources exchanged for any others while the rest keep theirs. Numbers of sources
are weighed by their prior and, for powers, by Laplace's approximation of what fits besides.

Source: Cox and Hinkley 1974, section 11.7; Land and Doig 1960 for branch and bound.

Limits: the likeliest scene is not the nearest one on average. In much noise, with three sources
or more, it is off by half as much again as the posterior's median; in little noise both agree.
Along a line and in a plane alike.

Differs from the source:
1. Where it is not known whether powers are equal they are taken to lie within the range.
"""

from math import comb, log

import numpy as np
from numpy.typing import NDArray

from .best_set import affordable, exact, exchanged
from .moments import lows
from .ranged import ranged
from .record import Estimate, Seen
from .small import Small, estimated, small

NAME = "map"

Floats = NDArray[np.float64]

# The cells' products are kept for all pairs, so there is an end to how many there can be.
_CELLS_MAX = 4096


def estimate(seen: Seen) -> Estimate:
    """Return the sources of the likeliest scene.

    Raises:
        ValueError: more than 4096 cells are open.
    """
    made = small(seen)
    cells = len(made.cells)
    if cells > _CELLS_MAX:
        raise ValueError(
            f"{cells} cells are open but at most {_CELLS_MAX} can be searched: every two of them "
            "are weighed. Make cells larger, close some, or take 'lasso'."
        )
    scaled = Small(made.operator / seen.sigma, made.readings / seen.sigma, made.beyond, made.cells)
    best, most = np.zeros(cells), -np.inf
    exactly = True
    for number in range(seen.prior.fewest, min(seen.prior.most, cells) + 1):
        heat, weight, proved = scene(scaled, number, lows(seen.prior)[-1], seen.prior.warmest)
        exactly &= proved
        if weight > most:
            best, most = heat, weight
    found = "optimal" if exactly else "inaccurate: no exchange of sources betters it, no more"
    return estimated(seen, made.cells, best, found)


def scene(made: Small, number: int, low: float, high: float) -> tuple[Floats, float, bool]:
    """Return the likeliest scene of so many sources, the logarithm of its weight, and its proof.

    Args:
        made: operator and readings in units of the noise.
        number: of sources. low, high: heat of each.
    """
    cells = len(made.cells)
    ways = log(comb(cells, number))
    heat = np.zeros(cells)
    if number == 0:
        return heat, -float(made.readings @ made.readings) / 2, True
    cross = made.operator.T @ made.operator
    pull = made.readings @ made.operator
    if low == high:
        gains = high * pull - high**2 / 2 * np.diag(cross)
        proved = affordable(cells, number)
        search = exact if proved else exchanged
        heat[list(search(gains, high**2 * cross, number))] = high
        return heat, _likelihood(made, heat) - ways, proved
    chosen, powers = ranged(made.operator, made.readings, number, low, high)
    heat[chosen] = powers
    # Laplace: about how much of the range of powers fits nearly as well.
    _, logarithm = np.linalg.slogdet(cross[np.ix_(chosen, chosen)] / (2 * np.pi))
    share = min(0.0, -float(logarithm) / 2 - number * float(np.log(high - low)))
    return heat, _likelihood(made, heat) - ways + share, False


def _likelihood(made: Small, heat: Floats) -> float:
    left = made.readings - made.operator @ heat
    return -float(left @ left) / 2
