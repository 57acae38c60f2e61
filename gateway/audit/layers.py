"""The table of layers: one line each, and the audit runs them all over all mechanisms."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from . import lint, promise
from .claim import Claim, Effort


class Layer(NamedTuple):
    """One way to look.

    run(mechanism, effort) yields claims, and leaves it to the runner to say of which mechanism
    and layer they are, from which seed and how long they took: the time between two claims.
    """

    name: str
    about: str  # what it can see, in one sentence
    run: Callable[[Any, Effort], Iterable[Claim]]
    each: bool = True  # once for each mechanism; else once for the house, with None
    kinds: tuple[str, ...] = ("noise", "finite")  # of the mechanisms that it can look at


LAYERS: tuple[Layer, ...] = (
    Layer("promise", "what a round states is whole numbers and ratios", promise.claims),
    Layer(
        "lint",
        "floats, other doors to chance, clocks and prints in the source",
        lint.claims,
        False,
    ),
)
