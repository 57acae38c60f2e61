"""Every sampler has the law its docstring states, and the test can tell when it has not.

Each law is written out from the formula, with the standard library alone; samples come from a
fixed tape, so a run cannot flake. Every law must reject the faults that have been made in such
samplers before: a scale 5 % off either way, an answer one off, p taken for 1 - p, one side only,
zero counted twice.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chi2

from edge import noise
from edge.core.entropy import Tape
from edge.core.shares import draw_shares, poisson
from physics.crowds.shares import draw_noise_sums

DRAWS = 100_000
FALSE_ALARM = 1e-6

Law = dict[int, float]


def p_value(samples: list[int] | np.ndarray, law: Law) -> float:
    """Return the p-value of Pearson's chi-square, with what is seldom expected pooled."""
    values, seen = np.unique(samples, return_counts=True)
    counts = dict(zip(values.tolist(), seen.tolist(), strict=True))
    many = {z: p * len(samples) for z, p in law.items() if p * len(samples) >= 20}
    rest = len(samples) - sum(many.values())
    rest_seen = len(samples) - sum(counts.get(z, 0) for z in many)
    statistic = sum((counts.get(z, 0) - e) ** 2 / e for z, e in many.items())
    statistic += (rest_seen - rest) ** 2 / max(rest, 1.0)
    # What is never expected is no cell
    return float(chi2.sf(statistic, max(len(many) - (rest < 1), 1)))


def normalised(weights: Law) -> Law:
    total = math.fsum(weights.values())
    return {value: weight / total for value, weight in weights.items()}


def bernoulli(p: float) -> Law:
    return {1: p, 0: 1 - p}


def geometric_law(rate: float) -> Law:
    return normalised({k: math.exp(-rate * k) for k in range(int(60 / rate))})


def laplace_law(scale: float) -> Law:
    reach = int(60 * scale)
    return normalised({z: math.exp(-abs(z) / scale) for z in range(-reach, reach + 1)})


def gauss_law(variance: float) -> Law:
    reach = int(12 * math.sqrt(variance)) + 2
    return normalised({z: math.exp(-z * z / (2 * variance)) for z in range(-reach, reach + 1)})


def negative_binomial_law(r: float, rate: float, reach: int = 400) -> Law:
    """Return the law of a sum of r geometrics, also where that is a part of one."""
    q = math.exp(-rate)
    return {
        k: math.exp(math.lgamma(k + r) - math.lgamma(r) - math.lgamma(k + 1)) * (1 - q) ** r * q**k
        for k in range(reach)
    }


@functools.cache
def draws(sampler: str, args: tuple[int, ...]) -> list[int]:
    rng = Tape(f"{sampler} {args}".encode())
    return [int(getattr(noise, sampler)(*args, rng)) for _ in range(DRAWS)]


LAWS: dict[tuple[str, tuple[int, ...]], Law] = {
    ("coin", (2, 7)): bernoulli(2 / 7),
    ("exp_coin", (1, 3)): bernoulli(math.exp(-1 / 3)),
    ("exp_coin", (3, 2)): bernoulli(math.exp(-3 / 2)),
    ("geometric", (1, 4)): geometric_law(1 / 4),
    ("geometric", (3, 2)): geometric_law(3 / 2),
    ("geometric", (1, 100)): geometric_law(1 / 100),
    ("dlaplace", (7, 3)): laplace_law(7 / 3),
    ("dlaplace", (20, 1)): laplace_law(20),
    ("dgauss", (9, 2)): gauss_law(9 / 2),
    ("dgauss", (1, 3)): gauss_law(1 / 3),
    ("polya", (3, 1, 2)): negative_binomial_law(1 / 3, 1 / 2),
}


@pytest.mark.long
@pytest.mark.parametrize(("sampler", "args"), LAWS)
def test_a_sampler_has_its_law(sampler: str, args: tuple[int, ...]) -> None:
    """The guarantee is a statement about this law and about no other."""
    assert p_value(draws(sampler, args), LAWS[sampler, args]) > FALSE_ALARM


def test_below_is_uniform() -> None:
    """A remainder instead of a rejection would favour small numbers."""
    rng = Tape(b"below")
    samples = [rng.below(11) for _ in range(DRAWS)]
    biased = [rng.below(16) % 11 for _ in range(DRAWS)]
    law = dict.fromkeys(range(11), 1 / 11)

    assert p_value(samples, law) > FALSE_ALARM
    assert p_value(biased, law) < FALSE_ALARM


@pytest.mark.long
@pytest.mark.parametrize("scale", [0.95, 1.05])
@pytest.mark.parametrize(("sampler", "args"), LAWS)
def test_a_scale_five_per_cent_off_is_rejected(
    sampler: str, args: tuple[int, ...], scale: float
) -> None:
    """The law of a sampler that is 5 % too wide or too narrow does not fit the draws."""
    num, den = args[-2:]
    wrong: dict[str, Callable[[], Law]] = {
        "coin": lambda: bernoulli(scale * num / den),
        "exp_coin": lambda: bernoulli(scale * math.exp(-num / den)),
        "geometric": lambda: geometric_law(scale * num / den),
        "dlaplace": lambda: laplace_law(scale * num / den),
        "dgauss": lambda: gauss_law(scale**2 * num / den),
        "polya": lambda: negative_binomial_law(1 / 3, scale * num / den),
    }

    assert p_value(draws(sampler, args), wrong[sampler]()) < FALSE_ALARM


def off_by_one(samples: list[int]) -> list[int]:
    return [z + 1 for z in samples]


def one_sided(samples: list[int]) -> list[int]:
    return [abs(z) for z in samples]


def zero_twice(samples: list[int]) -> list[int]:
    """What comes of keeping the negative zero: the sign is drawn, and zero counts twice."""
    extra = [0] * samples.count(0)
    return samples + extra


def complement(samples: list[int]) -> list[int]:
    return [1 - coin for coin in samples]


MUTANTS = [
    *[("coin", (2, 7), spoil) for spoil in (off_by_one, complement)],
    *[("exp_coin", (1, 3), spoil) for spoil in (off_by_one, complement)],
    ("geometric", (1, 4), off_by_one),
    ("polya", (3, 1, 2), off_by_one),
    *[("dlaplace", (7, 3), spoil) for spoil in (off_by_one, one_sided, zero_twice)],
    *[("dgauss", (9, 2), spoil) for spoil in (off_by_one, one_sided, zero_twice)],
]


@pytest.mark.long
@pytest.mark.parametrize(("sampler", "args", "spoil"), MUTANTS)
def test_a_planted_fault_is_rejected(
    sampler: str, args: tuple[int, ...], spoil: Callable[[list[int]], list[int]]
) -> None:
    """Each of these faults has shipped somewhere; the law must tell."""
    assert p_value(spoil(draws(sampler, args)), LAWS[sampler, args]) < FALSE_ALARM


def test_the_comparison_in_coin_is_exact_bit_by_bit() -> None:
    """Over all tapes of ten bits the coin is True as often as 3/8 and 1/3 say."""

    class Bits:
        def __init__(self, bits: int) -> None:
            self.bits = [bits >> place & 1 for place in range(10)]

        def below(self, n: int) -> int:
            assert n == 2
            return self.bits.pop() if self.bits else 1

    eighths = sum(noise.coin(3, 8, Bits(tape)) for tape in range(1024))
    thirds = sum(noise.coin(1, 3, Bits(tape)) for tape in range(1024))

    assert eighths == 1024 * 3 // 8
    assert thirds in (1024 // 3, 1024 // 3 + 1)


def exp_coin_by_the_book(num: int, den: int, rng: Tape) -> bool:
    """Return what Algorithm 1 says, of numbers as wide as they come."""
    while num > den:
        if not exp_coin_by_the_book(1, 1, rng):
            return False
        num -= den
    k = 1
    while noise.coin(num, den * k, rng):
        k += 1
    return k % 2 == 1


def dgauss_by_the_book(num: int, den: int, rng: Tape) -> int:
    """Return what Algorithm 3 says, of numbers as wide as they come."""
    scale = math.isqrt(num // den) + 1
    while True:
        z = int(noise.dlaplace(scale, 1, rng))
        excess = abs(z) * scale * den - num
        if exp_coin_by_the_book(excess * excess, 2 * num * den * scale * scale, rng):
            return z


def test_a_gaussian_is_that_of_the_book_and_leaves_the_stream_there() -> None:
    """What spares a board big integers changes no draw: who takes noise off draws the same."""
    world = np.random.default_rng(1)
    for case in range(2000):
        den = int(world.choice([1, 1, 2, 3, 100, 10**6]))
        num = int(world.integers(1, 10 ** int(world.integers(1, 13))))
        one, other = Tape(b"%d" % case), Tape(b"%d" % case)

        assert noise.dgauss(num, den, one) == dgauss_by_the_book(num, den, other)
        assert one.bits(16) == other.bits(16)


@pytest.mark.long
def test_a_wide_gaussian_has_its_variance_and_shape() -> None:
    """At the sizes that are really used a cell count says nothing; the normal's law must fit."""
    from scipy.stats import kstest

    variance = 4_000_000
    samples = draws("dgauss", (variance, 1))
    mean_square = math.fsum(z * z for z in samples) / DRAWS

    assert abs(mean_square / variance - 1) < 5 * math.sqrt(2 / DRAWS)
    assert kstest(samples, "norm", args=(0, math.sqrt(variance))).pvalue > FALSE_ALARM
    uniform = [z * 2 * math.sqrt(3 * variance) / 2**20 for z in range(-(2**19), 2**19, 11)]
    assert kstest(uniform, "norm", args=(0, math.sqrt(variance))).pvalue < FALSE_ALARM


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 15, 16, 17, 10**30 - 1, 10**30, 10**30 + 1])
def test_isqrt_is_the_whole_root(n: int) -> None:
    """The scale of the Laplace proposals comes from it; one off would bias the draw's speed."""
    assert noise.isqrt(n) == math.isqrt(n)


@pytest.mark.parametrize(
    ("sampler", "args"),
    [
        ("coin", (3, 2)),
        ("coin", (-1, 2)),
        ("exp_coin", (-1, 2)),
        ("geometric", (0, 1)),
        ("dgauss", (0, 1)),
        ("dgauss", (1, 0)),
        ("polya", (0, 1, 1)),
    ],
)
def test_parameters_out_of_range_are_refused(sampler: str, args: tuple[int, ...]) -> None:
    """A variance of zero would publish the reading."""
    with pytest.raises(ValueError, match=sampler):
        getattr(noise, sampler)(*args, Tape(b""))


def test_a_coin_above_one_is_refused_and_one_is_sure() -> None:
    """What a part adds to a probability of 1 is too much, however small."""
    assert noise.coin(5, 5, Tape(b""))
    with pytest.raises(ValueError, match="coin"):
        noise.coin(5, 5, Tape(b""), part=1, whole=2)


# Parts of noise that many devices bring add up to the law that is promised.


def difference_law(r: float, rate: float) -> Law:
    """Return the law of X - Y, of negative binomials with r successes, from the formula."""
    reach = int(50 / rate) + 50
    one = np.array(list(negative_binomial_law(r, rate, reach).values()))
    both = np.convolve(one, one[::-1])
    return {z - reach + 1: float(p) for z, p in enumerate(both)}


@pytest.mark.parametrize(("divisor", "num", "den"), [(20, 1, 2), (5, 1, 12), (2, 1, 1)])
def test_a_part_is_a_difference_of_polya_numbers(divisor: int, num: int, den: int) -> None:
    """From blocks and by rejection alike; noise that is a third too narrow is told from it."""
    rng = Tape(b"part")
    drawn = np.array([z for _ in range(12) for z in draw_shares(1500, divisor, num, den, rng)])

    assert p_value(drawn, difference_law(1 / divisor, num / den)) > FALSE_ALARM
    assert p_value(drawn, difference_law(1 / divisor, 1.5 * num / den)) < FALSE_ALARM


@pytest.mark.parametrize("pieces", [6, 9])
def test_so_many_parts_add_up_to_the_promised_noise_and_more_only_add(pieces: int) -> None:
    """Six of six are discrete Laplace; nine bring half as much again in variance."""
    law = difference_law(pieces / 6, 1 / 5)
    rng = Tape(b"sum")
    apart = sum(np.array(draw_shares(1500, 6, 1, 5, rng)) for _ in range(pieces))
    together = np.array(draw_shares(1500, 6, 1, 5, rng, pieces=pieces))
    at_once = draw_noise_sums(4000, pieces, 6, 1, 5, rng)

    for drawn in (apart, together, at_once):
        assert p_value(drawn, law) > FALSE_ALARM
        assert p_value(np.abs(drawn), law) < FALSE_ALARM  # one-sided
    # Some are missing
    assert p_value(draw_noise_sums(4000, pieces - 3, 6, 1, 5, rng), law) < FALSE_ALARM


def test_a_crowds_noise_has_the_law_of_its_shards() -> None:
    """A hundred discrete Laplaces at once; p taken for 1 - p would be a hundredth as wide."""
    q = math.exp(-1 / 50)
    drawn = draw_noise_sums(20_000, 100 * 90, 90, 1, 50, Tape(b"crowd"))
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


def test_noise_is_shared_by_somebody() -> None:
    """A divisor of nought would be noise of nobody."""
    with pytest.raises(ValueError, match="at least one"):
        draw_shares(3, 0, 1, 2, Tape(b""))
    with pytest.raises(ValueError, match="at least 0"):
        poisson(-1, 2, Tape(b""))
