"""What a table's rounding costs: the bound against the full distance in 80 digits."""

from collections import defaultdict
from fractions import Fraction

import mpmath
import pytest

from edge.core.table import LIMB, Sampler, Table
from recovery.noise.tables import (
    bound_distance,
    bound_exponential,
    bound_mixture,
    bound_sampler_distance,
)

# The sum of two tables: its law in full against the exact one, in 80 digits.

VARIANCES = [(625, 1, 56), (626, 1, 56), (10001, 4, 84), (3333, 1, 84), (80000, 1, 56)]


def law_of(table: Table) -> dict[int, int]:
    """Return how many of all drawn numbers, sign and all, give each value."""
    whole, before, law = 2**table.bits, 0, defaultdict(int)
    for k in range(len(table) + 1):
        upto = table.threshold(k) if k < len(table) else whole
        law[k] += upto - before
        law[-k] += upto - before
        before = upto
    return law


def total_variation(made: Sampler) -> mpmath.mpf:
    """Return the distance from the exact law over all z: whole numbers, then 80 digits."""
    mpmath.mp.dps = 80
    laws, whole = [law_of(table) for _, table in made.parts], 1
    law: dict[int, int] = {0: 1}
    for (factor, table), part in zip(made.parts, laws, strict=True):
        wider: dict[int, int] = defaultdict(int)
        for z, weight in law.items():
            for k, more in part.items():
                wider[z + factor * k] += weight * more
        law, whole = wider, whole * 2 ** (table.bits + 1)
    assert sum(law.values()) == whole
    num, den = made.variance
    last = max(law) + 10
    weights = [mpmath.exp(-mpmath.mpf(z * z * den) / (2 * num)) for z in range(last)]
    over = 2 * mpmath.fsum(weights) - 1
    off = [
        abs(mpmath.mpf(law.get(z, 0)) / whole - weights[abs(z)] / over)
        for z in range(-last + 1, last)
    ]
    return mpmath.fsum(off) / 2


def as_mpf(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize(("num", "den", "bits"), VARIANCES)
def test_the_slack_of_a_sum_is_proven(num: int, den: int, bits: int) -> None:
    """The distance in full, below the bound in fractions, below the one that devices state."""
    made = Sampler(num, den, bits)
    truth, bound, stated = (
        total_variation(made),
        bound_sampler_distance(made),
        Fraction(*made.slack),
    )

    assert 0 < truth <= as_mpf(bound)
    assert bound <= stated <= 10 * bound


@pytest.mark.parametrize("bits", [56, 84, 112])
@pytest.mark.parametrize("variance", [627, 16000, 250000, 1618796, 1 << 24, 1 << 40])
def test_what_devices_state_is_never_too_little(variance: int, bits: int) -> None:
    """Up to the widest, where a law is too long to be summed; the bound in fractions tells."""
    made = Sampler(variance, 1, bits)

    assert (
        bound_sampler_distance(made) <= Fraction(*made.slack) <= 20 * bound_sampler_distance(made)
    )


def test_parts_that_do_not_mix_are_found() -> None:
    """Too narrow a fine part leaves gaps: the full distance sees them, and the bound says so."""
    made = Sampler(3333)
    made.parts = [(1, Table(8)), (5, Table(3333 - 8, 25))]
    truth = total_variation(made)

    assert truth > 1e-4
    with pytest.raises(ValueError, match="gaps"):
        bound_sampler_distance(made)


TABLES = [(1, 1, 56), (9, 2, 56), (2500, 1, 56), (2500, 1, 84), (16000, 1, 56), (1, 1, 84)]


def variation_of_table(made: Table) -> mpmath.mpf:
    """Return the distance of the table's law from the exact one over all z, in 80 digits."""
    mpmath.mp.dps = 80
    num, den = made.variance
    last = len(made) * 2 + 40
    weights = [mpmath.exp(-mpmath.mpf(k * k * den) / (2 * num)) for k in range(last)]
    whole = 2 * mpmath.fsum(weights) - 1
    upto = [made.threshold(k) for k in range(len(made))] + [2**made.bits]
    total = mpmath.mpf(0)
    for k in range(last):
        held = upto[k] - (upto[k - 1] if k else 0) if k < len(upto) else 0
        # k and -k, the sign being exact
        total += abs(mpmath.mpf(held) / 2**made.bits - weights[k] * (2 if k else 1) / whole)
    return total / 2


@pytest.mark.parametrize(("num", "den", "bits"), TABLES)
def test_the_slack_is_proven_and_not_far_off(num: int, den: int, bits: int) -> None:
    """The distance in full, below the bound in fractions, below the one that devices state."""
    made = Table(num, den, bits)
    truth, bound, stated = variation_of_table(made), bound_distance(made), Fraction(*made.slack)

    assert truth <= as_mpf(bound) <= 1.1 * truth  # what lies beyond is bounded, not summed
    assert bound <= stated <= 10 * bound


def spoilt(made: Table, k: int, by: int) -> Table:
    """Return the table with its k-th threshold moved by so many digits of the lowest limb."""
    made.thresholds[k * (made.bits // LIMB)] += by
    return made


@pytest.mark.parametrize("k", [0, 10, 200])
def test_one_threshold_off_is_found(k: int) -> None:
    """By a two-thousandth of a billionth, which no sample would ever show."""
    made = spoilt(Table(2500), k, 1000 if Table(2500).thresholds[2 * k] < 2**27 else -1000)

    assert bound_distance(made) > Fraction(*made.slack)


@pytest.mark.parametrize(
    "x", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(8), Fraction(50)]
)
def test_the_exponential_is_never_below(x: Fraction) -> None:
    """Rounded down it would charge too little."""
    mpmath.mp.dps = 80
    truth = mpmath.exp(as_mpf(x))

    assert truth <= as_mpf(bound_exponential(x)) <= truth * (1 + mpmath.mpf(10) ** -15)


@pytest.mark.long
@pytest.mark.parametrize(("fine", "factor", "coarse"), [(5, 1, 100), (6, 2, 30), (20, 3, 50)])
def test_what_poisson_bounds_is_bounded(fine: int, factor: int, coarse: int) -> None:
    """Coarse cases where the sum is visibly no Gaussian: the truth stays below, by little."""
    mpmath.mp.dps = 40
    last = 14 * (factor * int(coarse**0.5 + 1) + int(fine**0.5 + 1))
    nearby, whole = 14 * int(coarse**0.5 + 1), fine + factor**2 * coarse
    law = [
        mpmath.fsum(
            mpmath.exp(
                -mpmath.mpf(j * j) / (2 * coarse) - mpmath.mpf((z - factor * j) ** 2) / (2 * fine)
            )
            for j in range(-nearby, nearby)
        )
        for z in range(last)
    ]
    gauss = [mpmath.exp(-mpmath.mpf(z * z) / (2 * whole)) for z in range(last)]
    total, over = 2 * mpmath.fsum(law) - law[0], 2 * mpmath.fsum(gauss) - gauss[0]
    off = [abs(a / total - b / over) for a, b in zip(law, gauss, strict=True)]
    truth = mpmath.fsum(off) - off[0] / 2
    bound = as_mpf(bound_mixture(Fraction(fine), factor, Fraction(coarse)))

    assert truth <= bound <= 20 * truth
