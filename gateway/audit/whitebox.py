"""What the noise of frames is, once what was read is taken off: its size, its law, its company.

The audit knows the readings, so it sees the noise itself, and far smaller faults than anybody
outside could. Each claim is about noise that was promised to be independent discrete Gaussians
of one sigma, and fails by bad luck with chance alpha at most.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from .certificate import Between, Floats, misfit, product, variance
from .claim import Claim

CELLS = 40  # of the goodness of fit, fewer where there are few draws
_LEAST = 1e-9  # of the promised variance: noise that is not there has no ratio


def claims(name: str, noise: Floats, sigma: float, alpha: float) -> Iterator[Claim]:
    """Yield what is to be said of noise.

    Args:
        name: of the room, for the sentences.
        noise: (boots, tries, sensors), in grains, an even number of boots.
        sigma: what was promised, in grains.
    """
    unit = noise / sigma
    flat = unit.reshape(-1, unit.shape[2])
    yield from _size(name, flat, alpha)
    yield _law(name, flat, alpha, sigma)
    yield _tails(name, flat, alpha)
    pairs = [(i, j) for i in range(flat.shape[1]) for j in range(i)]
    if pairs:
        each = alpha / len(pairs)
        found = [(product(flat[:, i], flat[:, j], each), f"{j} and {i}") for i, j in pairs]
        yield _alone(f"{name}: no two sensors share noise", found, flat.size, alpha)
    pairs_of_rounds = flat[: len(flat) // 2 * 2]
    lagged = product(pairs_of_rounds[0::2], pairs_of_rounds[1::2], alpha)
    sentence = f"{name}: no round's noise is that of the one before"
    yield _alone(sentence, [(lagged, "")], flat.size, alpha)
    again = product(unit[0::2], unit[1::2], alpha)
    sentence = f"{name}: no boot's noise is that of the one before"
    yield _alone(sentence, [(again, "")], flat.size, alpha)


def _size(name: str, unit: Floats, alpha: float) -> Iterator[Claim]:
    whole = variance(unit, alpha)
    yield _ratio(
        f"{name}: the noise is no smaller than promised", whole.found, whole.high, unit.size, alpha
    )
    yield Claim(
        f"{name}: the noise is no larger than promised, so that nothing is wasted",
        1.0,
        whole.found,
        whole.low <= 1,
        whole.low,
        "variance found / promised",
        unit.size,
        alpha,
    )
    each = [variance(column, alpha / unit.shape[1]) for column in unit.T]
    least = int(np.argmin([sensor.found for sensor in each]))
    yield _ratio(
        f"{name}: every sensor has noise of its own",
        each[least].found,
        each[least].high,
        unit.size,
        alpha,
        f"least on sensor {least}",
    )
    # What all sensors share adds up here, where single pairs of them hide it.
    sums = variance(unit.sum(axis=1) / np.sqrt(unit.shape[1]), alpha / 2)
    yield Claim(
        f"{name}: the sum over all sensors is as noisy as promised, neither less nor more",
        1.0,
        max(sums.found, 1 / max(sums.found, _LEAST)),
        sums.low <= 1 <= sums.high,
        max(sums.low, 1 / max(sums.high, _LEAST)),
        "variance found / promised, or the inverse",
        len(unit),
        alpha,
    )


def _ratio(
    sentence: str, found: float, high: float, samples: int, alpha: float, detail: str = ""
) -> Claim:
    """Return the claim that a variance, promised to be 1, is not less."""
    return Claim(
        sentence,
        1.0,
        1 / max(found, _LEAST),
        high >= 1,
        1 / max(high, _LEAST),
        "variance promised / found",
        samples,
        alpha,
        detail,
    )


def _law(name: str, unit: Floats, alpha: float, sigma: float) -> Claim:
    chance, cells = misfit(unit * sigma, sigma, min(CELLS, max(unit.size // 50, 4)))
    return Claim(
        f"{name}: the noise has the law of the discrete Gaussian",
        -float(np.log10(alpha)),
        -float(np.log10(max(chance, 1e-300))),
        chance >= alpha,
        unit="-log10 p",
        samples=unit.size,
        alpha=alpha,
        detail=f"chi-square over {cells} cells",
    )


def _tails(name: str, unit: Floats, alpha: float) -> Claim:
    """Return the claim on how often noise is large: a tail that is cut off hides nothing there.

    Each count beyond a bound is binomial. The last bound is one that some thirty should pass.
    """
    far = float(-ndtri(15 / unit.size))
    bounds = [far * part / 4 for part in (2, 3, 4)]
    chances = []
    for bound in bounds:
        tail, seen = 2 * float(ndtr(-bound)), int((np.abs(unit) > bound).sum())
        rare = min(binom.cdf(seen, unit.size, tail), binom.sf(seen - 1, unit.size, tail))
        chances.append(2 * len(bounds) * float(rare))
    worst = min(chances)
    return Claim(
        f"{name}: noise is large as often as promised",
        -float(np.log10(alpha)),
        -float(np.log10(min(max(worst, 1e-300), 1.0))),
        worst >= alpha,
        unit="-log10 p",
        samples=unit.size,
        alpha=alpha,
        detail=f"up to {far:.2f} standard deviations",
    )


def _alone(sentence: str, found: list[tuple[Between, str]], samples: int, alpha: float) -> Claim:
    """Return the claim that correlations, none promised, are none as far as can be told."""
    worst, where = max(found, key=lambda pair: abs(pair[0].found))
    proven = max(worst.low, -worst.high, 0.0)
    return Claim(
        sentence,
        0.0,
        abs(worst.found),
        proven <= 0,
        proven,
        "correlation",
        samples,
        alpha,
        f"most between {where}" if where else "",
    )
