"""Every way from a channel's answers to a map, by its name.

`em` and `ems` are the printed method without and with smoothing; how rough their map is depends
on when they stop. `map` brings its own regulariser: the logarithm of the map is smooth, how
smooth and of which order the answers say (`em_map`). `auto` is the map to expect over smooth maps
of three orders and crowded cells on a ground, each by its evidence (`em_average`); where chance
does not explain what it leaves, EM mends it (`em_misfit`), and where it is far off, or a smooth
map's posterior has no factor, it is `em`.

W2 of `auto` over that of the better of EM and EMS, which is known only to who knows the truth, in
tests/bench/bench_maps.py: grids of 5 to 64 cells a side, epsilon 0.7 to 5, 1e3 to 3e5 users.

    crowds                        settings   mean     95th percentile   worst
    held out (13 kinds)           78         0.774    1.107             1.363   (a line)
    recorded people (4 sets)      24         0.899    1.071             1.176
    of `map` alone, held out      78         0.884    1.280             1.877
    of `map` alone, recorded      24         0.910    1.065             1.092

So it is a fifth nearer on the average, and up to a third farther where neither a smooth map nor a
few cells are right, as along lines: EM has no wrong idea of those. On crowds it was made with the
worst is 1.8, roads on 32 x 32 cells at epsilon 1.4.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from .channel import Channel
from .em import NOBODY, Fit, em, gain_of
from .em_average import averaged
from .em_fast import em_fast
from .em_map import most_probable
from .em_misfit import NO_FIT
from .em_misfit import misfit as misfit

Estimator = Callable[[Channel, ArrayLike, float], Fit]


def estimate(name: str, channel: Channel, counts: ArrayLike, epsilon: float) -> Fit:
    """Return the map that the estimator of this name draws.

    Args:
        counts: answers at each place of the outer array, (rows + 2 ry, columns + 2 rx).
        epsilon: of one answer; the printed stopping rule needs it.

    Raises:
        ValueError: no such name, an epsilon that is not positive, or counts that no answers give.
    """
    if name not in ESTIMATORS:
        raise ValueError(
            f"the estimator is {name!r} but must be one of {', '.join(ESTIMATORS)}: nothing else "
            "turns answers into a map. Write auto where it does not matter."
        )
    if not 0 < epsilon < float("inf"):
        raise ValueError(
            f"epsilon is {epsilon:g} but must be positive and finite: the printed method stops by "
            "it. Give the epsilon of one answer."
        )
    return ESTIMATORS[name](channel, counts, epsilon)


def _em(channel: Channel, counts: ArrayLike, epsilon: float) -> Fit:
    return em_fast(channel, counts, gain=gain_of(epsilon))


def _ems(channel: Channel, counts: ArrayLike, epsilon: float) -> Fit:
    return em(channel, counts, gain=gain_of(epsilon, smooth=True), smooth=True)


def _map(channel: Channel, counts: ArrayLike, epsilon: float) -> Fit:
    return most_probable(channel, counts)


def _auto(channel: Channel, counts: ArrayLike, epsilon: float) -> Fit:
    try:
        found = averaged(channel, counts, gain_of(epsilon))
    except np.linalg.LinAlgError:
        why = "expectation maximization alone, for smooth maps could not be weighed in floats"
        return replace(_em(channel, counts, epsilon), why=why)
    off = misfit(channel, counts, found.mass)
    if found.status == NOBODY or off <= NO_FIT:
        return found
    why = (
        "no smooth map and no few crowded cells give these answers: chi-square is "
        f"{off:.0f} of its deviations too large"
    )
    return replace(_em(channel, counts, epsilon), why=why)


ESTIMATORS: dict[str, Estimator] = {"auto": _auto, "em": _em, "ems": _ems, "map": _map}
