"""Exact enumeration tells a sampler that is right from every one that has been got wrong.

The planted samplers are those that have shipped somewhere, one slip each, resting on laws that
are right; the layer must reject them without drawing a single random number.
"""

import inspect
import math
import textwrap
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from edge import noise
from gateway.audit.arithmetic import exact
from gateway.audit.arithmetic.exact import (
    ONE,
    Bounds,
    Walk,
    decay,
    enumerated,
    number,
    over,
    ratio,
    resting_on,
    times,
)
from gateway.audit.claim import Effort


def changed(name: str, old: str, new: str) -> Any:
    """Return a sampler with one piece of its source replaced."""
    source = textwrap.dedent(inspect.getsource(getattr(noise, name)))
    assert source.count(old) == 1, f"{name} has {source.count(old)} times {old!r}"
    names = dict(vars(noise))
    exec(source.replace(old, new), names)
    return names[name]


def verdict(name: str, sampler: Any, args: tuple[int, ...], floor: int) -> bool:
    case = next(case for case in exact.CASES if case.name == name)
    law: exact.Law = exact.LAWS[name](*args)
    rests = resting_on(sampler, **exact.stands_in(*case.stubs))
    return exact.follows(name, args, rests, law, floor).holds


@pytest.mark.long
def test_every_sampler_is_what_its_formula_says() -> None:
    """The guarantee is a statement about these laws and about no others."""
    assert [claim.sentence for claim in exact.claims(None, Effort()) if not claim.holds] == []


SLIPS = [
    ("coin", "return digit", "return bit", (2, 7), 40),
    ("coin", "num *= 2", "num *= 3", (3, 8), 40),
    ("exp_coin", "return k % 2 == 1", "return k % 2 == 0", (1, 3), 40),
    ("exp_coin", "while num > den", "while num > 2 * den", (7, 4), 40),
    ("exp_coin", "k += 1", "k += 2", (1, 3), 40),
    ("exp_coin", "den * k, rng", "den * k + 1, rng", (1, 3), 40),
    ("geometric", "whole = 0", "whole = 1", (1, 3), 18),
    ("geometric", "return (remainder", "return 1 + (remainder", (3, 2), 18),
    ("geometric", "remainder = rng.below(den)", "remainder = rng.below(den + 1)", (1, 3), 18),
    ("dlaplace", "negative and size == 0", "False", (7, 3), 20),
    ("dlaplace", "-size if negative else size", "size", (7, 3), 20),
    ("dlaplace", "geometric(den, num, rng)", "geometric(num, den, rng)", (7, 3), 20),
    ("dgauss", "2 * num * den", "4 * num * den", (9, 2), 17),
    ("dgauss", "return z", "return z + 1", (9, 2), 17),
    ("dgauss", "return z", "return abs(z)", (9, 2), 17),
    ("dgauss", "(num // den) + 1", "(num // den) + 1\n    num = num * 11 // 10", (40, 9), 17),
    ("dgauss", "(num // den) + 1", "(num // den) + 1\n    num = num * 9 // 10", (40, 9), 17),
]


@pytest.mark.parametrize(("name", "old", "new", "args", "floor"), SLIPS)
def test_a_slip_is_rejected(
    name: str, old: str, new: str, args: tuple[int, ...], floor: int
) -> None:
    """One digit off, one sign lost, a scale 5 % off: each would pass a look at a histogram."""
    assert verdict(name, getattr(noise, name), args, floor)
    assert not verdict(name, changed(name, old, new), args, floor)


def test_shares_that_do_not_add_up_are_rejected() -> None:
    """Noise shared among devices must be the whole noise, not each its own."""
    stubs = exact.stands_in("geometric", "coin")
    slips = [
        changed("polya", "shares + j * shares, rng", "1 + shares + j * shares, rng"),
        changed("polya", "for j in range(k)", "for j in range(1, k)"),
        lambda shares, num, den, rng: stubs["geometric"](num, den, rng),
    ]

    assert exact.shares_add_up((2, 1, 1), resting_on(noise.polya, **stubs), 20).holds
    for slip in slips:
        assert not exact.shares_add_up((2, 1, 1), resting_on(slip, **stubs), 20).holds


def test_a_remainder_for_a_rejection_is_seen() -> None:
    """`bits % n` favours small numbers: by so little that no histogram shows it."""
    law = dict.fromkeys(range(5), ratio(1, 5))

    assert not exact.follows("below", (5,), lambda n, walk: walk.bits(8) % n, law, 40).holds


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
    found = enumerated(lambda walk: walk.below(6) + walk.below(6) + 2)

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

    found = enumerated(program, floor_bits=10)

    assert number(found.leftover) == 2**-9
    assert sum(found.law.values()) + found.leftover == ONE


@pytest.mark.long
def test_a_program_that_does_not_end_is_an_error() -> None:
    """The audit must not hang where a mutant does."""

    def program(walk: Walk) -> int:
        while True:
            walk.below(1)

    with pytest.raises(RuntimeError, match="had not ended"):
        enumerated(program)
    assert exact.LONGEST < 10**6
