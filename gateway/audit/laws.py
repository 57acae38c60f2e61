"""The laws that the exact samplers must have, written from the formula and from nothing else.

Once in bounds, to be compared with all that a sampler can draw; and as samplers that pick
straight from the law, to stand in where only what is made of them is in question.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from .bounds import ONE, Bounds, decay, less, over, ratio, times

FAR = 80  # exp(-80) is 2e-35: what lies beyond is left out, and accounted as leftover

Law = dict[int, Bounds]


@cache
def coin(num: int, den: int) -> Law:
    """Return 1 with probability num/den, else 0."""
    yes = ratio(num, den)
    return {1: yes, 0: less(yes)}


@cache
def exp_coin(num: int, den: int) -> Law:
    """Return 1 with probability exp(-num/den), else 0."""
    yes = decay(num, den)
    return {1: yes, 0: less(yes)}


@cache
def geometric(num: int, den: int) -> Law:
    """Return k >= 0 with probability (1 - q) q**k, q = exp(-num/den)."""
    first = less(decay(num, den))
    return {k: times(first, decay(k * num, den)) for k in range(FAR * den // num + 1)}


@cache
def dlaplace(num: int, den: int) -> Law:
    """Return z with probability (1 - q)/(1 + q) q**|z|, q = exp(-den/num)."""
    q = decay(den, num)
    at_zero = over(less(q), Bounds(ONE + q.low, ONE + q.high))
    reach = FAR * num // den + 1
    return {z: times(at_zero, decay(abs(z) * den, num)) for z in range(-reach, reach + 1)}


@cache
def dgauss(num: int, den: int) -> Law:
    """Return z with probability proportional to exp(-z**2 den / (2 num))."""
    reach = 1
    while reach * reach * den < 2 * FAR * num:
        reach += 1
    weights = {z: decay(z * z * den, 2 * num) for z in range(-reach, reach + 1)}
    # Beyond the reach the weights fall faster than a geometric series of the last step's ratio.
    step = decay((2 * reach + 1) * den, 2 * num)
    rest = over(times(weights[reach], step), less(step))
    total = Bounds(
        sum(weight.low for weight in weights.values()),
        sum(weight.high for weight in weights.values()) + 2 * rest.high,
    )
    return {z: over(weight, total) for z, weight in weights.items()}


LAWS: dict[str, Callable[..., Law]] = {
    "coin": coin,
    "exp_coin": exp_coin,
    "geometric": geometric,
    "dlaplace": dlaplace,
    "dgauss": dgauss,
}


def drawn_from(law: Callable[..., Law], kind: type = int) -> Any:
    """Return a sampler that picks straight from a law: `sampler(*args, walk)`.

    It refuses what the real one refuses, for a caller may not lean on less.
    """

    def sampler(*given: Any) -> Any:
        *args, walk = given
        if args[-1] < 1 or args[0] < 0:
            raise ValueError(f"{law.__name__}{tuple(args)}: out of range")
        values, weights = _falling(law, tuple(args))
        return kind(values[walk.pick(weights)])

    return sampler


@cache
def _falling(law: Callable[..., Law], args: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Return the values of a law and their probabilities, the likeliest first."""
    table = sorted(law(*args).items(), key=lambda item: -item[1].low)
    return [value for value, _ in table], [bounds.low for _, bounds in table]


def stands_in(*names: str) -> dict[str, Any]:
    """Return samplers of these names that pick straight from their laws."""
    return {name: drawn_from(LAWS[name], bool if name.endswith("coin") else int) for name in names}


def parts(law: Law) -> tuple[int, int]:
    """Return the whole of a law, from below and from above, to see that it is one."""
    return sum(p.low for p in law.values()), sum(p.high for p in law.values())
