"""What the store is asked of a batch: only what may have come before.

A device's numbers go up, so what is above the newest of them is new. Whether its device has
answered the open round, the round knows. So of honest reports there is nothing to ask, and of the
others everything. Within a batch the judge remembers by itself.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..rounds import OpenRound
from .genuine import Arrival
from .outcomes import Key, Known, Who


class Store(Protocol):
    """Whoever remembers."""

    def known(self, keys: Sequence[Key], answers: Sequence[tuple[bytes, str]]) -> Known: ...


def known(
    store: Store,
    arrivals: Sequence[Arrival],
    round: OpenRound | None,
    newest: Mapping[Who, tuple[int, int]],
    now_s: float,
) -> Known:
    """Return what the judge must know of these arrivals; its arguments are `judge`'s."""
    doubtful = [
        one
        for one in arrivals
        if round is None
        or (one.report.epoch, one.report.seq) <= newest.get(one.who, (0, 0))
        or round.refusal(one.report, now_s) is not None
    ]
    if not doubtful:
        return Known({}, {}, frozenset())
    answers = [(one.report.round, one.report.sender) for one in doubtful]
    return store.known([one.key for one in doubtful], answers)
