"""Layer: goodness of fit of every sampler, at widths that cannot be enumerated too.

Draws come from a tape and are held against the formula, written here in floats and once more.
It sees a sampler whose law is off by some per cent, however it came to be so, at the widths
that are really used. It cannot see less than its draws can tell, which each claim states, nor a
tape that the sampler would not get on a device.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import binom, chi2

from edge.core import noise, shares

from ...mechanisms import find
from ..claim import Claim, Effort

# The laws of the samplers in floats, for as many values as anybody will draw.
#
# Written from the formulas once more; `laws` has them in exact bounds, for few values.

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

FAR = 60  # exp(-60) is 1e-26, less than the floats of a law lose


class Law(NamedTuple):
    """Values in order, and the probability of each."""

    values: Whole
    probabilities: Floats


def _scale(values: Whole, logarithms: NDArray[np.floating[Any]]) -> Law:
    weights = np.exp(logarithms - logarithms.max())
    return Law(values, np.asarray(weights / weights.sum(), dtype=np.float64))


def coin(num: int, den: int) -> Law:
    """Return 1 with probability num/den, else 0."""
    return Law(np.array([0, 1]), np.array([1 - num / den, num / den]))


def exp_coin(num: int, den: int) -> Law:
    """Return 1 with probability exp(-num/den), else 0."""
    return Law(np.array([0, 1]), np.array([-math.expm1(-num / den), math.exp(-num / den)]))


def below(n: int) -> Law:
    """Return every number below n as likely."""
    return Law(np.arange(n), np.full(n, 1 / n))


def geometric(num: int, den: int) -> Law:
    """Return k >= 0 in proportion to exp(-k num/den)."""
    values = np.arange(FAR * den // num + 1)
    return _scale(values, -values * (num / den))


def dlaplace(num: int, den: int) -> Law:
    """Return z in proportion to exp(-|z| den/num)."""
    values = np.arange(-FAR * num // den, FAR * num // den + 1)
    return _scale(values, -np.abs(values) * (den / num))


def dgauss(num: int, den: int) -> Law:
    """Return z in proportion to exp(-z**2 den / (2 num))."""
    reach = 12 * math.isqrt(num // den) + 12
    values = np.arange(-reach, reach + 1)
    return _scale(values, np.square(values.astype(np.float64)) * (-den / (2 * num)))


def polya(shares: int, num: int, den: int) -> Law:
    """Return a negative binomial of r = 1/shares: Gamma(k + r) / (Gamma(r) k!) (1 - q)**r q**k."""
    values = np.arange(FAR * den // num + 1)
    logarithms = gammaln(values + 1 / shares) - gammaln(values + 1.0) - values * (num / den)
    return _scale(values, np.asarray(logarithms))


# Where cells end, by the share of draws below: fine in the tails, where a scale shows first.
EDGES = (0.005, 0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.98, 0.995)
# Chi-square's own law is only nearly that of the statistic, so a rarer chance is asked for.
CAUTION = 10


class Case(NamedTuple):
    """A sampler, its arguments, its law, and how many draws are worth their time: quick, full."""

    name: str
    args: tuple[int, ...]
    law: Callable[..., Law]
    draws: tuple[int, int] = (100_000, 400_000)


CASES = (
    Case("below", (11,), below),
    Case("coin", (5, 7), coin),
    Case("exp_coin", (3, 2), exp_coin),
    Case("geometric", (1, 4), geometric),
    Case("geometric", (1, 1000), geometric),
    Case("dlaplace", (7, 3), dlaplace),
    Case("dlaplace", (500, 1), dlaplace),
    Case("dgauss", (9, 2), dgauss),
    Case("dgauss", (10**6, 3), dgauss),
    Case("dgauss", (4_000_000, 1), dgauss),
    Case("polya", (3, 1, 2), polya),
    Case("polya", (10, 1, 20), polya, (10_000, 100_000)),
)


def claims(mechanism: None, effort: Effort) -> Iterator[Claim]:
    """Yield two claims for each sampler at each of its parameters."""
    for case in (*CASES, *_own(effort)):
        tape, count = effort.tape("fit", case.name, case.args), effort.pick(*case.draws)
        home = shares if case.name == "polya" else noise
        sampler: Any = getattr(home, case.name, _uniform)
        drawn = [int(sampler(*case.args, tape)) for _ in range(count)]
        yield from fits(f"{case.name}{case.args}", np.array(drawn), case.law(*case.args), effort)


def _own(effort: Effort) -> list[Case]:
    """Return the noise of an operator's own deployment."""
    own = effort.own
    subject = find(own.mechanism).subject if own else None
    # Others' limits have a variance too, which is a cap and nothing that anybody draws with.
    if subject is None or subject.KIND != "noise":
        return []
    return [Case("dgauss", (own.held[0].variance, 1), dgauss)]


def fits(name: str, drawn: Whole, law: Law, effort: Effort) -> Iterator[Claim]:
    """Yield that draws are as a law says: in all cells together, and in telling sets of values."""
    statistic, cells = _misfit(drawn, law)
    chance = float(chi2.sf(statistic, max(1, cells - 1)))
    yield _likely(
        f"{name}: draws are spread as the formula says", chance, drawn, effort, f"{cells} cells"
    )
    tails = list(_tails(drawn, law))
    least, where = min(tails)
    chance = min(1.0, 2 * len(tails) * least)
    words = f"{name}: large, small, even and zero draws come as often as the formula says"
    where = f"least likely of {len(tails)}: {where}"
    yield _likely(words, chance, drawn, effort, where, exact=True)


def _uniform(n: int, rng: Any) -> int:
    return int(rng.below(n))


def _likely(
    words: str, chance: float, drawn: Whole, effort: Effort, detail: str, exact: bool = False
) -> Claim:
    least = effort.alpha if exact else effort.alpha / CAUTION
    return Claim(
        words,
        claimed=-math.log10(least),
        measured=abs(math.log10(max(chance, 1e-300))),
        fits=chance >= least,
        unit="-log10 p",
        samples=len(drawn),
        alpha=effort.alpha,
        detail=detail,
    )


def _misfit(drawn: Whole, law: Law) -> tuple[float, int]:
    """Return Pearson's statistic and how many cells it was taken over."""
    below = np.cumsum(law.probabilities)
    ends = sorted({int(np.searchsorted(below, edge)) for edge in EDGES})
    limits = law.values[[end for end in ends if below[end] < 1 - 1e-3]]
    shares = np.diff([0.0, *below[[end for end in ends if below[end] < 1 - 1e-3]], 1.0])
    # Beyond the last limit is one more cell, and a value of no law lands in one of the ends.
    seen = np.bincount(np.searchsorted(limits, drawn), minlength=len(limits) + 1)
    expected = shares * len(drawn)
    return float((np.square(seen - expected) / expected).sum()), len(seen)


def _tails(drawn: Whole, law: Law) -> Iterator[tuple[float, str]]:
    """Yield, for sets of values, how rare so many or so few draws in it are, exactly."""
    values, shares = law.values, law.probabilities
    below = np.cumsum(shares)
    cuts = {int(values[np.searchsorted(below, edge)]) for edge in (0.02, 0.1, 0.25, 0.5, 0.75)}
    far = max(1, int(math.sqrt(float(shares @ np.square(values.astype(float))))))
    sets: list[tuple[str, Callable[[Whole], Any]]] = [
        *((f"at most {cut}", lambda z, cut=cut: z <= cut) for cut in sorted(cuts)),
        *(
            (f"at least {k} away from 0", lambda z, k=k: np.abs(z) >= k)
            for k in sorted({max(1, far // 2), far, 2 * far})
        ),
        ("even", lambda z: z % 2 == 0),
        ("0", lambda z: z == 0),
        ("outside of the law", lambda z: (z < values[0]) | (z > values[-1])),
    ]
    for words, inside in sets:
        p = float(shares[inside(values)].sum())
        yield _rare(int(inside(drawn).sum()), len(drawn), p), words
    middle = values[np.searchsorted(below, 0.5)]
    both = (drawn[0::2][: len(drawn) // 2] > middle) & (drawn[1::2] > middle)
    p = float(shares[values > middle].sum()) ** 2
    yield _rare(int(both.sum()), len(both), p), "two in a row above the middle"


def _rare(seen: int, draws: int, p: float) -> float:
    """Return how likely so many or more are, or so few or fewer, whichever is rarer."""
    p = min(1.0, max(0.0, p))
    if p < 1e-12:  # what the floats of the law have left out
        p = 1e-12
    return float(min(binom.cdf(seen, draws, p), binom.sf(seen - 1, draws, p)))
