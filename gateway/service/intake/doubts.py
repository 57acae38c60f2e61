"""What the store is asked of a batch: only what may have come before.

A device's numbers go up, so what is above the newest of them is new. Whether its device has
answered the open round, the round knows. So of honest reports there is nothing to ask, and of the
others everything. Within a batch the judge remembers by itself. And some of the others prove that
it is the store that has forgotten.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import structlog

from ...store.patience import Stopped, patiently
from ..rounds import OpenRound
from .genuine import Arrival
from .outcomes import Asked, Key, Known, Who

log = structlog.get_logger()


class Store(Protocol):
    """Whoever remembers."""

    def known(self, keys: Sequence[Key], answers: Sequence[tuple[bytes, str]]) -> Known: ...

    def newest(self) -> dict[Who, tuple[int, int]]: ...

    def number_of(self, planned: bytes) -> int: ...

    def witness(self, asked: Asked, found: str) -> None: ...


# Returns the round of this name that a deployment asks, if its number is near to this one.
Foresight = Callable[[bytes, int], Asked | None]


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


def hold_against(
    store: Store,
    arrivals: Sequence[Arrival],
    round: OpenRound | None,
    known: Known,
    foreseen: Foresight,
) -> None:
    """Hold the ledger against answers to rounds that it has not asked.

    A device answers what is signed with the site's key alone: one that answers a round which this
    ledger is still to ask proves that it was asked before, and that the ledger has forgotten it.

    Raises:
        ForgottenFault: it has.
    """
    strange = {one.report.round: one.report.sender for one in arrivals}
    strange = {name: strange[name] for name in strange.keys() - known.prices.keys()}
    if round is not None:
        strange.pop(round.name, None)
    next = store.number_of(b"") if strange else 0
    found = [(asked, strange[name]) for name in strange if (asked := foreseen(name, next))]
    for asked, sender in sorted(found, key=lambda one: -one[0].plan.number):  # all, by the last
        store.witness(asked, f"{sender} has answered round {asked.plan.number}")


def recall(stopping: threading.Event, store: Store, newest: dict[Who, tuple[int, int]]) -> None:
    """Bring the newest numbers up to the store's: a commit may have held whose answer was lost.

    Without that its messages, handed over again, would pass for new, and the store refuse them.
    """
    try:
        newest.update(patiently(stopping, store.newest))
    except Stopped:
        pass
    except Exception:  # the writer must go on: the next batch that fails asks again
        log.exception("it is not known which numbers were used")
