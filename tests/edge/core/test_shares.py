"""Parts of noise that many devices bring add up to the law that is promised."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from edge.core.entropy import Tape
from edge.core.shares import poisson, shares
from physics.crowds.shares import sums

FALSE_ALARM = 1e-6


def p_value(samples: np.ndarray, law: dict[int, float]) -> float:
    """Return the p-value of Pearson's chi-square, with what is seldom expected pooled."""
    values, seen = np.unique(samples, return_counts=True)
    counts = dict(zip(values.tolist(), seen.tolist(), strict=True))
    many = {z: p * len(samples) for z, p in law.items() if p * len(samples) >= 20}
    rest = len(samples) - sum(many.values())
    rest_seen = len(samples) - sum(counts.get(z, 0) for z in many)
    statistic = sum((counts.get(z, 0) - e) ** 2 / e for z, e in many.items())
    return float(chi2.sf(statistic + (rest_seen - rest) ** 2 / max(rest, 1.0), len(many)))


def difference_law(r: float, rate: float) -> dict[int, float]:
    """Return the law of X - Y, of negative binomials with r successes, from the formula."""
    q, reach = math.exp(-rate), int(50 / rate) + 50
    one = np.array(
        [
            math.exp(math.lgamma(k + r) - math.lgamma(r) - math.lgamma(k + 1))
            * (1 - q) ** r
            * q**k
            for k in range(reach)
        ]
    )
    both = np.convolve(one, one[::-1])
    return {z - reach + 1: float(p) for z, p in enumerate(both)}


@pytest.mark.parametrize(("divisor", "num", "den"), [(20, 1, 2), (5, 1, 12), (2, 1, 1)])
def test_a_part_is_a_difference_of_polya_numbers(divisor: int, num: int, den: int) -> None:
    """From blocks and by rejection alike; noise that is a third too narrow is told from it."""
    rng = Tape(b"part")
    drawn = np.array([z for _ in range(12) for z in shares(1500, divisor, num, den, rng)])

    assert p_value(drawn, difference_law(1 / divisor, num / den)) > FALSE_ALARM
    assert p_value(drawn, difference_law(1 / divisor, 1.5 * num / den)) < FALSE_ALARM


@pytest.mark.parametrize("pieces", [6, 9])
def test_so_many_parts_add_up_to_the_promised_noise_and_more_only_add(pieces: int) -> None:
    """Six of six are discrete Laplace; nine bring half as much again in variance."""
    law = difference_law(pieces / 6, 1 / 5)
    rng = Tape(b"sum")
    apart = sum(np.array(shares(1500, 6, 1, 5, rng)) for _ in range(pieces))
    together = np.array(shares(1500, 6, 1, 5, rng, pieces=pieces))
    at_once = sums(4000, pieces, 6, 1, 5, rng)

    for drawn in (apart, together, at_once):
        assert p_value(drawn, law) > FALSE_ALARM
        assert p_value(np.abs(drawn), law) < FALSE_ALARM  # one-sided
    assert p_value(sums(4000, pieces - 3, 6, 1, 5, rng), law) < FALSE_ALARM  # some are missing


def test_a_crowds_noise_has_the_law_of_its_shards() -> None:
    """A hundred discrete Laplaces at once; p taken for 1 - p would be a hundredth as wide."""
    q = math.exp(-1 / 50)
    drawn = sums(20_000, 100 * 90, 90, 1, 50, Tape(b"crowd"))
    variance = 100 * 2 * q / (1 - q) ** 2
    kurtosis = 3 + (1 + 10 * q + q * q) / (2 * q) / 100 / 2  # of the sum; 3 for a normal law

    assert float(drawn.var()) == pytest.approx(variance, rel=0.05)
    assert float((drawn.astype(float) ** 4).mean()) / variance**2 == pytest.approx(
        kurtosis, rel=0.1
    )
    assert abs(float(drawn.mean())) < 4 * math.sqrt(variance / len(drawn))


def test_a_number_of_a_known_mean_has_its_law() -> None:
    """Every sampler is tested, not the topmost alone: a fault below looks plausible above."""
    rng = Tape(b"poisson")
    drawn = np.array([poisson(7, 3, rng) for _ in range(20_000)])

    def law(mean: float) -> dict[int, float]:
        return {k: math.exp(-mean) * mean**k / math.factorial(k) for k in range(40)}

    assert p_value(drawn, law(7 / 3)) > FALSE_ALARM
    assert p_value(drawn, law(1.05 * 7 / 3)) < FALSE_ALARM
    assert p_value(drawn + 1, law(7 / 3)) < FALSE_ALARM


def test_a_longer_word_moves_no_chance() -> None:
    """Where 64 bits do not decide, more of them do: bounds of two widths must agree."""
    from physics.crowds.shares import _bounds

    for odds, num in ((True, 1), (True, 70), (False, 90)):
        low, high = _bounds(12, num, 30, odds, 64)
        low_long, high_long = _bounds(12, num, 30, odds, 192)
        w = math.exp(-num / 30)
        p = w / (1 + w) if odds else w
        exact = math.comb(12, 0) * (1 - p) ** 12

        assert low[0] / 2**64 == pytest.approx(exact, rel=1e-12)
        assert all(
            a <= (b >> 128) + 1 and b <= (c << 128)
            for a, b, c in zip(low, low_long, high, strict=True)
        )
        assert all(0 <= c - a <= 2 for a, c in zip(low_long, high_long, strict=True))


def test_noise_is_shared_by_somebody() -> None:
    """A divisor of nought would be noise of nobody."""
    with pytest.raises(ValueError, match="at least one"):
        shares(3, 0, 1, 2, Tape(b""))
    with pytest.raises(ValueError, match="at least 0"):
        poisson(-1, 2, Tape(b""))
