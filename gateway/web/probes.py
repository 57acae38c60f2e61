"""What machines ask of a gateway: is it alive, is it ready, what does it count.

/livez     200 while the process answers
/readyz    200 while every part works, else 503; either way which, and why not
/metrics   Prometheus' text
"""

import asyncio
import time

import msgspec
import structlog
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from .answers import Part, Standing
from .parts import Parts, Reading
from .requests import STARTING, Refusal

PROMETHEUS = "text/plain; version=1.0.0; charset=utf-8; escaping=allow-utf-8"
LOOK_S = 2.0  # for what is looked up in the store; Prometheus waits for ten
UNKNOWN = "nobody has told the page yet how the gateway is; it is about to start, or stands alone"

log = structlog.get_logger()


def routes(parts: Parts, reading: Reading) -> list[Route]:
    """Return the three addresses."""

    async def alive(request: Request) -> Response:
        return PlainTextResponse("ok")

    async def ready(request: Request) -> Response:
        said = standing(parts)
        body = msgspec.json.encode(said)
        return Response(body, 200 if said.ready else 503, media_type="application/json")

    async def metrics(request: Request) -> Response:
        if parts.metrics is None:
            raise STARTING
        # When the store hangs, the other series are what shows it.
        try:
            await asyncio.wait_for(reading.run(parts.metrics.refresh), LOOK_S)
        except (TimeoutError, Refusal):
            pass
        except Exception:
            log.exception("a gauge could not be looked up")
        parts.metrics.viewers.set(parts.feed.viewers)
        parts.metrics.ready.set(standing(parts).ready)
        return Response(parts.metrics.said(), media_type=PROMETHEUS)

    return [Route("/livez", alive), Route("/readyz", ready), Route("/metrics", metrics)]


def standing(parts: Parts) -> Standing:
    """Return how every part is."""
    if parts.health is None:
        return Standing(False, UNKNOWN, {}, parts.reader is not None)
    now_s, found = time.monotonic(), parts.health.parts()
    wrong = [f"{name}: {part.why}" for name, part in found.items() if not part.ok]
    told = {
        name: Part(part.ok, part.why, round(now_s - part.since_s, 1))
        for name, part in found.items()
    }
    return Standing(not wrong, "; ".join(wrong), told, parts.reader is not None)
