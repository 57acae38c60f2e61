"""The table of layers: one line each, and the audit runs them all over all mechanisms."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from . import (
    accountant,
    after,
    bounded,
    counts,
    crash,
    device,
    enrolled,
    exact,
    finite,
    fit,
    forged,
    holders,
    interpreters,
    kept,
    keying,
    labels,
    links,
    lint,
    moments,
    noise,
    price,
    promise,
    sensitivity,
    signed,
    streams,
    words,
)
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
    Layer("interpreters", "Pythons that disagree", interpreters.claims, False),
    Layer("device", "two rooms told apart, from plan to release", device.claims, kinds=NOISE),
    Layer("crash", "power cuts at every write, noise used twice", crash.claims, kinds=NOISE),
    Layer("fit", "samplers, at the widths that are used", fit.claims, False),
    Layer("accountant", "numbers below the truth, sums that lose", accountant.claims, False),
    Layer("exact", "samplers, all that they can draw", exact.claims, False),
    Layer("finite", "every answer to every input", finite.claims, kinds=("finite",)),
    Layer("noise", "what is added, and what it gives away", noise.claims, kinds=NOISE),
    Layer("sensitivity", "more change than was priced", sensitivity.claims, kinds=NOISE),
    Layer("price", "less noise than was promised", price.claims, kinds=NOISE),
    Layer("counts", "a converter's steps and grains", counts.claims, False),
    Layer("keys", "keys of two jobs, keys not forgotten", keying.claims, kinds=NOISE),
    Layer("holders", "who opens which devices", holders.claims, kinds=NOISE),
    Layer("enrolment", "keys where they must not be", enrolled.claims, kinds=NOISE),
    Layer("streams", "noise shared by two readings", streams.claims, kinds=NOISE),
    Layer("moments", "times that tell", moments.claims, kinds=NOISE),
    Layer("words", "lengths and words that tell", words.claims, kinds=NOISE),
    Layer("wire", "messages changed, cut, moved or forged", signed.claims, kinds=NOISE),
    Layer("limits", "limits loosened over the air", bounded.claims, kinds=NOISE),
    Layer("rounds", "Rounds that ask for less privacy", forged.claims, kinds=NOISE),
    Layer("gateway", "answers that count twice, evidence lost", kept.claims, kinds=NOISE),
    Layer("links", "brokers that are not who they say", links.claims, False),
    Layer("after", "a map that follows from more than releases", after.claims),
    Layer("labels", "what is not private and does not say so", labels.claims, kinds=NOISE),
    Layer("promise", "floats in what is stated, and gaps", promise.claims),
    Layer("lint", "floats, chance, clocks and prints in the source", lint.claims, False),
)
