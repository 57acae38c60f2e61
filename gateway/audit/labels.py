"""Layer: what is not private says so, and what is private says against whom it is not.

A promise is only as good as its words: that noise can be repeated, that somebody holds a key,
that a formula gives less than its label, that exact readings are exact readings. It sees words
that are missing where they must stand. It cannot see whether anybody reads them.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from recovery.guarantee import sentences

from ..commands import hosting
from ..commands.watch import Watch
from ..unveil import readings as unveiled
from .claim import Claim, Effort, true


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what is said of each promise, and in each way that it can be weakened."""
    for name, query in mechanism.subject.rooms():
        promise = mechanism.plan(query, ()).guarantee
        said, held = " ".join(sentences(promise)), getattr(query, "keyholder", False)
        parts = (promise.neighbours, promise.trust, promise.unit, promise.unprotected)
        yield true(
            f"{name}: the promise in words says for whom, for how long and what is not protected",
            all(part in said for part in parts) and "somebody is there" in promise.unprotected,
            samples=len(parts),
        )
        yield true(
            f"{name}: it says that somebody holds a key, or that nobody does",
            ("nobody has a key" in promise.trust) is not held
            and ("holder" in promise.trust) is held,
            samples=1,
        )
        if _calibrated(query):
            printed = mechanism.plan(replace(query, calibration="paper"), ()).guarantee
            yield true(
                f"{name}: with the paper's formula it says what that really gives",
                "really gives epsilon" in printed.unit and "delta" in printed.unit,
                samples=1,
            )
    yield _seeded(mechanism, query)
    yield true(
        "exact readings, once the noise is taken off, are marked as not private",
        bool(unveiled.WORDS) and "NOT PRIVATE" in unveiled.WORDS[0],
        samples=1,
    )


def _calibrated(query: Any) -> bool:
    """Say whether there is a printed formula that could be taken instead of the noise."""
    exact = getattr(query, "calibration", "") == "exact"
    return exact and query.sigma is None and query.response is None


def _seeded(mechanism: Any, query: Any) -> Claim:
    """Noise that a seed repeats is an experiment, wherever its promise is shown."""
    plain = mechanism.plan(query, ()).guarantee
    played = Watch().over(mechanism, seeded=True).plan(query, ()).guarantee
    shown: list[Any] = []

    class Feed:
        def put(self, event: Any) -> None:
            shown.append(event)

    class Page:
        feed = Feed()

    page: Any = Page()
    event = {"kind": "map", "guarantee": plain._asdict()}
    hosting.shown(page, query, seeded=True, mechanism=mechanism.name)(event)
    trusts = [played.trust, *(one["guarantee"]["trust"] for one in shown if "guarantee" in one)]
    words = [*trusts, *(" ".join(one["sentences"]) for one in shown if "sentences" in one)]
    return true(
        "a run from a seed says that it is not private, in its promise and on its page",
        len(words) == 3 and all("not private" in word for word in words),
        samples=len(words),
    )
