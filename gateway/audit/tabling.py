"""What noise from tables should be, by another path: eighty digits, and one look at a time.

The shape of a sampler, which tables and which factors, is taken from the device's own, and held
against the variance that was planned; each table against the chances of its law. What is drawn
from a stream is then said anew: a number of so many bits, one threshold after the other.
"""

import sys
from collections.abc import Callable, Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from types import FrameType
from typing import Any

from edge.sampler import Sampler
from edge.table import BATCH

DIGITS = 80
NEAR = Decimal("1.5")  # digits of a threshold: half of rounding, and what lies beyond the last


def thresholds(num: int, den: int, bits: int, count: int) -> list[Decimal]:
    """Return the chances that |z| is at most k, in units of 2**-bits, for k below count."""
    with localcontext(Context(prec=DIGITS)):
        step = Decimal(-den) / (2 * num)
        weights = [(step * k * k).exp() for k in range(2 * count + 8)]
        whole = 2 * sum(weights) - 1
        found, upto = [], Decimal(0)
        for k in range(count):
            upto += weights[k] * (2 if k else 1)
            found.append(upto / whole * 2**bits)
        return found


def off(sampler: Sampler) -> Decimal:
    """Return by how many digits the worst threshold of a sampler is off."""
    worst = Decimal(0)
    for _, part in sampler.parts:
        law = thresholds(*part.variance, part.bits, len(part))
        for k, meant in enumerate(law):
            worst = max(worst, abs(part.threshold(k) - meant))
    return worst


def variance(sampler: Sampler) -> Fraction:
    """Return the variance of the sum that a sampler draws."""
    return sum((f * f * Fraction(*part.variance) for f, part in sampler.parts), Fraction(0))


def drawn(sampler: Sampler, count: int, rng: Any) -> list[int]:
    """Return so many samples from a stream, by thresholds in order and the sign above them."""
    noise = [0] * count
    for factor, part in sampler.parts:
        law = [part.threshold(k) for k in range(len(part))]
        for first in range(0, count, BATCH):
            for at in range(first, min(first + BATCH, count)):
                value = rng.bits(part.bits + 1)
                size = sum(value % (1 << part.bits) >= one for one in law)
                noise[at] += factor * (-size if value >> part.bits else size)
    return noise


def works(do: Callable[[], object], code: Any) -> int:
    """Return how many instructions of a function's code one call runs."""
    count = 0

    def looked(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code is not code:
            return None
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return looked

    before = sys.gettrace()
    sys.settrace(looked)
    try:
        do()
    finally:
        sys.settrace(before)
    return count


def ends(part: Any) -> Iterator[tuple[int, int]]:
    """Yield numbers about every threshold of a table, and how many it is that they are not below.

    One below, on, and one above: where a search that is off by one place, or by one digit, shows.
    """
    known = [part.threshold(k) for k in range(len(part))]
    whole = 1 << part.bits
    for value in sorted({v for t in (0, *known, whole) for v in (t - 1, t, t + 1)}):
        if 0 <= value < whole:
            yield value, sum(value >= one for one in known)
