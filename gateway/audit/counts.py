"""Layer: from the steps of a converter to grains, on a device and in the simulator.

The noise is made for readings that are rounded in one way: to steps first, then to grains, each
to the nearest. It sees another order, another rounding, or one that moves two readings further
apart than the noise is made for. It cannot see what a sensor does before its converter.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from edge import pixels
from physics.sensors import grains

from .claim import Claim, Effort, true

STEPS = (Fraction(1, 4), Fraction(1, 10), Fraction(1, 16), Fraction(3, 7))  # in kelvin
EXPONENTS = range(-3, 13)
REACH = 150  # counts, up and down


def claims(mechanism: None, effort: Effort) -> Iterator[Claim]:
    """Yield, for each converter, that every count becomes the grains that are planned for."""
    span = list(range(-REACH, REACH + 1))
    own = getattr(effort.own.query, "step", None) if effort.own else None
    for step in STEPS if own is None else {*STEPS, own}:
        wrong = []
        for exponent in EXPONENTS:
            sent = pixels.above(span, [0] * len(span), exponent, step.as_integer_ratio())
            seen = grains([float(count * step) for count in span], exponent, step)
            meant = rounded(span, step * Fraction(2) ** exponent)
            if not sent == seen == meant or too_far(meant, step * Fraction(2) ** exponent):
                wrong.append(f"at a grain of 2**{-exponent} K")
        yield true(
            f"steps of {step} K: a device, the simulator and the formula turn a reading into the "
            "same number to send, two of them never further apart than planned for",
            not wrong,
            samples=len(span) * len(EXPONENTS),
            detail=", ".join(wrong),
        )


def rounded(counts: list[int], size: Fraction) -> tuple[int, ...]:
    """Return floor(count * size + 1/2) for each count."""
    num, den = size.as_integer_ratio()
    return tuple((2 * count * num + den) // (2 * den) for count in counts)


def too_far(grains: tuple[int, ...], size: Fraction) -> bool:
    """Say whether counts so many apart are more than that many steps of grains apart."""
    num, den = size.as_integer_ratio()
    sent = np.array(grains)
    apart = range(1, len(sent))
    return any((np.abs(sent[d:] - sent[:-d]) > -(-d * num // den)).any() for d in apart)
