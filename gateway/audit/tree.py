"""Everything that a program can draw, each outcome with its exact probability.

The program is run once for each leaf of its decision tree: where it asks `below(n)` it is given
0, and in later runs 1, 2, ... A branch whose probability falls under a floor is not followed;
what is lost so, and by rounding down, is the leftover. So every probability found is a bound
from below, and found + leftover is one from above: exact statements about the code itself.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from types import FunctionType
from typing import Any, NamedTuple

from .bounds import BITS, ONE

LONGEST = 20_000  # draws of one run; a program that takes more does not end
MOST = 2_000_000  # runs


class Found(NamedTuple):
    """The law of a program, in parts of ONE, each from below."""

    law: dict[Any, int]
    leftover: int
    runs: int


class _PrunedError(BaseException):
    """This branch is not worth following; a program must not catch it."""


class Walk:
    """One run: a source of random numbers that takes the branches it is told."""

    def __init__(self, trail: list[list[int]], floor: int) -> None:
        self.mass = ONE
        self._trail, self._floor, self._depth = trail, floor, 0

    def below(self, n: int) -> int:
        """Return a whole number from 0 to n - 1, each as likely."""
        if n < 1:
            raise ValueError(f"below({n}): n must be at least 1")
        return self._take(n, lambda index: self.mass // n)

    def bits(self, count: int) -> int:
        """Return so many fair bits as a whole number."""
        return self.below(1 << count)

    def pick(self, parts: Sequence[int]) -> int:
        """Return an index, with these probabilities in parts of ONE, the greatest first."""
        above = ((self._floor + 1) << BITS) // self.mass
        worth = bisect_left(parts, -above, key=lambda part: -part)
        if not worth:
            raise _PrunedError
        return self._take(worth, lambda index: self.mass * parts[index] >> BITS)

    def _take(self, count: int, part: Callable[[int], int]) -> int:
        if self._depth == len(self._trail):
            self._trail.append([0, count])
        index = self._trail[self._depth][0]
        self._depth += 1
        self.mass = part(index)
        if self.mass <= self._floor:
            raise _PrunedError
        if self._depth > LONGEST:
            raise RuntimeError(f"the program had not ended after {LONGEST} draws")
        return index


def enumerated(program: Callable[[Walk], Hashable], floor_bits: int = BITS - 1) -> Found:
    """Return all that a program can draw, branches under 2**-floor_bits left out.

    Raises:
        RuntimeError: it does not end, or has too many branches.
    """
    law: defaultdict[Hashable, int] = defaultdict(int)
    trail: list[list[int]] = []
    for runs in range(1, MOST):
        walk = Walk(trail, ONE >> floor_bits)
        try:
            outcome = program(walk)
            law[outcome] += walk.mass
        except _PrunedError:
            pass
        del trail[walk._depth :]
        while trail and trail[-1][0] + 1 == trail[-1][1]:
            trail.pop()
        if not trail:
            return Found(dict(law), ONE - sum(law.values()), runs)
        trail[-1][0] += 1
    raise RuntimeError(f"the program has more than {MOST} branches above 2**-{floor_bits}")


def resting_on(function: Any, **stubs: Any) -> Any:
    """Return the same code, calling these in place of what its module has by those names.

    So a sampler is judged by what it makes of the samplers it calls, whose own laws are
    judged elsewhere. A call of itself stays one.
    """
    names = {**function.__globals__, **stubs}
    as_before = function.__name__, function.__defaults__, function.__closure__
    twin = FunctionType(function.__code__, names, *as_before)
    names[function.__name__] = twin
    return twin
