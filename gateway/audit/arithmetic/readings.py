"""Layers `counts` and `levels`: what becomes of a reading before it is blurred."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from edge.core import pixels
from edge.core.background import Follower
from physics.sensors import to_grains

from ..bench import Device
from ..claim import Claim, Effort, claim_at_most, claim_fact, claim_none

STEPS = (Fraction(1, 4), Fraction(1, 10), Fraction(1, 16), Fraction(3, 7))  # in kelvin
EXPONENTS = range(-3, 13)
REACH = 150  # counts, up and down


def counts_claims(mechanism: None, effort: Effort) -> Iterator[Claim]:
    """Yield, for each converter, that every count becomes the grains that are planned for.

    From the steps of a converter to grains, on a device and in the simulator. The noise is made
    for readings that are rounded in one way: to steps first, then to grains, each to the nearest.
    It sees another order, another rounding, or one that moves two readings further apart than the
    noise is made for. It cannot see what a sensor does before its converter.
    """
    span = list(range(-REACH, REACH + 1))
    own = getattr(effort.own.query, "step", None) if effort.own else None
    for step in STEPS if own is None else {*STEPS, own}:
        wrong = []
        for exponent in EXPONENTS:
            ratio, size = step.as_integer_ratio(), step * Fraction(2) ** exponent
            sent = pixels.subtract_baseline(span, [0] * len(span), exponent, ratio)
            seen = to_grains([float(count * step) for count in span], exponent, step)
            meant = round_half_up(span, size)
            if not sent == seen == meant or are_too_far(meant, size):
                wrong.append(f"at a grain of 2**{-exponent} K")
        yield claim_none(
            f"steps of {step} K: a device, the simulator and the formula turn a reading into the "
            "same number to send, two of them never further apart than planned for",
            wrong,
            samples=len(span) * len(EXPONENTS),
        )


def round_half_up(counts: list[int], size: Fraction) -> tuple[int, ...]:
    """Return floor(count * size + 1/2) for each count."""
    num, den = size.as_integer_ratio()
    return tuple((2 * count * num + den) // (2 * den) for count in counts)


def are_too_far(grains: tuple[int, ...], size: Fraction) -> bool:
    """Say whether counts so many apart are more than that many steps of grains apart."""
    num, den = size.as_integer_ratio()
    sent = np.array(grains)
    apart = range(1, len(sent))
    return any((np.abs(sent[d:] - sent[:-d]) > -(-d * num // den)).any() for d in apart)


READINGS = 5
FINER = 4  # grains: the planned one, and those of a half, a quarter and an eighth


def levels_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what each room's levels give away, what others cost, and when a device's moves.

    What a level that follows the readings gives away, and who can move it. Two worlds, as far
    apart as the search finds any: their levels are led apart by real followers, one way as long as
    there is time, and then the worlds change places. It sees noise that is made for readings
    alone, a level that is faster than planned, one that outlives its window, and one that moves
    for a Round that is not answered. It cannot see worlds that part further by going back and
    forth; `tests/edge/core/test_background` enumerates all of those that are small.
    """
    rooms = dict(mechanism.subject.list_following())
    if effort.own:
        rooms = {effort.own.name: replace(effort.own.query, background="recorded", slew=None)}
    for name, query in rooms.items():
        plain = replace(query, readings=READINGS)
        yield from _lead_apart(name, mechanism, plain, effort)
    yield from _on_a_device(mechanism.plan(plain, ()), effort)


def _lead_apart(name: str, mechanism: Any, plain: Any, effort: Effort) -> Iterator[Claim]:
    subject = mechanism.subject
    made = subject.calibrate_query(plain)
    # So slow that a level comes a third of the way of what a reading can change, and as many
    # grains and a bit, which the planned grain rounds off and a finer one does not.
    way = math.isqrt(made.sensitivity_squared) // 3 + Fraction(3, 10)
    slew = way * Fraction(2) ** -made.exponent / (READINGS - 1)
    query = replace(plain, background="following", slew=slew)
    round = mechanism.plan(query, ())
    found = subject.search_neighbours(
        query, round, effort.tape("levels", name), effort.pick(8, 100)
    )
    middle = [(a + b) // 2 for a, b in zip(found.before, found.after, strict=True)]
    worlds = [
        [x - m for x, m in zip(world, middle, strict=True)]
        for world in (found.before, found.after)
    ]
    levels = partial(subject.make_follower, query)
    most = max(_measure_gap(levels, round, worlds, finer, finer) for finer in range(FINER))
    pairs = product(range(FINER), repeat=2)
    mixed = max(_measure_gap(levels, round, worlds, *pair) for pair in pairs)
    yield claim_at_most(
        f"{name}: no two worlds change what is sent, less levels that follow, by more than the "
        "noise is made for",
        math.sqrt(subject.find_sensitivity(round)),
        math.sqrt(most),
        unit="grains",
        samples=found.tried,
        detail=found.where,
    )
    yield claim_at_most(
        f"{name}: nor where Rounds ask in other grains than those that led the levels apart",
        math.sqrt(subject.find_sensitivity(round)),
        math.sqrt(mixed),
        unit="grains",
        samples=FINER**2,
    )
    sentence = f"{name}: levels that follow can be led apart, so that the noise must be wider"
    yield claim_fact(sentence, most > found.square, samples=found.tried)
    after = replace(plain, background="gateway", background_k=4.0, empty_readings=2)
    yield claim_fact(
        f"{name}: a level that is taken away after the veil makes no noise wider nor narrower",
        subject.calibrate_query(after) == made
        and mechanism.plan(after, ()).guarantee == mechanism.plan(plain, ()).guarantee,
        samples=1,
    )


def _measure_gap(
    levels: Callable[[], Any],
    round: Any,
    worlds: list[list[int]],
    finer: int,
    last: int,
) -> float:
    """Return the most that two worlds change what is sent, squared in the Round's own grains.

    Args:
        finer: in grains so many halvings finer, as a device must answer too.
        last: the same of the grains in which it is looked how far apart they are.
    """
    exponent, most = round.params[1], 0
    there, seen = ([[x << more for x in world] for world in worlds] for more in (finer, last))
    one, other = levels(), levels()
    for _ in range(3 * READINGS):  # as if the window had no end
        # What were sent if they changed places now; but then they go on as before.
        told = one.subtract(seen[1], exponent + last), other.subtract(seen[0], exponent + last)
        most = max(most, sum((a - b) ** 2 for a, b in zip(*told, strict=True)))
        for level, world in zip((one, other), there, strict=True):
            level.subtract(world, exponent + finer)
            level.follow()
    return most / 4**last


def _on_a_device(round: Any, effort: Effort) -> Iterator[Claim]:
    device = Device(round, effort.root("levels"))
    level, exponent = Follower((1 << 20, 1), 1000), round.params[1]
    device.node._follower = level
    quiet = round._replace(params=(*round.params[:4], 1, *round.params[5:]))
    moves = []
    for number, asked, value in (
        (1, round, 5),
        (1, round, 50),  # again
        (2, quiet, 500),  # refused
        (2, round, None),  # the sensor fails
        (1, round, 5000),  # long answered
        (2, round, 7),
    ):
        device.ask(number, [value], asked)
        moves.append(1000 - level.subtract((1000,), exponent)[0])
    sentence = "a level moves once for each Round that is answered, by the reading that was sent"
    yield claim_fact(sentence, moves == [5, 5, 5, 5, 5, 7], samples=len(moves), detail=str(moves))
