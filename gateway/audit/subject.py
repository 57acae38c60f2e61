"""What the audit must know of a mechanism, which brings it as `recovery/<name>_audit.py`.

Two kinds. A mechanism that adds noise is judged by its sensitivity and by the law of the noise;
a finite one by the probability of each answer to each input, all of them enumerated. Either is
audited by standing in the table of mechanisms: no layer knows a mechanism by name.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Protocol


class Found(Protocol):
    """The two neighbours that a search found to differ most, in the whole numbers sent."""

    @property
    def before(self) -> tuple[int, ...]: ...

    @property
    def after(self) -> tuple[int, ...]: ...

    @property
    def where(self) -> str:
        """In words."""

    @property
    def tried(self) -> int:
        """How many moves and backgrounds."""


class Blurring(Protocol):
    """A mechanism whose `report` is what a device holds, plus noise on some of its numbers.

    NAME: of the mechanism. KIND: "noise".
    """

    NAME: str
    KIND: str

    def rooms(self) -> Iterable[tuple[str, Any]]:
        """Yield queries that can be tried to the end, named, each there for some fault."""

    def neighbours(self, query: Any, round: Any) -> tuple[Any, Any]:
        """Return the whole-number readings of two neighbours that are hard to hide."""

    def inputs(self, round: Any) -> Sequence[Any]:
        """Return readings that a device may hold, the extremes and beyond included."""

    def unblurred(self, round: Any, reading: Any) -> tuple[list[int], list[int]]:
        """Return the numbers of a payload that get no noise, and then those that do."""

    def noise(self, round: Any) -> tuple[str, tuple[int, ...]]:
        """Return the sampler in `edge.noise` whose law each of those numbers gets, with args."""

    def promised(self, round: Any) -> Fraction:
        """Return the sensitivity that the round was priced for: squared l2 for a Gaussian."""

    def search(self, query: Any, round: Any, rng: Any, tries: int) -> Found:
        """Return the neighbours that differ most, found by trying, independent of the plan."""

    def readings(self, query: Any) -> int:
        """Return for how many reports of one device the promise holds."""


class Enumerable(Protocol):
    """A mechanism whose `report` draws one of few answers, each with a rational chance.

    NAME: of the mechanism. KIND: "finite". Neighbours are any two inputs.
    """

    NAME: str
    KIND: str

    def rooms(self) -> Iterable[tuple[str, Any]]:
        """Yield queries, named, whose rounds draw from so few that all can be enumerated."""

    def inputs(self, round: Any) -> Sequence[Any]:
        """Return all readings that a device may hold."""


Subject = Blurring | Enumerable
