"""Every way from a channel's answers to a map, by its name, and how far from the truth it may be.

`em` and `ems` are the printed method without and with smoothing; how rough their map is depends
on when they stop. `auto` weighs three maps by D, by how many nats the smooth map of the most
evidence (`smooth_map`) is likelier than that of EMS. Where the answers hardly tell a map from
smoothed noise, EMS is nearer; else the smooth one is, and EM, which has no wrong idea of streets,
has a say.

    D < 1: EMS      1 <= D < 5: half of each      D >= 5: smooth, with a part of EM,
    a quarter; below epsilon 2 half, and from D = 500 on, where a crowd is in few places, 3/4

The squared W2 of a mean is at most the mean of the squares. Where chance does not explain what the
smooth map leaves, or its posterior has no factor, it is EM's alone.

Limits: whether EM or EMS is the nearer one only the truth tells; W2 of `auto` is .93 of that one's
on average, and 1.05 at the worst, on eight crowds that no rule was set on, of 15 x 15 cells
at four epsilons, five runs each (`python -m tests.bench.bench_places 15 5`).
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, pdtrik

from ..distance import wasserstein2
from ..sequence import uniforms
from .channel import Channel, sum_blocks
from .em import (
    NOBODY,
    OPTIMAL,
    Fit,
    check_counts,
    em_step,
    find_least_gain,
    log_likelihood,
    measure_excess,
    run_em,
    run_em_fast,
)
from .smooth_map import fit_posterior

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


def _estimate_em(channel: Channel, counts: ArrayLike, epsilon: float) -> Fit:
    return run_em_fast(channel, counts, gain=find_least_gain(epsilon))


def _estimate_ems(
    channel: Channel, counts: ArrayLike, epsilon: float, enough: float = math.inf
) -> Fit:
    return run_em(
        channel, counts, gain=find_least_gain(epsilon, smooth=True), smooth=True, enough=enough
    )


_TOLD, _SURE = 1.0, 5.0  # nats: below, smoothed noise explains the answers as well; above, not
_UNEVEN = 500.0  # nats: at small epsilon, where so much is sure, a crowd is in few places
_NO_FIT = 3  # deviations of chi-square: one in 700 that is right is farther off by chance


def _estimate_auto(channel: Channel, counts: ArrayLike, epsilon: float) -> Fit:
    seen = check_counts(channel, counts)
    rough = _estimate_em(channel, seen, epsilon)
    if rough.status == NOBODY:
        return rough
    try:
        found = fit_posterior(channel, seen)
    except np.linalg.LinAlgError:
        why = "expectation maximization alone, for smooth maps could not be weighed in floats"
        return replace(rough, why=why)
    mass = em_step(channel, seen, found.mass, channel.forward(found.mass))
    law = channel.forward(mass)
    off = measure_misfit(channel, seen, law)
    if off > _NO_FIT:
        why = f"no smooth map gives these answers: chi-square is {off:.0f} deviations too large"
        return replace(rough, why=why)
    worth = log_likelihood(seen, law)
    even = _estimate_ems(channel, seen, epsilon, worth - _SURE)
    ahead = worth - even.log_likelihood
    if ahead < _TOLD:
        why = "EMS, smoothed, for it explains the answers as well as the likeliest map does"
        return replace(even, why=why)
    other, name, part = rough, "EM", 0.25 if epsilon >= 2 else 0.5 if ahead < _UNEVEN else 0.75
    if ahead < _SURE:
        other, name, part = even, "EMS", 0.5
    mass = (1 - part) * mass + part * other.mass
    return Fit(
        mass,
        log_likelihood(seen, channel.forward(mass)),
        found.steps + other.steps,
        OPTIMAL,
        f"{1 - part:.0%} a smooth map of order {found.order}, {part:.0%} the map of {name}",
    )


ESTIMATORS: dict[str, Estimator] = {
    "auto": _estimate_auto,
    "em": _estimate_em,
    "ems": _estimate_ems,
}


def measure_misfit(channel: Channel, counts: Floats, law: Floats) -> float:
    """Return by how many of its deviations the chi-square of a map's law is too large."""
    there = law[channel.support]
    expected = float(counts.sum()) * there / there.sum()
    return measure_excess(
        float(np.sum((counts[channel.support] - expected) ** 2 / expected)), expected
    )


# How far a map is from the truth, before anybody knows it.
#
# Answers are repeated from two maps on the fixed sequence, the drawn one F, which is smoother than
# the truth and says too little, and EM's E, which is rougher and says too much; on each the same
# estimator is run:
#
#     said = geometric mean of W2(its map, the users' shares) over both, some times each
#
# Source: Efron and Tibshirani 1993, Chapter 6, the parametric bootstrap.
#
# Where the answers are as good as those of people who are everywhere alike, both maps are noise,
# and whatever they expect of themselves is too little: nothing is said then.


_REPETITIONS = 2
_SIDE_MAX = 32  # above, W2 is of sums over squares of cells: it takes minutes else
# Waves across the room, by which a crowd is told from an even one, and how seldom an even one is
# taken for another.
_WAVES = (0, 1), (1, 0), (1, 1), (0, 2), (2, 0)
_EVEN_PASSES = 0.01


def estimate_w2(
    name: str, channel: Channel, counts: ArrayLike, epsilon: float, mass: ArrayLike
) -> float | None:
    """Return about how far a map is from the truth: W2, in longer sides.

    None where nobody is, or the answers do not tell the crowd from one that is everywhere alike.

    Args:
        name: the estimator that drew it.
        mass: (rows, columns), what it drew.
    """
    seen = check_counts(channel, counts)
    reports = int(seen.sum())
    if not reports or _may_be_even(channel, seen):
        return None
    rough = _estimate_em(channel, seen, epsilon).mass
    far = []
    for stream, truth in enumerate(_REPETITIONS * (np.asarray(mass, dtype=np.float64), rough)):
        users = _draw(reports * truth, 2 * stream)
        if not users.sum():
            return None
        again = _draw(channel.forward(users), 2 * stream + 1)
        far.append(
            _measure_distance(estimate(name, channel, again, epsilon).mass, users / users.sum())
        )
    return float(np.prod(far) ** (1 / len(far)))


def _may_be_even(channel: Channel, seen: Floats) -> bool:
    """Return whether people who are everywhere alike would give such answers, on the whole.

    Source: Neyman 1937, the smooth test: a chi-square of the longest waves alone.
    """
    law = channel.forward(np.full((channel.rows, channel.columns), 1.0))[channel.support]
    expected = law * (seen.sum() / law.sum())
    down, across = ((np.arange(size) + 0.5) / size for size in channel.support.shape)
    waves = [
        np.outer(np.cos(np.pi * k * down), np.cos(np.pi * m * across))[channel.support]
        for k, m in ((0, 0), *_WAVES)
        if k < len(down) and m < len(across)
    ]
    basis, _ = np.linalg.qr(np.sqrt(expected)[:, None] * np.stack(waves, axis=1))
    told = basis[:, 1:].T @ ((seen[channel.support] - expected) / np.sqrt(expected))
    return bool(chdtrc(len(told), float(told @ told)) > _EVEN_PASSES)


def _measure_distance(drawn: Floats, truth: Floats) -> float:
    """Return W2 in longer sides, of sums over squares where there are many cells."""
    side = math.ceil(max(drawn.shape) / _SIDE_MAX)
    return wasserstein2(sum_blocks(drawn, side), sum_blocks(truth, side), normalise=True)


def _draw(expected: Floats, stream: int) -> Floats:
    """Return counts that are as spread as answers are: Poisson's, place by place."""
    counts = np.zeros_like(expected)
    some = expected > 0
    chance = uniforms(expected.size, stream=stream).reshape(expected.shape)
    counts[some] = np.maximum(np.ceil(pdtrik(chance[some], expected[some])), 0)
    return counts
