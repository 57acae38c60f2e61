"""Every way from a channel's answers to a map, by its name.

`em` and `ems` are the printed method without and with smoothing; how rough their map is depends
on when they stop. `auto` weighs three maps by D, by how many nats the map of `average_map` is
likelier than that of EMS. Where the answers hardly tell a map from smoothed noise, EMS is nearer;
else the other one is, and EM, which has no wrong idea of streets, has a say:

    D < 1: EMS        1 <= D < 5: half of each        D >= 5: 3/4 of the map of evidence, 1/4 EM

The squared W2 of a mean is at most the mean of the squares. Where chance does not explain what the
map of evidence leaves, or a smooth map's posterior has no factor, it is EM's alone.

W2 of `auto` over that of the better of EM and EMS, which is known only to who knows the truth, is
0.89 in the geometric mean over 138 settings (19 crowds, 15 and 32 cells a side, epsilon 0.7 to 5),
1.00 at the 95th percentile and 1.35 at worst: one setting is more than 5 % behind, a nearly even
crowd. The thresholds were set on these; `tests/bench/bench_places.py` has others.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import pdtrik

from ..distance import wasserstein2
from ..sequence import uniforms
from .average_map import NO_FIT, averaged
from .average_map import misfit as misfit
from .channel import Channel, in_blocks
from .em import NOBODY, Fit, em, em_fast, gain_of, log_likelihood

Floats = NDArray[np.float64]
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


def _ems(channel: Channel, counts: ArrayLike, epsilon: float, enough: float = math.inf) -> Fit:
    return em(channel, counts, gain=gain_of(epsilon, smooth=True), smooth=True, enough=enough)


_TOLD, _SURE = 1.0, 5.0  # nats: below, smoothed noise explains the answers as well; above, not


def _auto(channel: Channel, counts: ArrayLike, epsilon: float) -> Fit:
    try:
        found = averaged(channel, counts, gain_of(epsilon))
    except np.linalg.LinAlgError:
        why = "expectation maximization alone, for smooth maps could not be weighed in floats"
        return replace(_em(channel, counts, epsilon), why=why)
    if found.status == NOBODY:
        return found
    off = misfit(channel, counts, found.mass)
    if off > NO_FIT:
        why = (
            "no smooth map and no few crowded cells give these answers: chi-square is "
            f"{off:.0f} of its deviations too large"
        )
        return replace(_em(channel, counts, epsilon), why=why)
    smooth = _ems(channel, counts, epsilon, found.log_likelihood - _SURE)
    ahead = found.log_likelihood - smooth.log_likelihood
    if ahead < _TOLD:
        why = f"smoothed, for no other map is likelier by more than {max(ahead, 0):.1f} nats"
        return replace(smooth, why=why)
    part, other, name = (0.5, smooth, "EMS") if ahead < _SURE else (0.75, None, "EM")
    if other is None:
        other = _em(channel, counts, epsilon)
    mass = part * found.mass + (1 - part) * other.mass
    worth = log_likelihood(np.asarray(counts, dtype=np.float64), channel.forward(mass))
    why = f"{found.why}; with {1 - part:.0%} of the map of {name}"
    return replace(found, mass=mass, log_likelihood=worth, why=why)


ESTIMATORS: dict[str, Estimator] = {"auto": _auto, "em": _em, "ems": _ems}


# How far a map is from the truth, before anybody knows it.
#
# Answers are repeated from two maps on the fixed sequence, the drawn one F, which is smoother than
# the truth and says too little, and EM's E, which is rougher and says too much; on each the same
# estimator is run:
#
#     b_T = mean of W2(its map, the users' shares),   said = sqrt(b_F b_E)
#
# Source: Efron and Tibshirani 1993, Chapter 6, the parametric bootstrap.


_REPETITIONS = 2
_SIDE_MAX = 32  # above, W2 is of sums over squares of cells: it takes minutes else


def expected_w2(
    name: str, channel: Channel, counts: ArrayLike, epsilon: float, mass: ArrayLike
) -> float | None:
    """Return about how far a map is from the truth: W2, in longer sides; None where nobody is.

    Args:
        name: the estimator that drew it.
        mass: (rows, columns), what it drew.
    """
    seen = np.asarray(counts, dtype=np.float64)
    reports = int(seen.sum())
    if not reports:
        return None
    rough = _em(channel, seen, epsilon).mass
    means = []
    for at, truth in enumerate((np.asarray(mass, dtype=np.float64), rough)):
        far = 0.0
        for repetition in range(_REPETITIONS):
            stream = 2 * (at * _REPETITIONS + repetition)
            users = _drawn(reports * truth, stream)
            if not users.sum():
                return None
            again = _drawn(channel.forward(users), stream + 1)
            drawn = estimate(name, channel, again, epsilon).mass
            far += _apart(drawn, users / users.sum()) / _REPETITIONS
        means.append(far)
    return math.sqrt(means[0] * means[1])


def _apart(drawn: Floats, truth: Floats) -> float:
    """Return W2 in longer sides, of sums over squares where there are many cells."""
    side = max(drawn.shape)
    step = math.ceil(side / _SIDE_MAX)
    if step == 1:
        return wasserstein2(drawn, truth, normalise=True)
    return wasserstein2(in_blocks(drawn, step), in_blocks(truth, step), normalise=True)


def _drawn(expected: Floats, stream: int) -> Floats:
    """Return counts that are as spread as answers are: Poisson's, place by place."""
    counts = np.zeros_like(expected)
    some = expected > 0
    chance = uniforms(expected.size, stream=stream).reshape(expected.shape)
    counts[some] = np.maximum(np.ceil(pdtrik(chance[some], expected[some])), 0)
    return counts
