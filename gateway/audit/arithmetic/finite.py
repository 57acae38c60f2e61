"""Layer: every answer to every reading, each with its exact weight.

For mechanisms that answer by one draw, from too many numbers to try each of them. Every cell and
every answer is looked at, with exact whole-number weights, in two ways: in the mechanism's rooms
through the whole of its `report`; and in families of many rounds through the device's own two
halves of it, the draw, which knows no reading, and the veil, which draws nothing. It sees an
answer that is too likely from somewhere, one that is missing, a law that is not the one which maps
are drawn with, and more reports than epsilon is for. Every number that can be drawn is accounted
for, in runs that provably answer alike (see `Span`).

The sweeps are the same in quick and in full: nothing of them is inferred from a symmetry. That an
answer moves with its cell is what the veil does, and it is called for each cell and each outcome.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from ..claim import Claim, Effort, at_most, true
from .accountant import ends
from .exact import ONE, decay
from .runs import weigh

# How unlike the exact laws of two readings are, at worst: over all pairs, and all answers.

Law = dict[Any, int]


class Worst:
    """The greatest and the least weight of each answer, over all readings of a round."""

    def __init__(self) -> None:
        self._answers: list[Any] = []
        self._most: list[int] = []
        self._least: list[int] = []
        self._missing: list[Any] = []  # answers that some readings have and others have not

    def add(self, law: Law) -> None:
        """Take in the law of one reading."""
        if not self._answers:
            self._answers = list(law)
            self._most = self._least = list(law.values())
            return
        self._missing += law.keys() ^ set(self._answers)
        weights = [law.get(answer, 0) for answer in self._answers]
        self._most = list(map(max, self._most, weights))
        self._least = list(map(min, self._least, weights))

    def ratio(self) -> tuple[Fraction | float, Any]:
        """Return the worst ratio of two readings' weights, and for which answer."""
        if self._missing:
            return math.inf, self._missing[0]
        pairs = dict(zip(zip(self._most, self._least, strict=True), self._answers, strict=True))
        (most, least), answer = max(pairs.items(), key=lambda pair: Fraction(*pair[0]))
        return Fraction(most, least), answer


class Family:
    """What was seen of rounds that promise the same."""

    def __init__(self, name: str, epsilon: Fraction) -> None:
        self.name, self.epsilon = name, epsilon
        self.samples = 0
        self.worst: Fraction | float = 0
        self.where = self.broken = self.unlike = ""

    def seen(self, name: str, found: Worst, samples: int) -> None:
        """Take in one round."""
        self.samples += samples
        ratio, answer = found.ratio()
        if ratio > self.worst:
            self.worst, self.where = ratio, f"{name}the answer {answer}"

    def claims(self) -> Iterator[Claim]:
        """Yield what holds of all of them."""
        yield true(
            f"{self.name}: every answer to every cell was found, and the weights add up",
            not self.broken,
            samples=self.samples,
            detail=self.broken,
        )
        yield true(
            f"{self.name}: each answer has the very weight that maps are drawn with",
            not self.unlike,
            samples=self.samples,
            detail=self.unlike,
        )
        # exp(epsilon) from below, so that the comparison is a proof.
        most = Fraction(ONE, decay(self.epsilon.numerator, self.epsilon.denominator).high)
        finite = 0 < self.worst < math.inf
        yield Claim(
            f"{self.name}: no answer is likelier for one cell than for another by more than "
            "exp(epsilon)",
            float(self.epsilon),
            math.log(self.worst) if finite else float(self.worst),
            self.worst <= most,
            unit="epsilon",
            samples=self.samples,
            detail=self.where,
        )


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
    yield _released(name, mechanism, round, sorted(answers, key=str), effort)
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


def _released(
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
