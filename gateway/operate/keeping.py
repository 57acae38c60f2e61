"""What a store needs now and then: old readings forgotten, its log written back."""

import time

import structlog

from ..operating import Storage
from ..storage.store import Store
from .chores import Chore

FORGET_S, WRITE_BACK_S = 3600.0, 300.0

log = structlog.get_logger()


def keeping(settings: Storage, store: Store) -> tuple[Chore, ...]:
    """Return the chores of a store, as [store] says."""

    def forget() -> None:
        """Forget what is older than it need be; what was charged stays."""
        gone = store.retain(time.time(), settings.keep_days, settings.refused_days)
        if gone:
            log.info("old rows are forgotten", rows=gone)

    return Chore(FORGET_S, forget), Chore(WRITE_BACK_S, store.checkpoint)
