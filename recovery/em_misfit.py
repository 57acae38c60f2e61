"""How badly a map fits its answers, and the map nearest on the way of EM that fits them.

Where a map drawn by what is held beforehand leaves more in the answers than chance does, what is
held is not quite so: expectation maximisation from there puts in what is lacking, most of it
where the answers are surest, and is stopped as soon as what is left is no more than chance's.

Source: Morozov 1966, for where to stop (the discrepancy principle).
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .channel import Channel
from .em import checked_counts, log_likelihood, stepped

Floats = NDArray[np.float64]

# Standard deviations of chi-square above which EM does better from an even map than from this one.
NO_FIT = 5
# And below which a map is left alone: one in forty that is right is farther off by chance.
_FITS = 2
_STEPS_MAX = 600


def misfit(channel: Channel, counts: ArrayLike, mass: ArrayLike) -> float:
    """Return by how many standard deviations Pearson's chi-square is above its mean.

        sum of (c - n g)**2 / (n g),   mean: k - 1,
        variance: 2 (k - 1) + (sum 1 / g - k**2 - 2 k + 2) / n

    with g the law of the map at k places; exactly, however few the n answers are.

    Source: Haldane 1937, for the variance.
    """
    seen = checked_counts(channel, counts)
    return _misfit(channel, seen, channel.forward(np.asarray(mass, dtype=np.float64)))


def mended(channel: Channel, counts: Floats, mass: Floats, gain: float) -> tuple[Floats, int]:
    """Return the first map that fits on the way of `em` from a map, and the steps to it.

    Args:
        counts: answers at each place of the outer array; there are some.
        mass: (rows, columns), adds to one; it comes back where it fits well enough, and where
            it is more than NO_FIT off.
        gain: in nats; where a step gains less, the way ends too.
    """
    law = channel.forward(mass)
    worth = log_likelihood(counts, law)
    if not _FITS < _misfit(channel, counts, law) <= NO_FIT:
        return mass, 0
    for step in range(_STEPS_MAX):
        if _misfit(channel, counts, law) <= 0:
            return mass, step
        mass = stepped(channel, counts, mass, law)
        law = channel.forward(mass)
        before, worth = worth, log_likelihood(counts, law)
        if worth - before < gain:
            return mass, step + 1
    return mass, _STEPS_MAX


def _misfit(channel: Channel, counts: Floats, law: Floats) -> float:
    """Return that of a map's law."""
    there = law[channel.support]
    expected = float(counts.sum()) * there / there.sum()
    free = len(there) - 1
    if not free or not expected.any():
        return 0.0
    chi_square = float(np.sum((counts[channel.support] - expected) ** 2 / expected))
    count, reports = len(there), float(counts.sum())
    variance = 2 * free + float(np.sum(1 / expected)) - (count**2 + 2 * count - 2) / reports
    # One answer to an even law has no variance, and says nothing.
    return (chi_square - free) / math.sqrt(variance) if variance > 1e-9 * count**2 else 0.0
