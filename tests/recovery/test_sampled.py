"""The sum of two tables: its law in full against the exact one, in 80 digits."""

from collections import defaultdict
from fractions import Fraction

import mpmath
import pytest

from edge.sampler import Sampler
from edge.table import Table
from recovery.sampled import slack, unmixed

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
    truth, bound, stated = total_variation(made), slack(made), Fraction(*made.slack)

    assert 0 < truth <= as_mpf(bound)
    assert bound <= stated <= 10 * bound


@pytest.mark.parametrize("bits", [56, 84, 112])
@pytest.mark.parametrize("variance", [627, 16000, 250000, 1618796, 1 << 24, 1 << 40])
def test_what_devices_state_is_never_too_little(variance: int, bits: int) -> None:
    """Up to the widest, where a law is too long to be summed; the bound in fractions tells."""
    made = Sampler(variance, 1, bits)

    assert slack(made) <= Fraction(*made.slack) <= 20 * slack(made)


def test_parts_that_do_not_mix_are_found() -> None:
    """Too narrow a fine part leaves gaps: the full distance sees them, and the bound says so."""
    made = Sampler(3333)
    made.parts = [(1, Table(8)), (5, Table(3333 - 8, 25))]
    truth = total_variation(made)

    assert truth > 1e-4
    with pytest.raises(ValueError, match="gaps"):
        slack(made)


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
    bound = as_mpf(unmixed(Fraction(fine), factor, Fraction(coarse)))

    assert truth <= bound <= 20 * truth


def test_parts_of_another_variance_are_refused() -> None:
    """The bound would be that of a noise that nobody planned."""
    made = Sampler(3333)
    made.variance = (3334, 1)

    with pytest.raises(ValueError, match="promised"):
        slack(made)
