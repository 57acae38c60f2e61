"""Layer: a device that draws its answer says nothing beside it, and answers no more than it may.

Real devices with budgets, which answer signed Rounds with signed frames. It sees lengths or words
that follow what a device was told, an answer made anew when it is asked again, Rounds of too large
an epsilon that are answered, and epsilons that add up to too much. It cannot see what somebody
adds to a device beside `edge`.

A sealed device mixes the system's own entropy in, so how often it answered near by differs from
run to run.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from .bench import Device, message
from .claim import Claim, Effort, at_most, true
from .wagers import wagered

ANSWERS = 6  # of a device's life
RUBBISH: tuple[Any, ...] = (
    None,
    1.5,
    "21",
    (1.5, 0),
    (1.0, 0.0),
    (1e9, 0),
    (float("nan"), 0),
    (True, False),
)
RUBBISH += ((1 << 127, 0), ("2", "1"), (None, 0), (), "7", (1, 2, 3))


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what devices say in each room, and how often."""
    subject = mechanism.subject
    root = effort.root("spoken")
    for name, query in subject.rooms():
        round = mechanism.plan(query, ())
        yield from _alike(name, subject, round, root)
        yield _silent(name, subject, round, root)
        yield from _priced(name, subject, query, round, root)
        yield _refused(name, subject, round, root)
    yield from wagered(mechanism, effort)


def _alike(name: str, subject: Any, round: Any, root: bytes) -> Iterator[Claim]:
    """Yield what differs between devices that are told different things: their answers alone."""
    readings = subject.inputs(round)
    told = (readings[0].values, readings[len(readings) // 2].values, readings[-1].values)
    limits = subject.limits(round, ANSWERS)
    devices = [Device(round, root, held=limits) for _ in told]
    lengths: list[set[int | None]] = []
    words: list[set[str]] = []
    again = []
    for number in range(1, 2 * ANSWERS + 1):
        _, signed = message(round, number)
        frames = [one.answer(signed, values) for one, values in zip(devices, told, strict=True)]
        lengths.append({None if frame is None else len(frame) for frame in frames})
        words.append({one.said() for one in devices})
        anew = [
            one.answer(signed, values) for one, values in zip(devices, told[::-1], strict=True)
        ]
        again.append(anew == frames)
    yield true(
        f"{name}: a frame is as long, and what is said beside it the same, wherever a device is",
        all(len(long) == len(said) == 1 for long, said in zip(lengths, words, strict=True)),
        samples=len(lengths),
    )
    yield true(
        f"{name}: a Round asked again gets the same bytes, even from somewhere else",
        all(again),
        samples=len(again),
    )
    yield true(
        f"{name}: a device whose budget is out stays silent, and says that it is exhausted",
        lengths[ANSWERS:] == [{None}] * ANSWERS
        and None not in lengths[ANSWERS - 1]
        and all(one.node.state() == "exhausted" for one in devices),
        samples=len(lengths),
    )


def _silent(name: str, subject: Any, round: Any, root: bytes) -> Claim:
    """Return whether what a broken sensor gives, a secret still, gets into any word of it."""
    _, signed = message(round, 1)
    limits = subject.limits(round, ANSWERS)
    devices = [Device(round, root, held=limits) for _ in RUBBISH]
    said = {
        (one.answer(signed, rubbish), one.said())
        for one, rubbish in zip(devices, RUBBISH, strict=True)
    }
    return true(
        f"{name}: what is no place makes no frame, and nothing of it is said",
        len(said) == 1 and next(iter(said))[0] is None,
        samples=len(RUBBISH),
        detail="" if len(said) == 1 else f"{len(said)} different answers",
    )


def _priced(name: str, subject: Any, query: Any, round: Any, root: bytes) -> Iterator[Claim]:
    """Yield what a device answers in all its life, over a start, and what that adds up to."""
    times, one = subject.readings(query), subject.spent(round)
    device, answers = Device(round, root, held=subject.limits(round, times)), 0
    where = subject.inputs(round)[0].values
    for number in range(1, 2 * times + 3):
        if number == 2 * times + 2:  # a start costs what is left of a lease
            device.boot()
        answers += device.answer(message(round, number)[1], where) is not None
    yield at_most(
        f"{name}: what a device answers in the life of its key adds up to epsilon at the most",
        float(Fraction(*round.guarantee.epsilon)),
        float(answers * one),
        unit="epsilon",
        samples=2 * times + 2,
    )
    yield true(
        f"{name}: a device answers as often as was promised, and then never again",
        answers == times and device.node.state() == "exhausted",
        samples=2 * times + 2,
        detail=f"{answers} of {times}",
    )
    yield at_most(
        f"{name}: a device charges no less for an answer than it is worth",
        float(Fraction(device.budget.spent, times * 10**9)),
        float(one * one / 2),
        unit="rho",
        samples=times,
    )


def _refused(name: str, subject: Any, round: Any, root: bytes) -> Claim:
    """Return whether anything is answered that asks for more than was enrolled or promised."""
    num, den = round.guarantee.epsilon
    less = round.guarantee._replace(epsilon=(num, 1000 * den))
    asked = [(f"a promise of {num}/{1000 * den}", round._replace(guarantee=less), "sealed")]
    asked += [("a key that is held", round, "keyholder")]
    asked += [(words, bent, "sealed") for words, bent in subject.bent(round)]
    answered, limits = [], subject.limits(round, ANSWERS)
    for words, bent, mode in asked:
        device = Device(round, root, held=limits, mode=mode)
        frame = device.answer(message(bent, 1)[1], subject.inputs(round)[0].values)
        if frame is not None or device.budget.spent:
            answered.append(words)
    return at_most(
        f"{name}: no Round is answered or charged that asks for more than a device may give",
        0,
        len(answered),
        unit="Rounds",
        samples=len(asked),
        detail=", ".join(answered),
    )
