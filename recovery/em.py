"""The map most likely to have given the answers, by expectation maximisation, as it is printed.

Each step divides every answer among the cells that may have given it, in proportion:

    g = forward(f);   f <- f adjoint(counts / g) / n

which never lowers the log-likelihood sum counts ln g. Stopping is part of the estimate: the
very maximum is rough, because fine detail is not in the answers but in their noise. With
`smooth` each step is followed by (1, 2, 1) / 4 along both axes, edges repeated (EMS).

Differs from the paper:
  1. Its channel is a matrix; ours a convolution (`recovery.channel`), with the same numbers.
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
    sd: Floats | None = None  # (rows, columns), where the method knows it; else None


def em(
    channel: Channel,
    counts: ArrayLike,
    *,
    gain: float,
    smooth: bool = False,
    steps_max: int = 10_000,
    start: ArrayLike | None = None,
) -> Fit:
    """Return the map at which a step gains less log-likelihood than `gain`.

    Args:
        counts: answers at each place of the outer array, (rows + 2 ry, columns + 2 rx).
        gain: in nats over all answers; see `gain_of`.
        smooth: EMS instead of EM. Its likelihood may fall, which ends it too.
        steps_max: it stops there and says so.
        start: (rows, columns), where it begins; even if None. Cells with nothing stay so.

    Raises:
        ValueError: counts that no answers give, or a start that is no map.
    """
    seen = checked_counts(channel, counts)
    mass = even(channel) if start is None else checked_start(channel, start)
    reports = float(seen.sum())
    if not reports:
        return Fit(mass, 0.0, 0, NOBODY)
    law = channel.forward(mass)
    worth = log_likelihood(seen, law)
    for step in range(1, steps_max + 1):
        mass = stepped(channel, seen, mass, law)
        if smooth:
            mass = smoothed(mass)
        law = channel.forward(mass)
        before, worth = worth, log_likelihood(seen, law)
        if worth - before < gain:
            return Fit(mass, worth, step, OPTIMAL)
    return Fit(
        mass,
        worth,
        steps_max,
        f"stopped after {steps_max} steps while a step still gained {gain:g} or more",
    )


def gain_of(epsilon: float, smooth: bool = False) -> float:
    """Return the gain below which the printed method stops, in nats.

    Source: Li et al. 2020, Section 5.5; for an epsilon at which it overflows it is infinite.
    """
    return 1e-3 if smooth else 1e-3 * math.exp(min(epsilon, 700.0))


def stepped(channel: Channel, counts: Floats, mass: Floats, law: Floats) -> Floats:
    """Return the map after one step, given its law."""
    ratio = np.divide(counts, law, out=np.zeros_like(law), where=counts > 0)
    after = mass * channel.adjoint(ratio)
    # Where all is exact it adds to the answers' number; a division keeps roundings from growing.
    np.maximum(after, 0.0, out=after)
    after /= after.sum()
    return after


def smoothed(mass: Floats) -> Floats:
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


def even(channel: Channel) -> Floats:
    """Return the map that favours no cell."""
    return np.full((channel.rows, channel.columns), 1 / (channel.rows * channel.columns))


def checked_counts(channel: Channel, counts: ArrayLike) -> Floats:
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


def checked_start(channel: Channel, start: ArrayLike) -> Floats:
    """Return a map to begin with, which adds to one.

    Raises:
        ValueError: another shape, or no mass.
    """
    mass = np.asarray(start, dtype=np.float64)
    shape = (channel.rows, channel.columns)
    if mass.shape == shape and np.isfinite(mass).all() and (mass >= 0).all() and mass.sum() > 0:
        return mass / mass.sum()
    raise ValueError(
        f"the map to start with has shape {mass.shape} and adds to {float(mass.sum()):g} but must "
        f"be {shape}, nowhere negative, and have some mass: a step only moves what is there. "
        "Leave it out to begin with an even map."
    )
