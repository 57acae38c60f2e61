"""Exact enumeration follows a sampler to every outcome, without drawing a single random number.

`tests/mutants/noise.toml` plants the slips that have shipped somewhere, which it must reject.
"""

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edge.core import noise, shares
from edge.core.entropy import Tape
from gateway.audit.arithmetic import exact, fit
from gateway.audit.arithmetic import exact as laws
from gateway.audit.arithmetic.exact import (
    ONE,
    Bounds,
    Walk,
    decay,
    enumerate_program,
    number,
    over,
    ratio,
    times,
)
from gateway.audit.arithmetic.fit import Law, Whole
from gateway.audit.claim import Effort


def test_probabilities_are_bounded_from_both_sides() -> None:
    """The proof rests on these bounds; a library of floats is the outside witness."""
    for num, den in [(0, 1), (1, 3), (3, 2), (41, 1), (1, 10**9), (700, 1)]:
        low, high = decay(num, den)

        assert low <= high <= low + 2**40
        assert number(low) == pytest.approx(math.exp(-num / den), rel=1e-15, abs=1e-76)
    third = ratio(1, 3)
    assert third.low < Fraction(ONE, 3) < third.high
    assert times(third, third).high >= Fraction(ONE, 9) >= times(third, third).low
    assert over(Bounds(ONE, ONE), Bounds(2 * ONE, 2 * ONE)) == Bounds(ONE // 2, ONE // 2)


@pytest.mark.parametrize(
    ("law", "args"),
    [
        (exact.geometric, (1, 3)),
        (exact.dlaplace, (7, 3)),
        (exact.dgauss, (9, 2)),
        (exact.coin, (2, 7)),
    ],
)
def test_the_laws_themselves_add_up_to_one(law: Callable[..., exact.Law], args: Any) -> None:
    """A law that is no law would let anything pass."""
    low, high = exact.parts(law(*args))

    assert low <= ONE
    assert high >= ONE * (1 - Fraction(1, 10**20))
    assert number(high - low) < 1e-30


def test_a_walk_finds_every_outcome_with_its_probability() -> None:
    """Two dice: 36 leaves, a seven for six of them, and nothing left over but roundings."""
    found = enumerate_program(lambda walk: walk.below(6) + walk.below(6) + 2)

    assert found.runs == 36
    assert found.leftover < 2**10
    assert number(found.law[7]) == pytest.approx(1 / 6)
    assert number(found.law[2]) == pytest.approx(1 / 36)


def test_what_is_not_followed_is_accounted() -> None:
    """A loop without an end has no last leaf; its mass is leftover and not lost."""

    def program(walk: Walk) -> int:
        count = 0
        while walk.below(2):
            count += 1
        return count

    found = enumerate_program(program, floor_bits=10)

    assert number(found.leftover) == 2**-9
    assert sum(found.law.values()) + found.leftover == ONE


@pytest.mark.long
def test_a_program_that_does_not_end_is_an_error() -> None:
    """The audit must not hang where a mutant does."""

    def program(walk: Walk) -> int:
        while True:
            walk.below(1)

    with pytest.raises(RuntimeError, match="had not ended"):
        enumerate_program(program)
    assert exact.LONGEST < 10**6


# Goodness of fit passes the samplers and rejects each planted one, at the draws it takes.

QUICK = 100_000


@functools.cache
def draws(sampler: str, args: tuple[int, ...]) -> Whole:
    tape = Tape(f"{sampler} {args}".encode())
    home = shares if sampler == "polya" else noise
    drawn = np.array([int(getattr(home, sampler)(*args, tape)) for _ in range(QUICK)])
    drawn.setflags(write=False)
    return drawn


def fits(drawn: Whole, law: Law) -> bool:
    return all(claim.holds for claim in fit.fits("planted", drawn, law, Effort()))


WIDE, NARROW = (4_000_000, 1), (9, 2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("sampler", "args"),
    [
        ("dgauss", WIDE),
        ("dgauss", NARROW),
        ("dlaplace", (7, 3)),
        ("geometric", (1, 4)),
        ("polya", (3, 1, 2)),
        ("coin", (5, 7)),
        ("exp_coin", (3, 2)),
    ],
)
def test_a_sampler_passes_and_one_five_per_cent_off_does_not(
    sampler: str, args: tuple[int, ...]
) -> None:
    """The noise that is 5 % too narrow is the fault that nobody sees."""
    law = getattr(fit, sampler)
    *first, num, den = args
    power = 2 if sampler == "dgauss" else 1

    assert fits(draws(sampler, args), law(*args))
    for part in (95, 105):
        off = (num * part**power, den * 100**power)
        assert not fits(draws(sampler, args), law(*first, *off)), part


@pytest.mark.long
@pytest.mark.parametrize("args", [WIDE, NARROW])
def test_a_gaussian_that_has_been_spoilt_is_rejected(args: tuple[int, int]) -> None:
    """Each of these has shipped somewhere."""
    law, drawn = fit.dgauss(*args), draws("dgauss", args)
    sigma = math.sqrt(args[0] / args[1])
    tape = Tape(b"uniform")
    reach = round(math.sqrt(3) * sigma)
    uniform = np.array([tape.below(2 * reach + 1) - reach for _ in range(QUICK)])

    assert not fits(np.abs(drawn), law)  # half of a normal
    assert not fits(np.append(drawn, np.zeros(QUICK // 5, dtype=np.int64)), law)
    assert not fits(uniform, law)
    assert not fits(np.repeat(drawn[::2], 2), law)  # every draw used twice
    assert not fits(drawn * 2, law)
    assert not fits(np.append(drawn[5:], [10**9] * 5), law)  # what the law has no place for


@pytest.mark.long
def test_one_off_is_rejected_where_it_can_be_told() -> None:
    """Of sigma 2 it is half a sigma; at two thousand the exact layer alone can tell."""
    assert not fits(draws("dgauss", NARROW) + 1, fit.dgauss(*NARROW))
    assert not fits(draws("geometric", (1, 4)) + 1, fit.geometric(1, 4))


def test_p_for_one_minus_p_is_rejected() -> None:
    """The commonest slip with negative binomials: a deviation of 0.14 where 141 was meant."""
    swapped = fit.geometric(round(-1000 * math.log(1 - math.exp(-1 / 4))), 1000)

    assert not fits(draws("geometric", (1, 4)), swapped)


@pytest.mark.parametrize(
    ("sampler", "args"),
    [("dgauss", NARROW), ("dlaplace", (7, 3)), ("geometric", (1, 4)), ("polya", (3, 1, 2))],
)
def test_the_formulas_agree_with_the_bounds(sampler: str, args: tuple[int, ...]) -> None:
    """Two ways to write one law; where they differ, one of the two layers judges wrongly."""
    law = getattr(fit, sampler)(*args)
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-12)
    if sampler == "polya":
        whole = np.convolve(np.convolve(law.probabilities, law.probabilities), law.probabilities)
        exact = laws.geometric(*args[1:])
        assert whole[:40] == pytest.approx([number(exact[k].low) for k in range(40)], abs=1e-12)
        return
    exact = laws.LAWS[sampler](*args)
    found = dict(zip(law.values.tolist(), law.probabilities.tolist(), strict=True))
    assert [found[k] for k in range(20)] == pytest.approx(
        [number(exact[k].low) for k in range(20)], abs=1e-13
    )


def test_good_draws_pass_from_any_seed() -> None:
    """A test that rejects everything would pass all of the above."""
    rng = np.random.default_rng(5)
    law = fit.dgauss(*NARROW)
    for _ in range(40):
        drawn = rng.choice(law.values, p=law.probabilities, size=QUICK)
        assert fits(drawn, law)


@pytest.mark.parametrize(("mechanism", "cases"), [("thermal", 1), ("disk", 0), ("ranks", 0)])
def test_noise_of_an_operator_is_looked_at_where_devices_draw_it(
    mechanism: str, cases: int
) -> None:
    """A cap of disk's limits is a variance of 1e16, whose law no memory holds."""
    own = SimpleNamespace(mechanism=mechanism, held=[SimpleNamespace(variance=10**4)])

    assert len(fit._own(Effort(own=own))) == cases
