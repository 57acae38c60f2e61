"""The posterior of the sources at one physics, and what those of many physics come to.

Exact where all sets of sources can be weighed, and draws of it elsewhere: of more sources, or of
sources that are not equally warm.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..estimators.posterior import along_a_line, countable, in_a_plane
from ..estimators.record import Estimate, Seen
from .chain import sample_posterior
from .draws import Draws, from_draws
from .enumerate import Exact, Scores, exact_posterior, scores
from .listed import Listed, listed
from .possible_curves import CURVES, possible_curves

Floats = NDArray[np.float64]

_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Conditional:
    """What the readings say of the sources if the physics is this.

    Args:
        log_evidence: logarithm of the readings' density over that without any source.
        heat: the mean of the posterior, (cells,).
        posterior: along a line its sums, in a plane every set; or draws of it.
        decided: what decided between the sets, where they were all weighed.
    """

    log_evidence: float
    heat: Floats
    posterior: Exact | Listed | Draws
    decided: Scores | None = None


def conditional(seen: Seen) -> Conditional:
    """Return the posterior of the sources, with the operator and the noise as they are given.

    Raises:
        ValueError: there are too many cells or sources for either way.
    """
    prior, cells = seen.prior, seen.operator.shape[1]
    if countable(seen):
        found = scores(seen.operator, seen.readings, seen.sigma, prior.warmest)
        if seen.places.shape[1] == 1:
            exact = exact_posterior(found, prior.fewest, prior.most, seen.open)
            return Conditional(exact.log_evidence, exact.present * prior.warmest, exact, found)
        every = listed(found, prior.fewest, prior.most, seen.open)
        return Conditional(every.log_evidence, every.present(cells) * prior.warmest, every)
    draws = sample_posterior(seen)
    there = draws.cells >= 0
    heat = np.bincount(draws.cells[there], draws.powers[there], cells)
    nothing = -float(np.square(seen.readings / seen.sigma).sum()) / 2
    return Conditional(draws.log_evidence - nothing, heat / len(draws.cells), draws)


def together(seen: Seen, parts: list[Conditional], chances: Floats) -> Estimate:
    """Return the map of least expected distance, each part being true with its chance.

    Args:
        seen: with the operator and the readings that the residual is of.
        parts: at some physics each, of the same cells and prior.
        chances: (parts,), adding to 1.
    """
    exact = [part.posterior for part in parts if isinstance(part.posterior, Exact)]
    every = [part.posterior for part in parts if isinstance(part.posterior, Listed)]
    draws = [part.posterior for part in parts if isinstance(part.posterior, Draws)]
    if draws:
        return from_draws(seen, pooled(draws, chances))
    if every:
        # All of them list the same sets in the same order.
        mean = np.asarray(chances @ np.array([part.chances for part in every]))
        return in_a_plane(seen, replace(every[0], chances=mean))
    return along_a_line(seen, mixed(exact, chances), curves(seen, parts, chances))


def curves(seen: Seen, parts: list[Conditional], chances: Floats) -> Floats:
    """Return cumulative shares that stand for all parts, (curves, cells), along a line.

    Of each part so many as its chance deserves, among scenes with a source.
    """
    some = chances * [1 - part.posterior.numbers[0] for part in parts]
    counts = np.diff(np.rint(np.cumsum(some) / max(some.sum(), 1e-300) * CURVES), prepend=0)
    made = [
        possible_curves(part.decided, part.posterior, seen.open, int(count), turn * _GOLDEN % 1)
        for turn, (part, count) in enumerate(zip(parts, counts, strict=True), 1)
        if count and isinstance(part.posterior, Exact) and part.decided is not None
    ]
    return np.vstack(made) if made else np.zeros((0, seen.operator.shape[1]))


def mixed(parts: list[Exact], chances: Floats) -> Exact:
    """Return the posterior that has each of the others with its chance."""
    numbers = np.asarray(chances @ np.array([part.numbers for part in parts]))
    orders = []
    for number, chance in enumerate(numbers):
        shares = [part.numbers[number] for part in parts] * chances
        order = np.tensordot(shares, np.array([part.orders[number] for part in parts]), 1)
        orders.append(order / chance if chance > 0 else order)
    return replace(parts[0], numbers=numbers, orders=tuple(orders))


def pooled(parts: list[Draws], chances: Floats) -> Draws:
    """Return draws of all parts, so many of each as its chance deserves, none of them twice."""
    count = min(
        len(part.cells) / max(chance, 1e-9) for part, chance in zip(parts, chances, strict=True)
    )
    ends = np.floor(np.cumsum(chances) * count + 1e-9).astype(int)
    cells, powers = [], []
    for part, many in zip(parts, np.diff(ends, prepend=0), strict=True):
        taken = np.linspace(0, len(part.cells), many, endpoint=False).astype(int)
        cells.append(part.cells[taken])
        powers.append(part.powers[taken])
    return replace(parts[0], cells=np.concatenate(cells), powers=np.concatenate(powers))
