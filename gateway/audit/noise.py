"""Layer: what is added to what a device holds, and what that gives away, without chance.

First, `report` must be the reading and fresh draws of the named sampler at the named width, one
for each number, whatever the reading: the same tape must give the same payload, to the last bit.
Then epsilon follows from the sampler's own probabilities and the neighbours found hardest to
hide. It sees noise of another law or width, left out, shared, or put on in another place than
is said. It cannot see a sampler that has not its law; `exact` and `fit` look there.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from edge import noise

from . import hockey, units
from .claim import Claim, Effort, at_most, true
from .gravity import unit

WASTE = 1.01  # of one reading; several are counted in zCDP, which costs a little


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield, for each room, what is added and what is given away."""
    for name, query in mechanism.subject.rooms():
        round = mechanism.plan(query, ())
        yield added(name, mechanism, round, effort)
        yield folded(name, mechanism, round, effort)
        tape = effort.tape("sensitivity", name)
        found = mechanism.subject.search(query, round, tape, effort.pick(24, 400))
        shifts = [b - a for a, b in zip(found.before, found.after, strict=True)]
        family, args = mechanism.subject.noise(round)
        times = mechanism.subject.readings(query)
        given = GIVEN[family](name, shifts, args, times, round.guarantee)
        yield from (one for one in given if found.tight or unit(one).gravity != units.WASTE)


def added(name: str, mechanism: Any, round: Any, effort: Effort) -> Claim:
    """Return the claim that `report` adds independent draws of the law stated, and no more."""
    family, args = mechanism.subject.noise(round)
    sampler = getattr(noise, family)
    wrong = []
    inputs = mechanism.subject.inputs(round)
    for number, reading in enumerate(inputs):
        tape, again = (effort.tape("added", name, number) for _ in range(2))
        sent = mechanism.report(round, reading, tape)
        first, rest = mechanism.subject.unblurred(round, reading)
        meant = first + [value + sampler(*args, again) for value in rest]
        if list(sent) != meant or tape.bits(64) != again.bits(64):
            wrong.append(number)
    return true(
        f"{name}: a report is what the device holds plus fresh noise of the law that is planned "
        "on each number, and draws nothing else",
        not wrong,
        samples=len(inputs),
        detail=f"{family}{args}" + (f", not so for inputs {wrong[:5]}" if wrong else ""),
    )


def folded(name: str, mechanism: Any, round: Any, effort: Effort) -> Claim:
    """Return the claim that `release` adds and takes nothing where devices have blurred."""
    payloads = [
        mechanism.report(round, reading, effort.tape("folded", name))
        for reading in mechanism.subject.inputs(round)[-1:]
    ]
    tape, untouched = effort.tape("release"), effort.tape("release")
    values = mechanism.release(round, payloads, tape).values
    sent = sorted(value for payload in payloads for value in payload[1:])
    kept = sorted(value for value in values if value is not None)
    return true(
        f"{name}: a release is what devices sent, with nothing drawn and nothing taken off",
        sent == kept and tape.bits(64) == untouched.bits(64),
        samples=len(sent),
    )


def gaussian(
    name: str, shifts: Sequence[int], args: tuple[int, ...], times: int, promise: Any
) -> Iterator[Claim]:
    """Yield what discrete Gaussians of this variance give away of these neighbours."""
    promised, delta = (Fraction(*ratio) for ratio in (promise.epsilon, promise.delta))
    variance = args[0] / args[1]
    found = hockey.together(shifts, variance, times, blur=hockey.BLUR * float(promised))
    epsilon = hockey.epsilon(float(delta), found)
    yield at_most(
        f"{name}: neighbours give away no more than epsilon, by the exact probabilities of the "
        "noise, all readings of one promise together",
        float(promised),
        epsilon,
        unit="epsilon",
        samples=len(found.losses),
        detail=f"at delta {delta}, {times} reading{'s' * (times > 1)}",
    )
    yield at_most(
        f"{name}: nor is delta missed at the epsilon promised",
        float(delta),
        hockey.delta(float(promised), found),
        unit="delta",
        samples=len(found.losses),
    )
    if times == 1:
        yield at_most(
            f"{name}: nor is there noise for nothing",
            WASTE,
            float(promised) / epsilon if epsilon else math.inf,
            unit="claimed / found",
            samples=len(found.losses),
        )


def laplace(
    name: str, shifts: Sequence[int], args: tuple[int, ...], times: int, promise: Any
) -> Iterator[Claim]:
    """Yield what discrete Laplace noise of scale num/den gives away: a fraction, exactly."""
    given = times * sum(map(abs, shifts)) * Fraction(args[1], args[0])
    promised = Fraction(*promise.epsilon)
    yield Claim(
        f"{name}: neighbours give away no more than epsilon, exactly",
        float(promised),
        float(given),
        given <= promised,
        unit="epsilon",
        samples=len(shifts),
    )


GIVEN: dict[str, Callable[..., Iterator[Claim]]] = {"dgauss": gaussian, "dlaplace": laplace}
