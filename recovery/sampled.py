"""How far the noise of an `edge.sampler.Sampler` is from its law: a bound for one sample.

One table is judged by `tabled.distance`. The sum x + b y of two exact Gaussians on whole numbers,
of variances s and t, has at z = x + b y the chance

    exp(-z**2 / 2 (s + b**2 t)) * sum over whole j of exp(-(j - c z)**2 / 2 v),
    v = s t / (s + b**2 t),  c = b t / (s + b**2 t),

and by Poisson's summation the second factor is the same for all z but for a share of at most
theta = 2 sum over n >= 1 of exp(-2 pi**2 v n**2). Chances that all lie within 1 - theta and
1 + theta of a law are, once they sum to one, within theta / (1 - theta) of it in total variation.
Sums of samples are no further from sums than the samples are from theirs together.

Source: Micciancio and Walter 2017, "Gaussian Sampling over the Integers", Section 3, for the
sum; the bound is elementary.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from .ratio import Ratio
from .tabled import Thresholds, distance

_PI = Fraction(31415, 10000)  # not above pi


class Parts(Protocol):
    """What is asked of an `edge.sampler.Sampler`."""

    variance: Ratio
    parts: Sequence[tuple[int, Thresholds]]


def slack(sampler: Parts) -> Fraction:
    """Return a bound on the total variation of one sample from the law of its variance.

    Raises:
        ValueError: the parts' variances do not add to the sampler's, or do not mix.
    """
    total = sum((distance(table) for _, table in sampler.parts), Fraction(0))
    held = sum(factor**2 * Fraction(*table.variance) for factor, table in sampler.parts)
    if held != Fraction(*sampler.variance) or sampler.parts[0][0] != 1:
        raise ValueError(
            f"parts of a sampler add to a variance of {held} but the noise is promised to have "
            f"{Fraction(*sampler.variance)}: another noise was planned. Build it with edge.sampler"
        )
    spread = Fraction(*sampler.parts[0][1].variance)
    for factor, table in sampler.parts[1:]:
        total += unmixed(spread, factor, Fraction(*table.variance))
        spread += factor**2 * Fraction(*table.variance)
    return total


def unmixed(fine: Fraction, factor: int, coarse: Fraction) -> Fraction:
    """Return a bound on the distance of x + factor y from a Gaussian, x and y being exact.

    Args:
        fine, coarse: the variances of x and of y.

    Raises:
        ValueError: x is too narrow to fill the gaps that factor y leaves.

    >>> float(unmixed(Fraction(80), 4, Fraction(151))) < 2**-120
    True
    """
    v = fine * coarse / (fine + factor**2 * coarse)
    if v < 1:
        raise ValueError(
            f"noise of variance {float(fine):g} was to fill gaps of {factor} but needs at least "
            f"{factor**2}: without it some values would hardly come. Build it with edge.sampler"
        )
    first = _above_zero(2 * _PI**2 * v)
    theta = 2 * first / (1 - first)  # n**2 >= n: no more than a geometric series
    return theta / (1 - theta)


def _above_zero(x: Fraction) -> Fraction:
    """Return a fraction that is not below exp(-x), for x >= 0: one over less than exp(x)."""
    whole = x.numerator // x.denominator
    # exp(1) is above 2.718, and exp(y) not below 1 + y + y**2 / 2.
    rest = x - whole
    return 1 / (Fraction(2718, 1000) ** whole * (1 + rest + rest**2 / 2))
