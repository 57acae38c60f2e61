"""What the page shows of a gateway, and the threads that ask the store for it.

Each part may come after the page is up, or never. A few threads read, so that neither the page nor
the ingest waits for the disk.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import structlog
from sqlalchemy.exc import SQLAlchemyError

from ..faults import OperatorFault
from ..service.operate.health import Health
from ..service.operate.metrics import Counted, Metrics
from .feed import Feed
from .requests import BUSY, STORE


@dataclass
class Parts:
    """The feed, and what reads the store, the health and the counts, once they are there."""

    feed: Feed = field(default_factory=Feed)
    reader: Any = None  # `storage.reader.Reader`
    health: Health | None = None
    metrics: Metrics | None = None

    def attach(
        self,
        *,
        reader: Any = None,
        health: Health | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """Take what is given and keep what is not; any thread may."""
        self.reader = reader or self.reader
        self.health = health or self.health
        self.metrics = metrics or self.metrics
        if metrics is not None:
            self.feed.hear = Counted(metrics).hear


THREADS, WAITING = 2, 32
PATIENCE_S = 10.0
P = ParamSpec("P")
T = TypeVar("T")
log = structlog.get_logger()


class Reading:
    """At most two reads at a time, and a short queue before them; lives on the event loop."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "page-read")
        self._asked = 0

    def close(self) -> None:
        """Begin no more reads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def run(self, do: Callable[P, T], *args: P.args, **words: P.kwargs) -> T:
        """Return what a function that blocks returns.

        Raises:
            Refusal: too many wait already, it takes too long, or the store will not.
        """
        if self._asked >= WAITING:
            raise BUSY
        self._asked += 1
        asked = asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: do(*args, **words)
        )
        asked.add_done_callback(self._done)  # and not when whoever asked has gone
        try:
            return await asyncio.wait_for(asyncio.shield(asked), PATIENCE_S)
        except TimeoutError:
            raise STORE from None
        except (OperatorFault, SQLAlchemyError, OSError) as fault:
            why = str(getattr(fault, "orig", None) or fault)  # without the statement's values
            log.warning("the page could not read the store", why=why.split("\n")[0])
            raise STORE from fault

    def _done(self, asked: asyncio.Future[Any]) -> None:
        self._asked -= 1
        if not asked.cancelled():
            asked.exception()  # looked at, even if nobody waits for it any more
