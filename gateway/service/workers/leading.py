"""Who leads a site: one gateway, and at PostgreSQL the next one that waits for it to go.

The lead is the lock of `storage.alone`, which goes with the leader's connection: a leader that is
killed has a successor within about a second. One that hangs and lives keeps the lead, so let a
service manager watch it.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import structlog

from ...faults import TakenFault
from ...store.alone import alone
from ...store.places import Place

LOOK_S = 1.0
STANDBY = "standby: another gateway leads this site, and this one takes over when that is gone"

log = structlog.get_logger()


@contextmanager
def leading(place: Place, say: Callable[[str, bool, str], object]) -> Iterator[None]:
    """Lead a site for as long as the block lasts; at PostgreSQL wait for the lead first.

    It waits on the caller's thread, which a signal may interrupt. A leader whose lead was taken
    while the database was out of reach ends as if it were told to.

    Args:
        say: hears how the part "rounds" is while it waits.

    Raises:
        OperatorFault: the store is a file and another gateway has it, or there is no such place.
    """
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(alone(place, lost=_deposed))
                break
            except TakenFault:
                if isinstance(place, Path):
                    raise
                say("rounds", False, STANDBY)
                time.sleep(LOOK_S)
        yield


def _deposed() -> None:
    log.error("another gateway leads this site now; this one ends, and may wait as a standby")
    os.kill(os.getpid(), signal.SIGTERM)
