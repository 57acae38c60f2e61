"""What noise from a table costs more than exact noise: its slack, and what that adds to delta.

A device with many sensors may draw from a table, whose thresholds are rounded. Its noise is
then within a total variation `tau` of the exact law a sample, so n samples are within n tau, and

    P'(x, S) <= P(x, S) + n tau <= exp(epsilon) P(y, S) + delta + n tau
             <= exp(epsilon) P'(y, S) + delta + (1 + exp(epsilon)) n tau

for any two neighbours x and y: the slack counts once for each of them, and for the second as often
as epsilon lets it. All samples count that a promise covers, of every sensor and every reading.
Everything here is in fractions and rounded to the safe side. Noise from a table has no finite
price in zCDP, for it is bounded; prices are added for the exact noise, and delta pays the rest.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Protocol

from . import Ratio

# Weights are known to 2**-_PLACES on either side; what a table holds is far coarser.
_PLACES = 256
_UNIT = 1 << _PLACES


class Thresholds(Protocol):
    """What is asked of an `edge.core.table.Table`."""

    variance: Ratio
    bits: int

    def __len__(self) -> int: ...

    def threshold(self, k: int) -> int: ...


def bound_distance(table: Thresholds) -> Fraction:
    """Return a bound on the total variation of one sample of this very table; nearly tight.

    Half the sum of |p'(k) - p(k)| over all k = |z|, with p between two fractions and p' as the
    thresholds say; the sign is exact and changes nothing.
    """
    count, whole = len(table), 1 << table.bits
    weights = _yield_weight_bounds(*table.variance)
    known = [next(weights) for _ in range(count + 1)]
    beyond = _bound_tail(next(weights), known[-1])
    folded = [(low << bool(k), high << bool(k)) for k, (low, high) in enumerate(known)]
    least = sum(low for low, _ in folded)
    most = sum(high for _, high in folded) + 2 * beyond
    total, before = Fraction(2 * beyond, least), 0
    for k, (low, high) in enumerate(folded):
        upto = table.threshold(k) if k < count else whole
        held = Fraction(upto - before, whole)
        if held < 0:
            raise ValueError(
                f"threshold {k} of a table is below the one before it but must not be: it stands "
                "for the chance of all up to it. The table is spoilt; build it again"
            )
        total += max(held - Fraction(low) / most, Fraction(high, least) - held)
        before = upto
    return total / 2


def bound_exponential(x: Fraction) -> Fraction:
    """Return a fraction that is not below exp(x), for x >= 0, and hardly above it.

    >>> float(bound_exponential(Fraction(1)))
    2.718281828459045
    """
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 1)
    y = x / 2**halvings  # below 1/2
    term = total = Fraction(1)
    for n in range(1, 24):
        term = term * y / n
        total += term
    result = _round_up(total + term, 128)  # all further terms together are less than the last
    for _ in range(halvings):
        result = _round_up(result * result, 128)
    return result


def _round_up(value: Fraction, places: int) -> Fraction:
    return Fraction(-(-(value.numerator << places) // value.denominator), 1 << places)


def _yield_weight_bounds(num: int, den: int) -> Iterator[tuple[int, int]]:
    """Yield bounds of exp(-k**2 den / (2 num)), k = 0, 1, ..., in units of 2**-256."""
    low, high = _bound_decay(Fraction(den, 2 * num))
    step = low * low >> _PLACES, -(-high * high >> _PLACES)
    weight = _UNIT, _UNIT
    while True:
        yield weight
        weight = weight[0] * low >> _PLACES, -(-weight[1] * high >> _PLACES)
        low, high = low * step[0] >> _PLACES, -(-high * step[1] >> _PLACES)


def _bound_decay(x: Fraction) -> tuple[int, int]:
    """Return bounds of exp(-x) for x in [0, 1]: two partial sums of its alternating series."""
    term = upper = Fraction(1)
    n = 0
    while term * _UNIT > 1:
        lower = upper - term * x / (n + 1)
        term = term * x * x / ((n + 1) * (n + 2))
        n += 2
        upper = lower + term
    return int(lower * _UNIT // 1), -int(-upper * _UNIT // 1)


def _bound_tail(first: tuple[int, int], before: tuple[int, int]) -> int:
    """Return a bound on the sum of all weights from this one on: they fall ever faster."""
    return -(-first[1] * before[0] // (before[0] - first[1]))


# How far the noise of an `edge.core.table.Sampler` is from its law: a bound for one sample.
#
# One table is judged by `bound_distance`. The sum x + b y of two exact Gaussians on whole
# numbers, of variances s and t, has at z = x + b y the chance
#
#     exp(-z**2 / 2 (s + b**2 t)) * sum over whole j of exp(-(j - c z)**2 / 2 v),
#     v = s t / (s + b**2 t),  c = b t / (s + b**2 t),
#
# and by Poisson's summation the second factor is the same for all z but for a share of at most
# theta = 2 sum over n >= 1 of exp(-2 pi**2 v n**2). Chances that all lie within 1 - theta and 1 +
# theta of a law are, once they sum to one, within theta / (1 - theta) of it in total variation.
# Sums of samples are no further from sums than the samples are from theirs together.
#
# Source: Micciancio and Walter 2017, "Gaussian Sampling over the Integers", Section 3, for the
# sum; the bound is elementary.

_PI = Fraction(31415, 10000)  # not above pi


class Parts(Protocol):
    """What is asked of an `edge.core.table.Sampler`."""

    variance: Ratio
    parts: Sequence[tuple[int, Thresholds]]


def bound_sampler_distance(sampler: Parts) -> Fraction:
    """Return a bound on the total variation of one sample from the law of its variance.

    Raises:
        ValueError: the parts' variances do not add to the sampler's, or do not mix.
    """
    total = sum((bound_distance(table) for _, table in sampler.parts), Fraction(0))
    held = sum(factor**2 * Fraction(*table.variance) for factor, table in sampler.parts)
    if held != Fraction(*sampler.variance) or sampler.parts[0][0] != 1:
        raise ValueError(
            f"parts of a sampler add to a variance of {held} but the noise is promised to have "
            f"{Fraction(*sampler.variance)}: another noise was planned. Build it with Sampler"
        )
    spread = Fraction(*sampler.parts[0][1].variance)
    for factor, table in sampler.parts[1:]:
        total += bound_mixture(spread, factor, Fraction(*table.variance))
        spread += factor**2 * Fraction(*table.variance)
    return total


def bound_mixture(fine: Fraction, factor: int, coarse: Fraction) -> Fraction:
    """Return a bound on the distance of x + factor y from a Gaussian, x and y being exact.

    Args:
        fine, coarse: the variances of x and of y.

    Raises:
        ValueError: x is too narrow to fill the gaps that factor y leaves.

    >>> float(bound_mixture(Fraction(80), 4, Fraction(151))) < 2**-120
    True
    """
    v = fine * coarse / (fine + factor**2 * coarse)
    if v < 1:
        raise ValueError(
            f"noise of variance {float(fine):g} was to fill gaps of {factor} but needs at least "
            f"{factor**2}: without it some values would hardly come. Build it with Sampler"
        )
    first = _bound_decay_above(2 * _PI**2 * v)
    theta = 2 * first / (1 - first)  # n**2 >= n: no more than a geometric series
    return theta / (1 - theta)


def _bound_decay_above(x: Fraction) -> Fraction:
    """Return a fraction that is not below exp(-x), for x >= 0: one over less than exp(x)."""
    whole = x.numerator // x.denominator
    # exp(1) is above 2.718, and exp(y) not below 1 + y + y**2 / 2.
    rest = x - whole
    return 1 / (Fraction(2718, 1000) ** whole * (1 + rest + rest**2 / 2))
