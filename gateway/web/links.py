"""Connections to the page, bounded in number and in patience: they share our file descriptors.

Differs from uvicorn's own bounds: one more connection is closed and not answered, and a request
whose headers never end is cut off; else strangers could leave the store without descriptors.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from .feed import MOST as VIEWERS

MOST = VIEWERS + 100
PATIENCE_S = 15.0  # for the headers of a request


class Link(H11Protocol):
    """One connection."""

    _looked: RequestResponseCycle | None = None
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Take the connection, or close it when there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
        else:
            self._timer = self.loop.call_later(PATIENCE_S, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close a connection on which nothing has been asked since we looked last."""
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self.cycle is self._looked:
            self.transport.abort()
            return
        self._looked = self.cycle
        self._timer = self.loop.call_later(PATIENCE_S, self._look)
