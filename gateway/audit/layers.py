"""The table of layers: one line each, and the audit runs them all over all mechanisms."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from . import (
    accountant,
    after,
    attack,
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
    levels,
    links,
    moments,
    noise,
    own,
    paths,
    price,
    promise,
    sensitivity,
    signed,
    spoken,
    streams,
    tables,
    words,
)
from .claim import Claim, Effort


class Layer(NamedTuple):
    """One way to look.

    run(mechanism, effort) yields claims, and leaves it to the runner to say of which mechanism
    and layer they are, from which seed and how long they took: the time between two claims.
    """

    name: str
    about: str  # the danger that it looks for, in plain words
    run: Callable[[Any, Effort], Iterable[Claim]]
    each: bool = True  # once for each mechanism; else once for the house, with None
    kinds: tuple[str, ...] = ("noise", "finite")  # of the mechanisms that it can look at
    concerns: Callable[[Any], bool] = lambda own: True  # an operator's deployment, or None


NOISE = ("noise",)
FINITE = ("finite",)

# The longest first, for two of them run at a time.
LAYERS: tuple[Layer, ...] = (
    Layer("interpreters", "a board that reckons otherwise", interpreters.claims, False),
    Layer("device", "two rooms told apart, from plan to map", device.claims, kinds=NOISE),
    Layer("crash", "a power cut makes noise serve twice", crash.claims),
    Layer("attack", "dangers that come one after the other", attack.claims),
    Layer("fit", "noise of the wrong size, seen over many draws", fit.claims, False),
    Layer("accountant", "privacy reckoned better than it is", accountant.claims, False),
    Layer("exact", "noise of the wrong size, however rarely", exact.claims, False),
    Layer("finite", "an answer that fits one reading best", finite.claims, kinds=FINITE),
    Layer("spoken", "a device that says more than its answer", spoken.claims, kinds=FINITE),
    Layer("noise", "noise left out, shared or too small", noise.claims, kinds=NOISE),
    Layer("sensitivity", "a move larger than the noise hides", sensitivity.claims, kinds=NOISE),
    Layer(
        "paths",
        "two days of a person told apart in a room",
        paths.claims,
        False,
        concerns=lambda own: own is None or own.plan is not None,
    ),
    Layer("price", "less noise planned than was promised", price.claims, kinds=NOISE),
    Layer("counts", "a sensor's steps turned into too much", counts.claims, False),
    Layer(
        "levels",
        "a level of the room that tells who was there",
        levels.claims,
        False,
        concerns=lambda own: own is None or own.asks(background="following"),
    ),
    Layer(
        "tables",
        "noise from tables that are a little wrong",
        tables.claims,
        False,
        concerns=lambda own: own is None or own.asks(sampler="table"),
    ),
    Layer(
        "deployment",
        "devices enrolled for less than is promised",
        own.claims,
        concerns=lambda own: own is not None,
    ),
    Layer("keys", "keys for two purposes, keys not forgotten", keying.claims),
    Layer("holders", "somebody who can take the noise off", holders.claims),
    Layer("enrolment", "keys in files where they must not be", enrolled.claims, kinds=NOISE),
    Layer("streams", "noise that serves two readings", streams.claims),
    Layer("moments", "the time of an answer tells the reading", moments.claims),
    Layer("words", "length or wording tells the reading", words.claims, kinds=NOISE),
    Layer("wire", "messages changed, cut, moved or forged", signed.claims),
    Layer("limits", "a device's limits loosened from afar", bounded.claims),
    Layer("rounds", "questions that ask for less privacy", forged.claims),
    Layer("gateway", "answers that count twice, evidence lost", kept.claims),
    Layer("links", "brokers that are not who they say", links.claims, False),
    Layer("after", "a map made of more than was published", after.claims),
    Layer("promise", "a promise with rounded numbers", promise.claims),
)
