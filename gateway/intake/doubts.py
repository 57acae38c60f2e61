"""What the store is asked of a batch: only what may have come before.

A device's numbers go up, so what is above the newest of them is new. Whether its device has
answered the open round, the round knows. So of honest reports there is nothing to ask, and of the
others everything. Within a batch the judge remembers by itself.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Protocol

import structlog

from ..rounds import OpenRound
from ..storage.patience import Stopped, patiently
from .genuine import Arrival
from .outcomes import Key, Known, Who

log = structlog.get_logger()


class Store(Protocol):
    """Whoever remembers."""

    def known(self, keys: Sequence[Key], answers: Sequence[tuple[bytes, str]]) -> Known: ...

    def newest(self) -> dict[Who, tuple[int, int]]: ...


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
