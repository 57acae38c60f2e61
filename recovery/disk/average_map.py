"""The map to expect of all that the answers leave possible, each by how probable they make it.

    f = sum over kinds k of chance(k given the answers) f_k

The kinds are smooth maps of the three orders of `smooth_map`, a few crowded cells on an even
ground, and a few on the smooth map (`crowded_map`). Their chances are their evidence, the
probability of the answers under each with all that is free in it integrated out: a lone cell is a
worse fit than the best of smooth maps by some nats, which are noise that the latter had room for,
and it is by its evidence that this is seen. Where kinds agree the mean is as sharp as each, and
where they do not it is between them: for the squared W2 no mean is worse than the mean of its
parts.

The standard deviation has in it what each kind says of itself and how far apart they are, with
the chances of `flatten`.

Differs from what is proven: a mean over kinds is best for the squared distance of shares, not of
places; that it is as good in W2 was measured (`recovery.disk.estimators`).

Source: Hoeting, Madigan, Raftery and Volinsky 1999, equations 1 to 4, for the mean and its
variance; Villani 2009, Theorem 4.8, for W2 of a mean; Miller and Dunson 2019 for doubt.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .channel import Channel
from .crowded_map import Crowded, find_crowded
from .em import NOBODY, OPTIMAL, Fit, check_counts, em_step, even, log_likelihood
from .smooth_map import ORDERS, Posterior, deviations, posterior, scatter

# How badly a map fits its answers, and the map nearest on the way of EM that fits them.
#
# Where a map drawn by what is held beforehand leaves more in the answers than chance does, what is
# held is not quite so: expectation maximisation from there puts in what is lacking, most of it
# where the answers are surest, and is stopped as soon as what is left is no more than chance's.
#
# Source: Morozov 1966, for where to stop (the discrepancy principle).


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
    seen = check_counts(channel, counts)
    return _misfit(channel, seen, channel.forward(np.asarray(mass, dtype=np.float64)))


def mend(channel: Channel, counts: Floats, mass: Floats, gain: float) -> tuple[Floats, int]:
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
        mass = em_step(channel, counts, mass, law)
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


NO_CHANCE = 1e-4  # too little to be worth its deviations
# Deviations of half a square at epsilon 0.7 are 1.7 times too small with it and 6.3 times with 1.
_DOUBT = 1 / 4


class Kind(NamedTuple):
    """One way that the map may be."""

    name: str
    chance: float
    mass: Floats  # (rows, columns)
    found: Posterior | Crowded

    @property
    def variances(self) -> Floats:
        """The mean square by which each share may be off, (rows, columns), if it is this kind."""
        if isinstance(self.found, Crowded):
            return self.found.variances
        return np.square(deviations(self.found))


def average(channel: Channel, counts: ArrayLike, gain: float) -> Fit:
    """Return the map to expect, with its standard deviations.

    Args:
        counts: answers at each place of the outer array, (rows + 2 ry, columns + 2 rx).
        gain: in nats; a map that does not fit is mended by EM, at most until a step gains less.

    Raises:
        ValueError: counts that no answers give.
        LinAlgError: a smooth map's posterior has no factor in floats.
    """
    seen = check_counts(channel, counts)
    if not seen.any():
        return Fit(even(channel), 0.0, 0, NOBODY)
    found = kinds(channel, seen)
    expected = mean(found)
    before, walked = mend(channel, seen, expected, gain)
    law = channel.forward(before)
    mass = em_step(channel, seen, before, law)
    total = scatter(channel, seen, before, law) + np.square(before - expected)
    for kind, chance in zip(found, flatten(found), strict=True):
        if chance > NO_CHANCE:
            total += chance * (kind.variances + np.square(kind.mass - expected))
    told = sorted(found, key=lambda kind: -kind.chance)
    why = ", ".join(f"{kind.name} {kind.chance:.0%}" for kind in told if kind.chance >= 0.005)
    if walked:
        why += f"; {walked} steps of EM, until it fitted"
    steps = walked + sum(one.found.steps for one in found if isinstance(one.found, Posterior))
    worth = log_likelihood(seen, channel.forward(mass))
    return Fit(mass, worth, steps, OPTIMAL, f"by their evidence: {why}", np.sqrt(total))


def kinds(channel: Channel, counts: Floats) -> list[Kind]:
    """Return every way that the map may be, with chances that add to one; there are answers."""
    cells: list[Crowded] = []

    def hoped(first: float) -> float:
        """Return the evidence of crowded cells, which may leave other orders no chance."""
        cells.append(find_crowded(channel, counts, even(channel), first))
        return cells[0].evidence

    best, one_of = posterior(channel, counts, hoped), math.log(len(ORDERS))
    found: list[tuple[str, float, Posterior | Crowded]] = [
        (f"smooth of order {one.order}", one.overall - one_of, one) for one in (best, *best.rivals)
    ]
    few = cells[0]
    found.append((_say(few, "an even ground"), few.evidence, few))
    known = log_likelihood(counts, channel.forward(best.mass))
    rough = find_crowded(channel, counts, best.mass)
    if rough.cells:
        # What the smooth map's own freedom costs is in its evidence, and not in its likelihood.
        worth = rough.evidence - known + best.overall - one_of
        found.append((_say(rough, "a smooth map"), worth, rough))
    most = max(worth for _, worth, _ in found)
    chances = np.exp([worth - most for _, worth, _ in found])
    return [
        Kind(name, float(chance), one.mass, one)
        for (name, _, one), chance in zip(found, chances / chances.sum(), strict=True)
    ]


def flatten(found: list[Kind]) -> Floats:
    """Return the chances of the kinds where none of them need be true, (kinds,).

    Evidence says which is nearest, not that it is right: the best of three wrong ones may have
    all of it. So for the deviations each nat of it counts for a quarter.
    """
    chances = np.array([kind.chance for kind in found]) ** _DOUBT
    return np.asarray(chances / chances.sum())


def mean(found: list[Kind]) -> Floats:
    """Return the sum of the kinds' maps, each times its chance."""
    total = np.zeros_like(found[0].mass)
    for kind in found:
        total += kind.chance * kind.mass
    return total / total.sum()


def _say(found: Crowded, ground: str) -> str:
    count = len(found.cells)
    if not count:
        return ground
    return f"{count} crowded cell{'s' * (count > 1)} on {ground}"
