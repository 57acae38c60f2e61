"""Layers `promise` and `after`: what a round states, and what a map keeps of it."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from math import isqrt
from typing import Any

import numpy as np

from edge.core.records import Release

from ..claim import Claim, Effort, true

ROOMS = 2  # a map takes its time; these are enough to see what depends on nothing but code


def after_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield that a map is a function of its releases, under their promise.

    After the veil, nothing is drawn and no promise is lost. What is published must follow from the
    releases alone, and carry the promise that it was made under. It sees a map that differs from
    one drawing to the next, one that changes its releases, and one that states another promise. It
    cannot see whether the map is any good.
    """
    rooms = list(mechanism.subject.rooms())
    for name, query in rooms if effort.full else rooms[:ROOMS]:
        round = mechanism.plan(query, ())
        tape = effort.tape("after", name)
        reading = mechanism.subject.inputs(round)[-1]
        drawn = mechanism.release(round, [mechanism.report(round, reading, tape)], tape)
        yield from _follow(name, mechanism, query, drawn)
        if mechanism.subject.KIND == "noise":
            yield from _follow(f"{name}, warm", mechanism, query, _warm(mechanism, query, round))


def _follow(name: str, mechanism: Any, query: Any, release: Any) -> Iterator[Claim]:
    before = deepcopy(release)
    first, second = (mechanism.recover(query, [release]) for _ in range(2))
    yield true(f"{name}: a map leaves its releases as they were", release == before, samples=1)
    yield true(
        f"{name}: the same releases give the same map, to the last bit",
        _bits(first) == _bits(second),
        samples=2,
    )
    yield true(
        f"{name}: a map carries the promise that its round was made under",
        first.guarantee == release.round.guarantee,
        samples=1,
    )


def _warm(mechanism: Any, query: Any, round: Any) -> Any:
    """Return a release of one source so warm that noise does not hide it: a map is drawn of it."""
    seen, _ = mechanism.subject.neighbours(query, round)
    times = 1 + 3 * isqrt(round.params[4] * len(seen)) // max(1, isqrt(int(np.square(seen).sum())))
    return Release(round, [times * int(value) for value in seen], 1)


def _bits(result: Any) -> list[tuple[str, object]]:
    """Return every field of a result, floats to their last bit."""
    names = getattr(result, "__dataclass_fields__", None) or result._fields
    values = ((name, getattr(result, name)) for name in names)
    return [(name, v.tobytes() if isinstance(v, np.ndarray) else repr(v)) for name, v in values]


def promise_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield one claim for each of the mechanism's rooms.

    What a round states is made of whole numbers, and is there to be held to. It sees a float, a
    truth value or a missing promise in what is stored, signed and sent. It cannot see whether the
    promise is true: that is what the other layers are for.
    """
    for name, query in mechanism.subject.rooms():
        round = mechanism.plan(query, ())
        faults = list(_not_whole(round))
        yield true(
            f"{name}: the round states its parameters in whole numbers, and its promise in ratios",
            not faults,
            samples=1,
            detail="; ".join(faults),
        )


def _not_whole(round: Any) -> Iterable[str]:
    promise = round.guarantee
    if promise.epsilon is None and promise.rho is None:
        yield "neither epsilon nor rho is promised"
    for place, value in enumerate(round.params):
        if type(value) is not int:
            yield f"parameter {place} is a {type(value).__name__}"
    for name in ("epsilon", "delta", "rho"):
        ratio: Any = getattr(promise, name)
        if ratio is not None and not (
            isinstance(ratio, tuple)
            and len(ratio) == 2
            and all(type(part) is int and part > 0 for part in ratio)
        ):
            yield f"{name} is {ratio!r}, no ratio of positive whole numbers"
