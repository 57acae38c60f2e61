"""Connections to the page, bounded in number and in patience: they share our file descriptors.

Differs from uvicorn's own bounds: for one more connection the oldest that has asked nothing is
closed, or it is closed itself where there is none; one address has no more than half of them; and
a request whose headers never end is cut off. Else strangers could leave the store without
descriptors, or everybody else without answers.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from ..loopback import is_loopback
from .door import network_of
from .feed import MOST as VIEWERS

MOST = VIEWERS + 100
PATIENCE_S = 15.0  # for the headers of a request


class Link(H11Protocol):
    """One connection."""

    proxied = False  # whether people come through a proxy of this machine
    _looked: RequestResponseCycle | None = None
    _timer: asyncio.TimerHandle | None = None
    _came_s = 0.0
    _network = ""  # that the connection is held against; none of this machine where it is proxied

    def connection_made(self, transport: Any) -> None:
        """Take the connection; when there are too many, close the one that is the least loss."""
        super().connection_made(transport)
        self._came_s = self.loop.time()
        self._timer = self.loop.call_later(PATIENCE_S, self._look)
        whose = network_of(self.client[0]) if self.client else ""
        self._network = "" if self.proxied and is_loopback(whose) else whose
        links: Any = self.connections
        near = [one for one in links if one._network == whose and self._network]
        if len(near) > MOST // 2:
            self._make_room(near)
        elif len(links) > MOST:
            self._make_room(links)

    def connection_lost(self, exc: Exception | None) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _make_room(self, links: Any) -> None:
        silent = [one for one in links if one.cycle is None and one is not self]
        min(silent, key=lambda one: one._came_s, default=self).transport.abort()

    def _look(self) -> None:
        """Close a connection on which nothing has been asked since we looked last."""
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self.cycle is self._looked:
            self.transport.abort()
            return
        self._looked = self.cycle
        self._timer = self.loop.call_later(PATIENCE_S, self._look)


class Proxied(Link):
    """One connection to a page that a proxy of this machine may stand before."""

    proxied = True
