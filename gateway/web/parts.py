"""What the page shows of a gateway, the threads that ask the store for it, and what machines ask.

Each part may come after the page is up, or never. A few threads read, so that neither the page nor
the ingest waits for the disk.

    /livez     200 while the process answers
    /readyz    200 while every part works, else 503; either way which, and why not
    /metrics   Prometheus' text
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import msgspec
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from recovery.maps.sentence import describe_sentence

from ..faults import OperatorFault
from ..logs import log
from ..service.operate.health import Health
from ..service.operate.metrics import EventCounter, Metrics
from .feed import Feed
from .floor import Neighbour
from .records import BUSY, STARTING, STORE, Part, Refusal, Standing


@dataclass
class Parts:
    """The feed, and what reads the store, the health and the counts, once they are there."""

    feed: Feed = field(default_factory=Feed)
    reader: Any = None  # `store.reader.Reader`
    # The key of each enrolled device, by name; None where nobody says.
    list_keys: Callable[[], Mapping[str, bytes]] | None = None
    health: Health | None = None
    metrics: Metrics | None = None
    picture: tuple[bytes, str] | None = None  # of the floor, with its kind
    neighbours: tuple[Neighbour, ...] = ()  # the other rooms of the floor

    def set_parts(
        self,
        *,
        reader: Any = None,
        list_keys: Callable[[], Mapping[str, bytes]] | None = None,
        health: Health | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """Take what is given and keep what is not; any thread may."""
        self.reader = reader or self.reader
        self.list_keys = list_keys or self.list_keys
        self.health = health or self.health
        self.metrics = metrics or self.metrics
        if metrics is not None:
            self.feed.hear = EventCounter(metrics).take_event


THREADS, WAITING = 2, 32
PATIENCE_S = 10.0
P = ParamSpec("P")
T = TypeVar("T")


class Reading:
    """At most two reads at a time, and a short queue before them; lives on the event loop."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "page-read")
        self._asked = 0

    def close(self) -> None:
        """Begin no more reads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def run_in_thread(self, do: Callable[P, T], *args: P.args, **words: P.kwargs) -> T:
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
        asked.add_done_callback(self._note_read_done)  # and not when whoever asked has gone
        try:
            return await asyncio.wait_for(asyncio.shield(asked), PATIENCE_S)
        except TimeoutError:
            raise STORE from None
        except (OperatorFault, SQLAlchemyError, OSError) as fault:
            why = str(getattr(fault, "orig", None) or fault)  # without the statement's values
            log.warning("the page could not read the store", why=why.split("\n")[0])
            raise STORE from fault

    def _note_read_done(self, asked: asyncio.Future[Any]) -> None:
        self._asked -= 1
        if not asked.cancelled():
            asked.exception()  # looked at, even if nobody waits for it any more


PROMETHEUS = "text/plain; version=1.0.0; charset=utf-8; escaping=allow-utf-8"
LOOK_S = 2.0  # for what is looked up in the store; Prometheus waits for ten
UNKNOWN = "nobody has told the page yet how the gateway is; it is about to start, or stands alone"


def make_probe_routes(parts: Parts, reading: Reading) -> list[Route]:
    """Return the three addresses."""

    async def alive(request: Request) -> Response:
        return PlainTextResponse("ok")

    async def ready(request: Request) -> Response:
        said = describe_parts(parts)
        body = msgspec.json.encode(said)
        return Response(body, 200 if said.ready else 503, media_type="application/json")

    async def metrics(request: Request) -> Response:
        if parts.metrics is None:
            raise STARTING
        # When the store hangs, the other series are what shows it.
        try:
            await asyncio.wait_for(reading.run_in_thread(parts.metrics.refresh), LOOK_S)
        except (TimeoutError, Refusal):
            pass
        except Exception:
            log.exception("a gauge of /metrics could not be computed and is missing there")
        parts.metrics.viewers.set(parts.feed.viewers)
        parts.metrics.ready.set(describe_parts(parts).ready)
        return Response(parts.metrics.render_known(), media_type=PROMETHEUS)

    return [Route("/livez", alive), Route("/readyz", ready), Route("/metrics", metrics)]


def describe_parts(parts: Parts) -> Standing:
    """Return how every part is."""
    if parts.health is None:
        return Standing(False, UNKNOWN, {}, parts.reader is not None)
    now_s, found = time.monotonic(), parts.health.list_parts()
    wrong = [f"{name}: {part.why}" for name, part in found.items() if not part.ok]
    told = {
        name: Part(part.ok, for_s=round(now_s - part.since_s, 1), **describe_sentence(part.why))
        for name, part in found.items()
    }
    return Standing(not wrong, "; ".join(wrong), told, parts.reader is not None)
