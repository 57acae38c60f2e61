"""Layer: all that a sampler can draw, with exact probabilities, held against its formula.

Each sampler's own code is run over its whole decision tree, resting on the laws of those it
calls, which are judged here too. It sees any slip of the code, however rare the draw: an answer
one off, a scale, a sign, zero counted twice, < for <=. The coins are judged at widths that are
used too. It cannot see what happens to the others only at parameters that are too wide to
enumerate; `device` looks at noise of the width that is used, and the tests of the samplers at
draws of all of them.
"""

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

from edge.core import noise, shares
from edge.core.entropy import Stream

from ..claim import Claim, Effort, claim_fact

# Numbers between two whole numbers: probabilities that are proved, not rounded.
#
# A probability is a whole number of parts, ONE = 2**BITS of them; what is not a whole number is
# given by a bound from below and one from above. Nothing here is a float, so a law that does not
# fit does not fit, however small the difference.

BITS = 256
ONE = 1 << BITS


class Bounds(NamedTuple):
    """A number of parts that is at least `low` and at most `high`."""

    low: int
    high: int


@cache
def bound_decay(num: int, den: int) -> Bounds:
    """Return exp(-num/den), for num/den >= 0.

    By the series of exp(num/den), whose terms are all positive: each is rounded down for the
    one bound and up for the other, and the rest is less than a geometric series.
    """
    if num >= 2 * BITS * den:  # exp(-512) is less than one part
        return Bounds(0, 1)
    low = high = term_low = term_high = ONE
    n = 1
    while term_high > 1 or n * den < 2 * num:
        term_low = term_low * num // (den * n)
        term_high = -(-term_high * num // (den * n))
        low, high, n = low + term_low, high + term_high, n + 1
    high += 2 * term_high  # beyond n = 2 x each term is at most half of the one before
    return Bounds(ONE * ONE // high, -(-ONE * ONE // low))


def multiply_bounds(*factors: Bounds) -> Bounds:
    """Return the product of probabilities."""
    low = high = ONE
    for factor in factors:
        low = low * factor.low >> BITS
        high = -(-high * factor.high >> BITS)
    return Bounds(low, high)


def divide_bounds(numerator: Bounds, denominator: Bounds) -> Bounds:
    """Return a quotient; the denominator is at least one part."""
    low = (numerator.low << BITS) // denominator.high
    return Bounds(low, -(-(numerator.high << BITS) // denominator.low))


def complement_bounds(number: Bounds) -> Bounds:
    """Return one less the number."""
    return Bounds(ONE - number.high, ONE - number.low)


def bound_ratio(num: int, den: int) -> Bounds:
    """Return num/den."""
    return Bounds((num << BITS) // den, -((-num << BITS) // den))


def to_float(parts: int) -> float:
    """Return parts as a float, to be shown."""
    return parts / ONE


# The laws that the exact samplers must have, written from the formula and from nothing else.
#
# Once in bounds, to be compared with all that a sampler can draw; and as samplers that pick
# straight from the law, to stand in where only what is made of them is in question.

FAR = 80  # exp(-80) is 2e-35: what lies beyond is left out, and accounted as leftover

Law = dict[int, Bounds]


@cache
def coin(num: int, den: int, part: int = 0, whole: int = 1) -> Law:
    """Return 1 with probability (num + part/whole)/den, else 0."""
    yes = bound_ratio(num * whole + part, den * whole)
    return {1: yes, 0: complement_bounds(yes)}


@cache
def exp_coin(num: int, den: int, part: int = 0, whole: int = 1) -> Law:
    """Return 1 with probability exp(-(num + part/whole)/den), else 0."""
    yes = bound_decay(num * whole + part, den * whole)
    return {1: yes, 0: complement_bounds(yes)}


@cache
def geometric(num: int, den: int) -> Law:
    """Return k >= 0 with probability (1 - q) q**k, q = exp(-num/den)."""
    first = complement_bounds(bound_decay(num, den))
    return {
        k: multiply_bounds(first, bound_decay(k * num, den)) for k in range(FAR * den // num + 1)
    }


@cache
def dlaplace(num: int, den: int) -> Law:
    """Return z with probability (1 - q)/(1 + q) q**|z|, q = exp(-den/num)."""
    q = bound_decay(den, num)
    at_zero = divide_bounds(complement_bounds(q), Bounds(ONE + q.low, ONE + q.high))
    reach = FAR * num // den + 1
    return {
        z: multiply_bounds(at_zero, bound_decay(abs(z) * den, num))
        for z in range(-reach, reach + 1)
    }


@cache
def dgauss(num: int, den: int) -> Law:
    """Return z with probability proportional to exp(-z**2 den / (2 num))."""
    reach = 1
    while reach * reach * den < 2 * FAR * num:
        reach += 1
    weights = {z: bound_decay(z * z * den, 2 * num) for z in range(-reach, reach + 1)}
    # Beyond the reach the weights fall faster than a geometric series of the last step's ratio.
    step = bound_decay((2 * reach + 1) * den, 2 * num)
    rest = divide_bounds(multiply_bounds(weights[reach], step), complement_bounds(step))
    total = Bounds(
        sum(weight.low for weight in weights.values()),
        sum(weight.high for weight in weights.values()) + 2 * rest.high,
    )
    return {z: divide_bounds(weight, total) for z, weight in weights.items()}


LAWS: dict[str, Callable[..., Law]] = {
    "coin": coin,
    "exp_coin": exp_coin,
    "geometric": geometric,
    "dlaplace": dlaplace,
    "dgauss": dgauss,
}


def make_sampler(law: Callable[..., Law], kind: type = int) -> Any:
    """Return a sampler that picks straight from a law: `sampler(num, den, walk, *more)`.

    It refuses what the real one refuses, for a caller may not lean on less.
    """

    def sampler(num: int, den: int, walk: Any, *more: int) -> Any:
        args = num, den, *more
        if den < 1 or num < 0:
            raise ValueError(f"{law.__name__}{args}: out of range")
        values, weights = _sort_by_chance(law, args)
        return kind(values[walk.pick(weights)])

    return sampler


@cache
def _sort_by_chance(law: Callable[..., Law], args: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Return the values of a law and their probabilities, the likeliest first."""
    table = sorted(law(*args).items(), key=lambda item: -item[1].low)
    return [value for value, _ in table], [bounds.low for _, bounds in table]


def make_stand_ins(*names: str) -> dict[str, Any]:
    """Return samplers of these names that pick straight from their laws."""
    return {
        name: make_sampler(LAWS[name], bool if name.endswith("coin") else int) for name in names
    }


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


def enumerate_program(program: Callable[[Walk], Hashable], floor_bits: int = BITS - 1) -> Found:
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


def rebind(function: Any, **stubs: Any) -> Any:
    """Return the same code, calling these in place of what its module has by those names.

    So a sampler is judged by what it makes of the samplers it calls, whose own laws are
    judged elsewhere. A call of itself stays one.
    """
    names = {**function.__globals__, **stubs}
    as_before = function.__name__, function.__defaults__, function.__closure__
    twin = FunctionType(function.__code__, names, *as_before)
    names[function.__name__] = twin
    return twin


MOST_LEFT = ONE // 10  # of the probability may stay unseen, or too little was shown


class Case(NamedTuple):
    """One sampler, what it rests on, its parameters, and how deep to look: quick and full."""

    name: str
    stubs: tuple[str, ...]
    args: tuple[int, ...]
    floors: tuple[int, int]


CASES = (
    *(
        Case("coin", (), args, (60, 90))
        for args in [
            (0, 1),
            (5, 5),
            (2, 7),
            (3, 8),
            (8, 9),
            (0, 7, 1, 3),
            (2, 7, 5, 8),
            (4, 5, 6, 7),
        ]
    ),
    *(
        Case("exp_coin", ("coin",), args, (60, 80))
        for args in [
            (0, 1),
            (1, 3),
            (1, 1),
            (3, 2),
            (7, 2),
            (0, 2, 1, 3),
            (2, 2, 2, 3),
            (7, 2, 5, 9),
        ]
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
        sampler = rebind(getattr(noise, case.name), **make_stand_ins(*case.stubs))
        law = LAWS[case.name](*case.args)
        yield claim_law(case.name, case.args, sampler, law, effort.pick(*case.floors))
    for args, floors in SHARED:
        stubs = make_stand_ins("geometric", "coin")
        yield claim_shares_add_up(args, rebind(shares.polya, **stubs), effort.pick(*floors))
    for n in (1, 2, 3, 5, 8, 11):
        law = dict.fromkeys(range(n), bound_ratio(1, n))
        yield claim_law("below", (n,), lambda n, walk: Stream.below(walk, n), law, 16)
    for n in (0, 1, 2, 3, 4, 15, 16, 17, 10**30 - 1, 10**30, 10**30 + 1):
        sentence = f"isqrt({n}): the square root is rounded down, never up"
        yield claim_fact(sentence, noise.isqrt(n) == math.isqrt(n), samples=1)


def claim_law(
    name: str, args: tuple[int, ...], sampler: Callable[..., Any], law: Law, floor: int
) -> Claim:
    """Return the claim that a sampler draws each value with its law's probability.

    Exact: what was found is a bound from below, with the leftover one from above.
    """
    found = enumerate_program(lambda walk: int(sampler(*args[:2], walk, *args[2:])), floor)
    wrong = list(find_impossible(found, law))
    sentence = f"{_call(name, args)}: every value is drawn with the probability of its formula"
    return _claim_near(sentence, found, wrong, _compare_laws(found, law))


def _claim_near(
    sentence: str, found: Found, wrong: list[int], apart: float, shares: int = 1
) -> Claim:
    """Return the claim that so many draws together are as near their law as they were followed."""
    detail = f"the probability of {', '.join(map(str, wrong[:5]))} is wrong" if wrong else ""
    if found.leftover > MOST_LEFT:
        detail = f"{to_float(found.leftover):.2g} of the probability could not be followed"
    return Claim(
        sentence,
        claimed=shares * to_float(found.leftover),
        measured=apart,
        fits=not detail,
        unit="total variation",
        samples=found.runs,
        detail=detail,
    )


def _call(name: str, args: tuple[int, ...]) -> str:
    return f"{name}({', '.join(map(str, args))})"


def find_impossible(found: Found, law: Mapping[int, Bounds]) -> Iterator[int]:
    """Yield the values whose probability cannot be that of the law."""
    beyond = max(0, ONE - sum(bounds.low for bounds in law.values()))
    for value in sorted({*found.law, *law}):
        low, high = law.get(value, Bounds(0, beyond))
        seen = found.law.get(value, 0)
        if seen > high or low > seen + found.leftover:
            yield value


def claim_shares_add_up(args: tuple[int, ...], polya: Callable[..., Any], floor: int) -> Claim:
    """Return the claim that the shares of all devices add up to one geometric, exactly."""
    shares, num, den = args
    found = enumerate_program(lambda walk: int(polya(*args, walk)), floor)
    law = geometric(num, den)
    size = max(found.law, default=0) + 1
    low = [found.law.get(k, 0) for k in range(size)]
    high = [seen + found.leftover for seen in low]
    sums = [Bounds(*pair) for pair in zip(_sum(low, shares), _sum(high, shares), strict=True)]
    wrong = [k for k, (less, more) in enumerate(sums) if less > law[k].high or law[k].low > more]
    wrong += [value for value in found.law if value < 0]
    apart = sum(abs(to_float(law[k].low - one.low)) for k, one in enumerate(sums)) / 2
    sentence = (
        f"{_call('polya', args)}: the shares of noise of all devices add up to the whole noise"
    )
    return _claim_near(sentence, found, wrong, apart, shares)


def _sum(parts: list[int], times: int) -> list[int]:
    """Return the law of a sum, as far as the parts go; rounded down by less than is left."""
    total = parts
    for _ in range(times - 1):
        total = [
            sum(total[j] * parts[k - j] for j in range(k + 1)) >> BITS for k in range(len(parts))
        ]
    return total


def _compare_laws(found: Found, law: Mapping[int, Bounds]) -> float:
    """Return how far the law found is from the law meant, the leftover shared out."""
    seen = max(1, ONE - found.leftover)
    gaps = (
        abs(found.law.get(value, 0) / seen - law.get(value, Bounds(0, 0)).low / ONE)
        for value in {*found.law, *law}
    )
    return math.fsum(gaps) / 2
