"""The map most likely to have given the answers, by expectation maximisation, as it is printed.

Each step divides every answer among the cells that may have given it, in proportion:

    g = forward(f);   f <- f adjoint(counts / g) / n

which never lowers the log-likelihood sum counts ln g. Stopping is part of the estimate: the
very maximum is rough, because fine detail is not in the answers but in their noise. With
`smooth` each step is followed by (1, 2, 1) / 4 along both axes, edges repeated (EMS).

Differs from the paper:
  1. Its channel is a matrix; ours a convolution (`recovery.disk.channel`), with the same numbers.
  2. It smooths nowhere; EMS is what its one-dimensional ancestor does (Li et al. 2020).

Source: Du et al. 2024 (paper 003), Section VI and Algorithm 1; Li et al. 2020, Section 5.5, for
the rule: the gain is 1e-3 exp(epsilon), and 1e-3 where it smooths.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .channel import Channel

Floats = NDArray[np.float64]

OPTIMAL = "optimal"
NOBODY = "nobody answered: an even map, which says nothing"


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A map, and how it was come by."""

    mass: Floats  # (rows, columns), not negative, adds to one
    log_likelihood: float  # sum of counts ln g, of this very map
    steps: int  # how often forward and adjoint were both computed
    status: str  # "optimal" where the method's own rule ended it, or a sentence
    why: str = ""  # what was chosen on the way, in words


_LEFT = 10  # times steps and gain: more than the whole way has left


def run_em(
    channel: Channel,
    counts: ArrayLike,
    *,
    gain: float,
    smooth: bool = False,
    steps_max: int = 10_000,
    enough: float = math.inf,
) -> Fit:
    """Return the map at which a step gains less log-likelihood than `gain`.

    Args:
        counts: answers at each place of the outer array, (rows + 2 ry, columns + 2 rx).
        gain: in nats over all answers; see `find_least_gain`.
        smooth: EMS instead of EM. Its likelihood may fall, which ends it too.
        steps_max: it stops there and says so.
        enough: a log-likelihood; where so slow a way cannot come there, it stops and says so.

    Raises:
        ValueError: counts that no answers give.
    """
    seen = check_counts(channel, counts)
    mass = make_even_map(channel)
    reports = float(seen.sum())
    if not reports:
        return Fit(mass, 0.0, 0, NOBODY)
    law = channel.forward(mass)
    worth = log_likelihood(seen, law)
    for step in range(1, steps_max + 1):
        mass = em_step(channel, seen, mass, law)
        if smooth:
            mass = smooth_map(mass)
        law = channel.forward(mass)
        before, worth = worth, log_likelihood(seen, law)
        if worth - before < gain:
            return Fit(mass, worth, step, OPTIMAL)
        # Gains fall like a power of the steps, so what is left is a few times gain times steps.
        if enough < math.inf and worth + _LEFT * step * (worth - before) < enough:
            return Fit(mass, worth, step, f"stopped after {step} steps, too far below {enough:g}")
    return Fit(
        mass,
        worth,
        steps_max,
        f"stopped after {steps_max} steps while a step still gained {gain:g} or more",
    )


def find_least_gain(epsilon: float, smooth: bool = False) -> float:
    """Return the gain below which the printed method stops, in nats.

    Source: Li et al. 2020, Section 5.5; for an epsilon at which it overflows it is infinite.
    """
    return 1e-3 if smooth else 1e-3 * math.exp(min(epsilon, 700.0))


def measure_excess(chi_square: float, expected: Floats, fitted: int = 0) -> float:
    """Return by how many standard deviations Pearson's chi-square is above its mean.

        mean: k - 1 - m,   variance: 2 (k - 1 - m) + (sum 1 / g - k**2 - 2 k + 2) / n

    with g the law at k places and m of its numbers fitted to the answers: where there are none,
    exactly, however few the n answers are.

    Args:
        chi_square: sum of (c - n g)**2 / (n g).
        expected: (k,), n g; positive.
        fitted: m, of a map's shares, which add to one, one less than the cells that it fills.

    Source: Haldane 1937, for the variance.
    """
    count, reports = len(expected), float(expected.sum())
    free = count - 1 - fitted
    variance = 2 * free + float(np.sum(1 / expected)) - (count**2 + 2 * count - 2) / reports
    # One answer to an even law has no variance, and says nothing.
    if not variance > 1e-9 * count**2:
        return 0.0
    return (chi_square - free) / math.sqrt(variance)


def em_step(channel: Channel, counts: Floats, mass: Floats, law: Floats) -> Floats:
    """Return the map after one step, given its law."""
    ratio = np.divide(counts, law, out=np.zeros_like(law), where=counts > 0)
    after = mass * channel.adjoint(ratio)
    # Where all is exact it adds to the answers' number; a division keeps roundings from growing.
    np.maximum(after, 0.0, out=after)
    after /= after.sum()
    return after


def smooth_map(mass: Floats) -> Floats:
    """Return the map after (1, 2, 1) / 4 along both axes, edges repeated: the mass is kept."""
    for axis in (0, 1):
        before = np.roll(mass, 1, axis)
        after = np.roll(mass, -1, axis)
        first = [slice(None), slice(None)]
        last = [slice(None), slice(None)]
        first[axis], last[axis] = slice(0, 1), slice(-1, None)
        before[tuple(first)] = mass[tuple(first)]
        after[tuple(last)] = mass[tuple(last)]
        mass = (before + 2 * mass + after) / 4
    return mass


def log_likelihood(counts: Floats, law: Floats) -> float:
    """Return the sum of counts ln law; places without an answer add nothing."""
    # No log of what is nought: outside the support both are.
    logs = np.log(law, out=np.zeros_like(law), where=counts > 0)
    return float(np.vdot(counts, logs))


def make_even_map(channel: Channel) -> Floats:
    """Return the map that favours no cell."""
    return np.full((channel.rows, channel.columns), 1 / (channel.rows * channel.columns))


def check_counts(channel: Channel, counts: ArrayLike) -> Floats:
    """Return the counts as floats.

    Raises:
        ValueError: another shape, negative or not finite counts, or answers outside the support.
    """
    seen = np.asarray(counts, dtype=np.float64)
    if seen.shape != channel.support.shape:
        raise ValueError(
            f"the counts have shape {seen.shape} but the channel's answers {channel.support.shape}"
            ": another round's counts would give a map of nowhere. Give the counts over the whole "
            "outer array, row by row."
        )
    if not (np.isfinite(seen).all() and (seen >= 0).all()):
        raise ValueError(
            f"the counts lie between {seen.min():g} and {seen.max():g} but must be finite and not "
            "negative: they say how many users answered each place. Give them as they were "
            "released."
        )
    stray = float(seen[~channel.support].sum())
    if stray:
        raise ValueError(
            f"{stray:g} answers lie outside the places that are ever answered but there can be "
            "none: no cell's answer has any chance there. Are they of another round?"
        )
    return seen


# The printed method's own answer in far fewer steps: its path followed as a flow.
#
# In u = ln f a step of expectation maximisation adds F(u) = ln(adjoint(counts / g) / n): it is
# Euler's rule with step one for du/dt = F(u), and the answer is where the path is when a step
# gains little. So the path is followed by a method whose steps may be long, and the rule held as
# printed.
#
# Why long steps are stable: the derivative of F is -M with
#
#     M_ij = f_j sum over o of (c_o / g_o**2) P_oi P_oj / (sum over o of (c_o / g_o) P_oi)
#
# not negative, each row adding to exactly one, and similar to a symmetric positive semidefinite
# matrix: so its eigenvalues lie in [0, 1] at every f, not only near the optimum. A Runge-Kutta-
# Chebyshev method of s evaluations is stable there for steps up to 0.65 s**2: a path of t steps
# costs of the order of sqrt(t) evaluations.
#
# An acceleration to the maximum (SQUAREM) is quicker still, to an answer that is worse: stopping
# is what keeps the map smooth. With a small enough `gain` this one goes to the maximum, too.
#
# Source: Sommeijer, Shampine and Verwer 1998, equations 2.1 to 2.8, for the method.


# Plain steps first: there the path turns too fast for it to matter that they are not a flow.
_PLAIN = 8
# A stretch lasts so much of what has been walked: the path is smooth in the logarithm of t. At
# 0.3 the map is within 3e-4 of the printed method's in total variation, in 7 to 15 times fewer
# evaluations; at 1 it is 0.05 off, and not quicker by a half.
_STRETCH = 0.3
_LOWEST = -700.0


def run_em_fast(
    channel: Channel, counts: ArrayLike, *, gain: float, steps_max: int = 10_000
) -> Fit:
    """Return the map at which a step of `run_em` gains less log-likelihood than `gain`.

    Args:
        counts: answers at each place of the outer array, (rows + 2 ry, columns + 2 rx).
        gain: in nats over all answers; see `em.find_least_gain`.
        steps_max: of the printed method, that is how far the path is followed at most; the
            evaluations, which `steps` of the Fit counts, are fewer.

    Raises:
        ValueError: counts that no answers give.
    """
    seen = check_counts(channel, counts)
    mass = make_even_map(channel)
    if not seen.any():
        return Fit(mass, 0.0, 0, NOBODY)
    law = channel.forward(mass)
    worth = log_likelihood(seen, law)
    spent, walked, trust = 0, 0.0, _STRETCH
    while walked < steps_max:
        # One plain step: it says what a step gains here, which is the rule.
        mass = em_step(channel, seen, mass, law)
        law = channel.forward(mass)
        before, worth = worth, log_likelihood(seen, law)
        spent, walked = spent + 1, walked + 1
        gained = worth - before
        if gained < gain:
            return Fit(mass, worth, spent, OPTIMAL)
        # Gains fall like a power of t between one and three: stop short of where the rule holds.
        ahead = walked * min(trust, 0.7 * (math.sqrt(gained / gain) - 1) if gain > 0 else trust)
        ahead = min(ahead, steps_max - walked)
        if walked < _PLAIN or ahead < 4:
            continue
        tried, evaluations = _step_along_flow(channel, seen, mass, law, ahead)
        tried_law = channel.forward(tried)
        tried_worth = log_likelihood(seen, tried_law)
        spent += evaluations
        if tried_worth < worth:
            # The likelihood never falls: too long a stretch is walked again, shorter.
            trust /= 4
            continue
        mass, law, worth = tried, tried_law, tried_worth
        walked, trust = walked + ahead, min(_STRETCH, 2 * trust)
    told = f"stopped after {steps_max} steps while a step still gained {gain:g} or more"
    return Fit(mass, worth, spent, told)


def _step_along_flow(
    channel: Channel, counts: Floats, mass: Floats, law: Floats, length: float
) -> tuple[Floats, int]:
    """Return the map so many steps further along the flow, and the evaluations it took."""
    stages = max(2, math.ceil(math.sqrt(1 + 1.54 * length)))
    start = np.log(np.maximum(mass, math.exp(_LOWEST)))
    first = length * _compute_slope(channel, counts, law)
    damped = 1 + 2 / 13 / stages**2
    polynomials = _compute_chebyshev(stages, damped)
    ratio = polynomials[stages][1] / polynomials[stages][2]
    b = [p[2] / p[1] ** 2 if p[1] else 0.0 for p in polynomials]
    b[0] = b[1] = b[2]
    older, old = start, start + b[1] * ratio * first
    for j in range(2, stages + 1):
        near, far = 2 * b[j] * damped / b[j - 1], -b[j] / b[j - 2]
        pushed = 2 * b[j] * ratio / b[j - 1]
        back = -(1 - b[j - 1] * polynomials[j - 1][0]) * pushed
        slope = length * _compute_slope(channel, counts, channel.forward(_compute_mass(old)))
        new = (1 - near - far) * start + near * old + far * older + pushed * slope + back * first
        older, old = old, new
    return _compute_mass(old), stages


def _compute_chebyshev(degree: int, at: float) -> list[tuple[float, float, float]]:
    """Return each polynomial up to a degree with its first two derivatives, at one place."""
    found = [(1.0, 0.0, 0.0), (at, 1.0, 0.0)]
    for _ in range(degree - 1):
        (a, da, dda), (b, db, ddb) = found[-2:]
        found.append((2 * at * b - a, 2 * b + 2 * at * db - da, 4 * db + 2 * at * ddb - dda))
    return found


def _compute_slope(channel: Channel, counts: Floats, law: Floats) -> Floats:
    """Return F: by what a step multiplies each share, as a logarithm."""
    ratio = np.divide(counts, law, out=np.zeros_like(law), where=counts > 0)
    factor = channel.adjoint(ratio) / float(counts.sum())
    return np.log(np.maximum(factor, math.exp(_LOWEST)))


def _compute_mass(u: Floats) -> Floats:
    """Return exp(u) divided by its sum, no share so small that it slows the processor."""
    mass = np.exp(np.maximum(u - u.max(), -600.0))
    return mass / mass.sum()
