"""Layer: every answer to every reading, each with its exact weight.

For mechanisms that answer by one draw, from too many numbers to try each of them. Every cell and
every answer is looked at, with exact whole-number weights, in two ways: in the mechanism's rooms
through the whole of its `report`; and in families of many rounds through the device's own two
halves of it, the draw, which knows no reading, and the veil, which draws nothing. It sees an
answer that is too likely from somewhere, one that is missing, a law that is not the one which maps
are drawn with, and more reports than epsilon is for. Every number that can be drawn is accounted
for, in runs that provably answer alike (see `Span`).

Nothing of the sweeps is inferred from a symmetry; in full they are larger. That an
answer moves with its cell is what the veil does, and it is called for each cell and each outcome.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

from ..claim import Claim, Effort, claim_at_most, claim_fact
from .accountant import claim_total
from .exact import ONE, bound_decay

# One number that stands for many: what a program does with it, it does with each of them.
#
# A Span is handed to a program in the place of a drawn number. It answers every question about
# itself that has one answer for all of its numbers, and where there is none it says up to which
# number there is: a SplitError, and the program is run anew on either part.
#
# Why that is a proof. A Span of first to last, shifted by s, stands for d + s with first <= d <=
# last. What each operation gives is what Python's own whole numbers give for every such d:
#
#     + k, - k      another shift: (d + s) + k = d + (s + k)
#     < k           the same for all d where it is the same for the first and the last, for d + s
#                   grows with d; else it changes once, at d = k - s. So for the other comparisons
#     // k, k > 0   rounding down keeps the order too: one quotient q for the first and the last is
#                   one for all; else it changes first at d = (q + 1) k - s
#     % k           where q is one for all, d + s - q k: another shift
#     all else      asks which number it is, and no Span of more than one knows: it is split
#
# By induction over the steps of the program the same path is taken and the same is returned for
# all numbers of a Span that was not split. Nothing is sampled, and no order of the answers is
# needed.
#
# What it cannot see: a program that asks what kind of thing a number is (`type`, `isinstance`) and
# then does something else with a whole number. So the ends are tried as whole numbers too.


class SplitError(BaseException):
    """The numbers from `at` on are to be tried by themselves; no program may catch this."""

    def __init__(self, at: int) -> None:
        self.at = at


class Span:
    """The numbers first + shift to last + shift, more than one; `at` of a split counts without."""

    __slots__ = ("_first", "_last", "_shift")

    def __init__(self, first: int, last: int, shift: int = 0) -> None:
        self._first, self._last, self._shift = first, last, shift

    def __add__(self, other: Any) -> "Span":
        return Span(self._first, self._last, self._shift + self._check_operand(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Span":
        return Span(self._first, self._last, self._shift - self._check_operand(other))

    def __lt__(self, other: Any) -> bool:
        return self._is_below(self._check_operand(other))

    def __le__(self, other: Any) -> bool:
        return self._is_below(self._check_operand(other) + 1)

    def __gt__(self, other: Any) -> bool:
        return not self._is_below(self._check_operand(other) + 1)

    def __ge__(self, other: Any) -> bool:
        return not self._is_below(self._check_operand(other))

    def __eq__(self, other: object) -> bool:
        place = self._check_operand(other) - self._shift
        if self._first <= place <= self._last:
            raise SplitError(max(place, self._first + 1))
        return False

    def __bool__(self) -> bool:
        return self != 0

    def __floordiv__(self, other: Any) -> int:
        size = self._check_operand(other)
        if size < 1:
            self._split()
        quotient = (self._first + self._shift) // size
        if (self._last + self._shift) // size != quotient:
            raise SplitError((quotient + 1) * size - self._shift)
        return quotient

    def __mod__(self, other: Any) -> "Span":
        return self - (self // other) * other

    def __divmod__(self, other: Any) -> tuple[int, "Span"]:
        return self // other, self % other

    def _is_below(self, limit: int) -> bool:
        place = limit - self._shift
        if self._first < place <= self._last:
            raise SplitError(place)
        return self._last < place

    def _check_operand(self, other: object) -> int:
        """Return the other number of an operation; one that is no whole number is not for all."""
        return other if isinstance(other, int) else self._split()

    def _split(self, *_: Any) -> NoReturn:
        raise SplitError(self._first + 1)

    __index__ = __int__ = __float__ = __hash__ = __str__ = __repr__ = __format__ = _split
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __rfloordiv__ = __rmod__ = _split
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = _split
    __rshift__ = __rrshift__ = __pow__ = __rpow__ = __rsub__ = __rdivmod__ = _split
    __neg__ = __pos__ = __abs__ = __invert__ = __round__ = __trunc__ = _split

    def __getattr__(self, name: str) -> Any:
        """Answer to what else whole numbers have (`bit_length`, `to_bytes`), each by itself."""
        if hasattr(int, name):
            self._split()
        raise AttributeError(name)


MOST = 1 << 18  # runs; a program that has more cannot be followed


class Weights(NamedTuple):
    """The exact law of a program: answers and their weights, which add to `total`."""

    law: dict[Any, int]
    total: int
    tried: int  # times that the program was run
    broken: str = ""  # why this is no law after all, "" if it is one


class _Given:
    """A source of random numbers that gives one number or Span once, and notes below what."""

    def __init__(self, value: int | Span) -> None:
        self.value, self.below_what = value, 0

    def below(self, n: int) -> int | Span:
        if self.below_what:
            raise TwiceError("more than one number was drawn for an answer")
        self.below_what = n
        return self.value


class TwiceError(Exception):
    """This is no program of one draw."""


def weigh_answers(program: Callable[[Any], Hashable], most: int = MOST) -> Weights:
    """Return the law of a program that makes one draw, from its runs of equal answers.

    A program that asks `below(n)` once, with n beyond what can be tried, answers the same for long
    runs of values: weights of cells, laid end to end. The program is run on a `Span`, which stands
    for all values of a run and is split wherever they part, until each run is one that was never
    split: then all its values are answered so, by the proof at `Span`. Its first and its last
    value are tried as plain numbers beside that. The lengths of the runs that have one answer add
    up to its exact weight out of n.

    Args:
        program: called with a source of random numbers; what it returns is its answer.
        most: how many runs are followed.
    """
    law: defaultdict[Hashable, int] = defaultdict(int)
    tried = runs = total = 0

    def answer(value: int | Span) -> Hashable:
        nonlocal tried, total
        tried += 1
        given = _Given(value)
        found = program(given)
        hash(found)  # an answer that holds the number itself is not the same for a whole Span
        total = total or given.below_what
        if given.below_what != total:
            raise TwiceError(f"one draw was below {given.below_what}, another below {total}")
        return found

    try:
        answer(0)
        pending = [(0, total - 1)] if total else []
        while pending:
            first, last = pending.pop()
            try:
                found = answer(Span(first, last) if first < last else first)
            except SplitError as split:
                pending += [(split.at, last), (first, split.at - 1)]
                continue
            runs += 1
            law[found] += last - first + 1
            if first < last and not answer(first) == found == answer(last):
                return Weights(dict(law), total, tried, f"{first} to {last} are not all {found}")
            if runs > most:
                return Weights(dict(law), total, tried, f"it has more than {most} runs")
    except TwiceError as why:
        return Weights(dict(law), 0, tried, str(why))
    return Weights(dict(law), total, tried)


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

    def find_worst_ratio(self) -> tuple[Fraction | float, Any]:
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

    def add_round(self, name: str, found: Worst, samples: int) -> None:
        """Take in one round."""
        self.samples += samples
        ratio, answer = found.find_worst_ratio()
        if ratio > self.worst:
            self.worst, self.where = ratio, f"{name}the answer {answer}"

    def claims(self) -> Iterator[Claim]:
        """Yield what holds of all of them."""
        sentence = f"{self.name}: every answer to every cell was found, and the weights add up"
        yield claim_fact(sentence, not self.broken, samples=self.samples, detail=self.broken)
        sentence = f"{self.name}: each answer has the very weight that maps are drawn with"
        yield claim_fact(sentence, not self.unlike, samples=self.samples, detail=self.unlike)
        # exp(epsilon) from below, so that the comparison is a proof.
        most = Fraction(ONE, bound_decay(self.epsilon.numerator, self.epsilon.denominator).high)
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
    for name, query in mechanism.subject.list_queries():
        yield from _claim_room(name, query, mechanism, effort)
    for name, queries in mechanism.subject.list_sweeps(effort.full):
        yield from _sweep(name, queries, mechanism)


def _claim_room(name: str, query: Any, mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what a device answers in one room, through the whole of its report."""
    subject, round = mechanism.subject, mechanism.plan(query, ())
    times = query.readings
    seen = Family(name, Fraction(*round.guarantee.epsilon) / times)
    answers: set[Any] = set()
    found, stated = Worst(), subject.find_weights(round)
    for reading in subject.list_readings(round):

        def program(rng: Any, reading: Any = reading) -> Any:
            return tuple(mechanism.report(round, reading, rng))

        law = _compute_law(program, seen)
        if law != stated(reading):
            seen.unlike = f"of the cell {reading}"
        found.add(law)
        answers |= law.keys()
    seen.add_round("", found, len(subject.list_readings(round)) * len(answers))
    yield from seen.claims()
    yield _claim_release(name, mechanism, round, sorted(answers, key=str), effort)
    one = subject.price_answer(round)
    yield claim_at_most(
        f"{name}: what a device takes its reports to cost is no more than epsilon, all together",
        seen.epsilon * times,
        one * times,
        unit="epsilon",
        samples=times,
    )
    rho = Fraction(*round.guarantee.rho)
    sentence = f"{name}: a report is priced at no less than epsilon squared over two, in rho"
    yield claim_fact(sentence, rho >= one * one / 2, samples=1)
    yield claim_total(name, mechanism, query, times, effort)


def _sweep(name: str, queries: Sequence[Any], mechanism: Any) -> Iterator[Claim]:
    """Yield what devices answer in many rounds, through their draw and their veil."""
    subject, seen = mechanism.subject, None
    for query in queries:
        round = mechanism.plan(query, ())
        epsilon = Fraction(*round.guarantee.epsilon) / query.readings
        seen = seen or Family(name, epsilon)
        if epsilon != seen.epsilon:
            raise ValueError(f"{name} has rounds of epsilon {seen.epsilon} and of {epsilon}")
        enumerate_answers(subject, round, seen, f"{query}, ")
    if seen:
        yield from seen.claims()


def enumerate_answers(subject: Any, round: Any, seen: Family, name: str) -> None:
    """Take every answer to every reading of a round into what is seen, by draw and veil."""
    drawn = _compute_law(subject.make_draw(round), seen)
    found, stated, inputs = Worst(), subject.find_weights(round), subject.list_readings(round)
    for reading in inputs:
        law: Law = {}
        for outcome, weight in drawn.items():
            answer = subject.make_payload(round, reading, outcome)
            law[answer] = law.get(answer, 0) + weight
        if law != stated(reading):
            seen.unlike = f"of {name}the cell {reading}"
        found.add(law)
    seen.add_round(name, found, len(inputs) * len(drawn))


def _compute_law(program: Callable[[Any], Any], seen: Family) -> Law:
    """Return the exact law of a program, and note where it is none."""
    found = weigh_answers(program)
    if found.broken or sum(found.law.values()) != found.total:
        seen.broken = found.broken or f"weights add to {sum(found.law.values())} of {found.total}"
    return found.law


def _claim_release(
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
    return claim_fact(
        f"{name}: a release takes whatever devices answer, and draws nothing",
        not refused and tape.bits(64) == untouched.bits(64),
        samples=len(answers),
        detail=refused[0] if refused else "",
    )
