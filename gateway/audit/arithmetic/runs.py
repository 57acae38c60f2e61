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
from typing import Any, NamedTuple, NoReturn

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
        return Span(self._first, self._last, self._shift + self._whole(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Span":
        return Span(self._first, self._last, self._shift - self._whole(other))

    def __lt__(self, other: Any) -> bool:
        return self._below(self._whole(other))

    def __le__(self, other: Any) -> bool:
        return self._below(self._whole(other) + 1)

    def __gt__(self, other: Any) -> bool:
        return not self._below(self._whole(other) + 1)

    def __ge__(self, other: Any) -> bool:
        return not self._below(self._whole(other))

    def __eq__(self, other: object) -> bool:
        place = self._whole(other) - self._shift
        if self._first <= place <= self._last:
            raise SplitError(max(place, self._first + 1))
        return False

    def __bool__(self) -> bool:
        return self != 0

    def __floordiv__(self, other: Any) -> int:
        size = self._whole(other)
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

    def _below(self, limit: int) -> bool:
        place = limit - self._shift
        if self._first < place <= self._last:
            raise SplitError(place)
        return self._last < place

    def _whole(self, other: object) -> int:
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
