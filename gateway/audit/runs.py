"""What one wide draw decides, in exact whole numbers, for each of its values, none tried alone.

A program that asks `below(n)` once, with n beyond what can be tried, answers the same for long
runs of values: weights of cells, laid end to end. The program is run on a `Span`, which stands for
all values of a run and is split wherever they part, until each run is one that was never split:
then all its values are answered so, by the proof in `span`. Its first and its last value are tried
as plain numbers beside that. The lengths of the runs that have one answer add up to its exact
weight out of n.

What it cannot see: a program that treats a number by what kind of thing it is (see `span`).
"""

from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from .span import Span, SplitError

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


def weigh(program: Callable[[Any], Hashable], most: int = MOST) -> Weights:
    """Return the law of a program that makes one draw, from its runs of equal answers.

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
