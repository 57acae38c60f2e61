"""What machines ask of a gateway: is it alive, is it ready, what does it count.

/livez     200 while the process answers
/readyz    200 while every part works, else 503; either way which, and why not
/metrics   Prometheus' text
"""

import time

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from .parts import Parts

PROMETHEUS = "text/plain; version=1.0.0; charset=utf-8; escaping=allow-utf-8"
UNKNOWN = "nobody has told the page yet how the gateway is; it is about to start, or stands alone"


def routes(parts: Parts) -> list[Route]:
    """Return the three addresses."""

    async def alive(request: Request) -> Response:
        return PlainTextResponse("ok")

    async def ready(request: Request) -> Response:
        said = standing(parts)
        return JSONResponse(said, 200 if said["ready"] else 503)

    async def metrics(request: Request) -> Response:
        if parts.metrics is None:
            return PlainTextResponse("", 503)
        parts.metrics.ready.set(parts.health is not None and parts.health.ready)
        return Response(parts.metrics.text(), media_type=PROMETHEUS)

    return [Route("/livez", alive), Route("/readyz", ready), Route("/metrics", metrics)]


def standing(parts: Parts) -> dict[str, object]:
    """Return how every part is, as JSON is written from it."""
    if parts.health is None:
        return {"ready": False, "why": UNKNOWN, "parts": {}}
    now_s, found = time.monotonic(), parts.health.parts()
    wrong = [f"{name}: {part.why}" for name, part in found.items() if not part.ok]
    return {
        "ready": not wrong,
        "why": "; ".join(wrong),
        "parts": {
            name: {"ok": part.ok, "why": part.why, "for_s": round(now_s - part.since_s, 1)}
            for name, part in found.items()
        },
    }
