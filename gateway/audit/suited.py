"""Layer `rounds`, second part: a device that a Round's noise is not made for does not answer it.

A converter with coarser steps moves readings further than the noise hides, and answers that come
faster than the limits say are more than were meant. What it cannot see: a converter that has
other steps than the device was told.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

from edge.node import Node

from .bench import Device, asked_of, message
from .claim import Claim, at_most, true

STEPS = tuple(map(Fraction, ("1/64", "1/32", "1/16", "1/48", "3/32", "1/10", "1/9", "1/8", "1")))
PACE_MS = 5000


def claims(name: str, round: Any, root: bytes) -> Iterator[Claim]:
    """Yield what devices answer that have a converter, and how fast any does."""
    if asked_of(round).CONVERTED:
        yield from _converters(name, round, root)
    yield _paced(name, round, root)


def _converters(name: str, round: Any, root: bytes) -> Iterator[Claim]:
    size = Fraction(2) ** -round.params[1]  # of a grain, in kelvin
    planned, wrong, silent = round.params[5] * size, [], []
    fine = [planned, planned / 3, *(step for step in STEPS if (planned / step).denominator == 1)]
    for step in {*STEPS, *fine}:
        device = Device(round, root)
        node = Node(device.identity, device.budget, step.as_integer_ratio())
        frame = node.answer(message(round, 1)[1], lambda params: (7,))
        if frame is None and step in fine:
            silent.append(f"{step} K")
        if frame is not None and any(
            _moved(dy * size / 8, step, size) > _moved(dy * size / 8, planned, size)
            for dy in range(1, 8 * math.ceil(20 * max(step, planned) / size))
        ):
            wrong.append(f"{step} K")
    yield at_most(
        f"{name}: no device answers whose converter moves readings further than is hidden",
        0,
        len(wrong),
        unit="converters",
        samples=len({*STEPS, *fine}),
        detail=", ".join(wrong),
    )
    yield true(
        f"{name}: every device whose steps divide the planned ones answers",
        not silent,
        samples=len(fine),
        detail=", ".join(silent),
    )


def _moved(change: Fraction, step: Fraction, size: Fraction) -> int:
    """Return by how many grains a change of temperature can change what is sent, at the most."""
    return math.ceil(math.ceil(change / step) * step / size)


def _paced(name: str, round: Any, root: bytes) -> Claim:
    device, answered, asked = Device(round, root), [], 40
    device.node.tighten(device.order(device.limits._replace(version=2, pace_ms=PACE_MS)))
    for number in range(1, asked + 1):
        now_ms = number * PACE_MS // 4
        signed, values = message(round, number)[1], device.seen(number)
        if device.node.answer(signed, lambda params, given=values: given, now_ms=now_ms):
            answered.append(now_ms)
    gaps = [later - earlier for earlier, later in pairwise(answered)]
    return true(
        f"{name}: answers keep the time apart that the limits say, however fast they are asked",
        bool(gaps) and min(gaps) >= PACE_MS,
        samples=asked,
        detail=f"{len(answered)} answers, {min(gaps, default=0)} ms apart at the least",
    )
