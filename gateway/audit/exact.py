"""Layer: all that a sampler can draw, with exact probabilities, held against its formula.

Each sampler's own code is run over its whole decision tree, resting on the laws of those it
calls, which are judged here too. It sees any slip of the code, however rare the draw: an answer
one off, a scale, a sign, zero counted twice, < for <=. It cannot see what happens only at
parameters that are too wide to enumerate; goodness of fit looks there.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from edge import noise
from edge.entropy import Stream

from . import laws
from .bounds import BITS, ONE, Bounds, number, ratio
from .claim import Claim, Effort, true
from .laws import LAWS
from .tree import Found, enumerated, resting_on

MOST_LEFT = ONE // 10  # of the probability may stay unseen, or too little was shown


class Case(NamedTuple):
    """One sampler, what it rests on, its parameters, and how deep to look: quick and full."""

    name: str
    stubs: tuple[str, ...]
    args: tuple[int, ...]
    floors: tuple[int, int]


CASES = (
    *(Case("coin", (), args, (60, 90)) for args in [(0, 1), (5, 5), (2, 7), (3, 8), (8, 9)]),
    *(
        Case("exp_coin", ("coin",), args, (60, 80))
        for args in [(0, 1), (1, 3), (1, 1), (3, 2), (7, 2)]
    ),
    *(Case("geometric", ("exp_coin",), args, (20, 30)) for args in [(1, 3), (3, 2), (2, 1)]),
    *(Case("dlaplace", ("geometric",), args, (24, 32)) for args in [(1, 1), (7, 3), (1, 2)]),
    *(
        Case("dgauss", ("dlaplace", "exp_coin"), args, (19, 24))
        for args in [(1, 3), (1, 1), (9, 2), (12, 1)]
    ),
)
SHARED = (((1, 1, 1), (24, 28)), ((2, 1, 1), (24, 28)), ((3, 3, 2), (24, 28)))


def claims(mechanism: None, effort: Effort) -> Iterator[Claim]:
    """Yield one claim for each sampler at each of its parameters."""
    for case in CASES:
        sampler = resting_on(getattr(noise, case.name), **laws.stands_in(*case.stubs))
        law = LAWS[case.name](*case.args)
        yield follows(case.name, case.args, sampler, law, effort.pick(*case.floors))
    for args, floors in SHARED:
        stubs = laws.stands_in("geometric", "coin")
        yield shares_add_up(args, resting_on(noise.polya, **stubs), effort.pick(*floors))
    for n in (1, 2, 3, 5, 8, 11):
        law = dict.fromkeys(range(n), ratio(1, n))
        yield follows("below", (n,), lambda n, walk: Stream.below(walk, n), law, 16)
    for n in (0, 1, 2, 3, 4, 15, 16, 17, 10**30 - 1, 10**30, 10**30 + 1):
        yield true(
            f"isqrt({n}): the square root is rounded down, never up",
            noise.isqrt(n) == math.isqrt(n),
            samples=1,
        )


def follows(
    name: str, args: tuple[int, ...], sampler: Callable[..., Any], law: laws.Law, floor: int
) -> Claim:
    """Return the claim that a sampler draws each value with its law's probability.

    Exact: what was found is a bound from below, with the leftover one from above.
    """
    found = enumerated(lambda walk: int(sampler(*args, walk)), floor)
    wrong = list(outside(found, law))
    return Claim(
        f"{_called(name, args)}: every value is drawn with the probability of its formula",
        claimed=number(found.leftover),
        measured=_apart(found, law),
        fits=not wrong and found.leftover <= MOST_LEFT,
        unit="total variation",
        samples=found.runs,
        detail=_told(found, wrong),
    )


def _called(name: str, args: tuple[int, ...]) -> str:
    return f"{name}({', '.join(map(str, args))})"


def outside(found: Found, law: Mapping[int, Bounds]) -> Iterator[int]:
    """Yield the values whose probability cannot be that of the law."""
    beyond = max(0, ONE - sum(bounds.low for bounds in law.values()))
    for value in sorted({*found.law, *law}):
        low, high = law.get(value, Bounds(0, beyond))
        seen = found.law.get(value, 0)
        if seen > high or low > seen + found.leftover:
            yield value


def shares_add_up(args: tuple[int, ...], polya: Callable[..., Any], floor: int) -> Claim:
    """Return the claim that the shares of all devices add up to one geometric, exactly."""
    shares, num, den = args
    found = enumerated(lambda walk: int(polya(*args, walk)), floor)
    law = laws.geometric(num, den)
    size = max(found.law, default=0) + 1
    low = [found.law.get(k, 0) for k in range(size)]
    high = [seen + found.leftover for seen in low]
    sums = [Bounds(*pair) for pair in zip(_sum(low, shares), _sum(high, shares), strict=True)]
    wrong = [k for k, (less, more) in enumerate(sums) if less > law[k].high or law[k].low > more]
    wrong += [value for value in found.law if value < 0]
    return Claim(
        f"{_called('polya', args)}: the shares of noise of all devices add up to the whole noise",
        claimed=shares * number(found.leftover),
        measured=sum(abs(number(law[k].low - one.low)) for k, one in enumerate(sums)) / 2,
        fits=not wrong and found.leftover <= MOST_LEFT,
        unit="total variation",
        samples=found.runs,
        detail=_told(found, wrong),
    )


def _sum(parts: list[int], times: int) -> list[int]:
    """Return the law of a sum, as far as the parts go; rounded down by less than is left."""
    total = parts
    for _ in range(times - 1):
        total = [
            sum(total[j] * parts[k - j] for j in range(k + 1)) >> BITS for k in range(len(parts))
        ]
    return total


def _apart(found: Found, law: Mapping[int, Bounds]) -> float:
    """Return how far the law found is from the law meant, the leftover shared out."""
    seen = max(1, ONE - found.leftover)
    gaps = (
        abs(found.law.get(value, 0) / seen - law.get(value, Bounds(0, 0)).low / ONE)
        for value in {*found.law, *law}
    )
    return math.fsum(gaps) / 2


def _told(found: Found, wrong: list[int]) -> str:
    if found.leftover > MOST_LEFT:
        return f"{number(found.leftover):.2g} of the probability could not be followed"
    if wrong:
        return f"the probability of {', '.join(map(str, wrong[:5]))} is wrong"
    return ""
