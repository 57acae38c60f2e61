"""Layer: what a round states is made of whole numbers, and is there to be held to.

It sees a float, a truth value or a missing promise in what is stored, signed and sent. It
cannot see whether the promise is true: that is what the other layers are for.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from .claim import Claim, Effort, true


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield one claim for each of the mechanism's rooms."""
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
