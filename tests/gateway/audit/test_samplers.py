"""Exact enumeration follows a sampler to every outcome, without drawing a single random number.

`tests/mutants/noise.toml` plants the slips that have shipped somewhere, which it must reject.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from gateway.audit.arithmetic import exact
from gateway.audit.arithmetic.exact import (
    ONE,
    Bounds,
    Walk,
    decay,
    divide_bounds,
    enumerate_program,
    multiply_bounds,
    number,
    ratio,
)


def test_probabilities_are_bounded_from_both_sides() -> None:
    """The proof rests on these bounds; a library of floats is the outside witness."""
    for num, den in [(0, 1), (1, 3), (3, 2), (41, 1), (1, 10**9), (700, 1)]:
        low, high = decay(num, den)

        assert low <= high <= low + 2**40
        assert number(low) == pytest.approx(math.exp(-num / den), rel=1e-15, abs=1e-76)
    third = ratio(1, 3)
    assert third.low < Fraction(ONE, 3) < third.high
    assert (
        multiply_bounds(third, third).high >= Fraction(ONE, 9) >= multiply_bounds(third, third).low
    )
    assert divide_bounds(Bounds(ONE, ONE), Bounds(2 * ONE, 2 * ONE)) == Bounds(ONE // 2, ONE // 2)


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
