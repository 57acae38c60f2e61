"""What samples prove about noise: bounds that hold but for a stated chance.

Two scenes whose readings are mu standard deviations apart can be told apart with hit rates that
Gaussian noise fixes: Phi(mu / 2) on both sides at the middle cut. The hit rates that are counted
bound the true ones (Clopper and Pearson 1934, exact for every count), and so bound mu from both
sides, whatever the noise is: what lets more hits through is not the noise that was promised.

No sample chooses the cut or the direction that it is judged by: those are learnt on others.

Source: Nasr and others 2023, "Tight Auditing of Differentially Private Machine Learning",
Section 4, for mu from hit rates; Bichsel and others 2021 for splitting the samples.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import beta, chi2

Floats = NDArray[np.float64]

_FEW = 20  # expected counts below this are pooled, where chi-square is not yet its limit
_RIDGE = 1e-9  # of the mean variance: a sensor without noise must not stop the solver


class Between(NamedTuple):
    """A number that was estimated, and what it lies between but for the chance asked for."""

    low: float
    found: float
    high: float


def rate(hits: int, tries: int, alpha: float) -> Between:
    """Return the bounds of a hit rate; each side fails with chance alpha at most."""
    low = float(beta.ppf(alpha, hits, tries - hits + 1)) if hits else 0.0
    high = float(beta.isf(alpha, hits + 1, tries - hits)) if hits < tries else 1.0
    return Between(low, hits / tries, high)


def apart(below: Floats, above: Floats, cut: float, alpha: float) -> Between:
    """Return how many sigmas of Gaussian noise two samples of scores are apart.

    Args:
        below, above: scores of the two scenes; the second is to lie above the cut.
        cut: fixed without looking at these scores.
        alpha: the chance that the true number lies beyond either bound, for each bound.
    """
    hits = rate(int((above > cut).sum()), len(above), alpha / 2)
    rests = rate(int((below <= cut).sum()), len(below), alpha / 2)
    return Between(*(float(ndtri(hits[i]) + ndtri(rests[i])) for i in range(3)))


def variance(noise: Floats, alpha: float) -> Between:
    """Return the variance of Gaussian noise around nought; each bound fails with chance alpha.

    Source: the sum of n squares over the variance has the chi-square law of n freedoms, for the
    discrete Gaussian of a hundred grains and more to better than one in a million.
    """
    total, count = float(np.square(noise).sum()), noise.size
    return Between(
        total / float(chi2.isf(alpha, count)),
        total / count,
        total / float(chi2.ppf(alpha, count)),
    )


def product(one: Floats, other: Floats, alpha: float) -> Between:
    """Return the correlation of two samples of noise around nought, of sigma 1.

    Without correlation it is found beyond 0 with chance alpha at most, both sides together: for
    independent x and y, E exp(s x y) = (1 - s**2)**(-1/2), at most exp(s**2 / (2 - 2 s)), so that
    the mean of n products passes t with chance exp(-n t**2 / (2 + 2 t)) at most.

    Source: Boucheron, Lugosi and Massart 2013, Section 2.4, for sub-gamma variables.
    """
    count = one.size
    found = float((one * other).sum()) / count
    log = -np.log(alpha / 2)
    slack = float((log + np.sqrt(log * log + 2 * log * count)) / count)
    return Between(found - slack, found, found + slack)


def learnt(below: Floats, above: Floats) -> tuple[Floats, float]:
    """Return the direction, and the cut, that tell two samples (tries, sensors) apart best.

    Source: Fisher 1936, the linear discriminant.
    """
    centred = np.concatenate([below - below.mean(axis=0), above - above.mean(axis=0)])
    spread = centred.T @ centred / len(centred)
    spread += np.eye(len(spread)) * (_RIDGE * float(np.trace(spread)) / len(spread) + 1e-300)
    direction = np.linalg.solve(spread, above.mean(axis=0) - below.mean(axis=0))
    middle = (above.mean(axis=0) + below.mean(axis=0)) / 2
    return direction, float(direction @ middle)


def misfit(noise: Floats, sigma: float, cells: int) -> tuple[float, int]:
    """Return the p-value of noise under the discrete Gaussian, and how many cells were counted.

    Pearson's chi-square over cells of about equal chance, and of less towards the tails. For sigma
    of a hundred and more the chance of a whole number is that of the unit interval around it to
    one part in 10**5 of it.
    """
    tails = np.array([_FEW + 5, 4 * _FEW, 16 * _FEW]) / noise.size  # a capped tail gives away much
    tails = tails[tails <= 1 / cells - _FEW / noise.size]
    ladder = np.concatenate([np.arange(1, cells) / cells, tails, 1 - tails])
    edges = np.unique(np.floor(ndtri(np.sort(ladder)) * sigma)) + 0.5
    chances = np.diff(ndtr(np.concatenate([[-np.inf], edges / sigma, [np.inf]])))
    seen = np.bincount(np.searchsorted(edges, noise.ravel()), minlength=len(chances))
    expected = chances * noise.size
    if expected.min() < _FEW:
        raise ValueError(
            f"{noise.size} draws in {len(chances)} cells leave {expected.min():.1f} in one, but "
            f"{_FEW} are needed, or the law of the test is not known. Draw more"
        )
    statistic = float((np.square(seen - expected) / expected).sum())
    return float(chi2.sf(statistic, len(chances) - 1)), len(chances)
