"""Layer `finite`, second part: answers by weight, too many numbers to a draw to try each.

Every cell and every answer is looked at, with exact whole-number weights, in two ways: in the
mechanism's rooms through the whole of its `report`; and in families of many rounds through the
device's own two halves of it, the draw, which knows no reading, and the veil, which draws nothing.
It sees an answer that is too likely from somewhere, one that is missing, a law that is not the one
which maps are drawn with, and more reports than epsilon is for. Every number that can be drawn is
accounted for, in runs that provably answer alike (see `runs` and `span`).

The sweeps are the same in quick and in full: nothing of them is inferred from a symmetry. That an
answer moves with its cell is what the veil does, and it is called for each cell and each outcome.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from .claim import Claim, Effort, at_most, true
from .price import ends
from .runs import weigh
from .unlike import Family, Law, Worst


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what holds in each room, and in each family of rounds."""
    for name, query in mechanism.subject.rooms():
        yield from _room(name, query, mechanism, effort)
    for name, queries in mechanism.subject.sweeps(effort.full):
        yield from _swept(name, queries, mechanism)


def _room(name: str, query: Any, mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what a device answers in one room, through the whole of its report."""
    subject, round = mechanism.subject, mechanism.plan(query, ())
    times = subject.readings(query)
    seen = Family(name, Fraction(*round.guarantee.epsilon) / times)
    answers: set[Any] = set()
    found, stated = Worst(), subject.stated(round)
    for reading in subject.inputs(round):

        def program(rng: Any, reading: Any = reading) -> Any:
            return tuple(mechanism.report(round, reading, rng))

        law = _law(program, seen)
        if law != stated(reading):
            seen.unlike = f"of the cell {reading}"
        found.add(law)
        answers |= law.keys()
    seen.seen("", found, len(subject.inputs(round)) * len(answers))
    yield from seen.claims()
    yield _counted(name, mechanism, round, sorted(answers, key=str), effort)
    one = subject.spent(round)
    yield at_most(
        f"{name}: what a device takes its reports to cost is no more than epsilon, all together",
        float(seen.epsilon * times),
        float(one * times),
        unit="epsilon",
        samples=times,
    )
    rho = Fraction(*round.guarantee.rho)
    yield true(
        f"{name}: a report is priced at no less than epsilon squared over two, in rho",
        rho >= one * one / 2,
        samples=1,
    )
    yield ends(name, mechanism, query, times, effort)


def _swept(name: str, queries: Sequence[Any], mechanism: Any) -> Iterator[Claim]:
    """Yield what devices answer in many rounds, through their draw and their veil."""
    subject, seen = mechanism.subject, None
    for query in queries:
        round = mechanism.plan(query, ())
        epsilon = Fraction(*round.guarantee.epsilon) / subject.readings(query)
        seen = seen or Family(name, epsilon)
        if epsilon != seen.epsilon:
            raise ValueError(f"{name} has rounds of epsilon {seen.epsilon} and of {epsilon}")
        enumerated(subject, round, seen, f"{query}, ")
    if seen:
        yield from seen.claims()


def enumerated(subject: Any, round: Any, seen: Family, name: str) -> None:
    """Take every answer to every reading of a round into what is seen, by draw and veil."""
    drawn = _law(subject.drawing(round), seen)
    found, stated, inputs = Worst(), subject.stated(round), subject.inputs(round)
    for reading in inputs:
        law: Law = {}
        for outcome, weight in drawn.items():
            answer = subject.veiled(round, reading, outcome)
            law[answer] = law.get(answer, 0) + weight
        if law != stated(reading):
            seen.unlike = f"of {name}the cell {reading}"
        found.add(law)
    seen.seen(name, found, len(inputs) * len(drawn))


def _law(program: Callable[[Any], Any], seen: Family) -> Law:
    """Return the exact law of a program, and note where it is none."""
    found = weigh(program)
    if found.broken or sum(found.law.values()) != found.total:
        seen.broken = found.broken or f"weights add to {sum(found.law.values())} of {found.total}"
    return found.law


def _counted(
    name: str, mechanism: Any, round: Any, answers: Sequence[Any], effort: Effort
) -> Claim:
    """Return the claim that `release` takes all, and draws nothing: answers are private no more.

    One that it refuses would be missing from a count, and tell of where it came from.
    """
    tape, untouched = effort.tape("release"), effort.tape("release")
    refused = []
    for answer in answers:
        try:
            mechanism.release(round, [list(answer)], tape)
        except ValueError as why:
            refused.append(f"{answer}: {why}")
    return true(
        f"{name}: a release takes whatever devices answer, and draws nothing",
        not refused and tape.bits(64) == untouched.bits(64),
        samples=len(answers),
        detail=refused[0] if refused else "",
    )
