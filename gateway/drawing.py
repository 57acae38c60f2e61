"""From releases to a map that is kept and waits to be published; or why there is no estimate."""

import json
import time
from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple, Protocol

from edge.host import post
from recovery.heatmap import Heatmap, Unresolved

from . import telling
from .intake.outcomes import Letter


class Drawer(Protocol):
    """Draws maps: a `Solver`."""

    def recover(
        self, mechanism: str, query: Any, releases: Sequence[Any]
    ) -> Heatmap | Unresolved | None: ...

    def stop(self) -> None: ...


class Turnout(NamedTuple):
    """How many answered a round, of how many, how many came too late, how many it takes."""

    used: int
    enrolled: int
    late: int
    quorum: int


class Drawn(NamedTuple):
    """A map as it is kept and told, and the letter that carries it."""

    body: str
    event: telling.Event
    letter: Letter


def heard(releases: Sequence[Any]) -> Sequence[Any]:
    """Return the releases of rounds that somebody answered: the others are no news."""
    return [release for release in releases if release.reports]


def drawn(
    solver: Drawer, site: str, query: Any, releases: Sequence[Any], turnout: Turnout
) -> Drawn | None:
    """Return the map of all releases, the silent ones too; None when the solver was stopped.

    Below the quorum there is none, and the reason is the result: a map of three sensors where
    twelve were meant looks like one of twelve.
    """
    began_s, last = time.monotonic(), heard(releases)[-1].round
    result = (
        Unresolved(query.grid, last.guarantee, inf, inf, _few(turnout))
        if turnout.used < turnout.quorum
        else solver.recover(last.mechanism, query, releases)
    )
    if result is None:
        return None
    event = telling.drawn(last.number, result, time.monotonic() - began_s) | {
        "sensors_used": turnout.used,
        "sensors_enrolled": turnout.enrolled,
        "quorum": turnout.quorum,
        "late": turnout.late,
    }
    return kept(site, last.mechanism, json.dumps(event))


def kept(site: str, mechanism: str, body: str) -> Drawn:
    """Return a map that was drawn before, to be published in the very bytes that it was then."""
    letter = Letter(0, post.map_topic(site, mechanism), body.encode(), True)
    return Drawn(body, json.loads(body), letter)


def _few(turnout: Turnout) -> str:
    came = "1 device" if turnout.used == 1 else f"{turnout.used} devices"
    return (
        f"{came} of {turnout.enrolled} answered and [rounds] quorum asks for {turnout.quorum}: a "
        "map of fewer would say less than it seems to. See which are silent"
    )
