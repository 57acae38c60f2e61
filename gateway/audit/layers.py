"""The table of layers: one line each, and the audit runs them all over all mechanisms."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from . import accountant, counts, exact, lint, noise, price, promise, sensitivity
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


NOISE = ("noise",)

# The longest first, for two of them run at a time.
LAYERS: tuple[Layer, ...] = (
    Layer("accountant", "numbers below the truth, sums that lose", accountant.claims, False),
    Layer("exact", "samplers, all that they can draw", exact.claims, False),
    Layer("noise", "what is added, and what it gives away", noise.claims, kinds=NOISE),
    Layer("sensitivity", "more change than was priced", sensitivity.claims, kinds=NOISE),
    Layer("price", "less noise than was promised", price.claims, kinds=NOISE),
    Layer("counts", "a converter's steps and grains", counts.claims, False),
    Layer("promise", "floats in what is stated, and gaps", promise.claims),
    Layer("lint", "floats, chance, clocks and prints in the source", lint.claims, False),
)
