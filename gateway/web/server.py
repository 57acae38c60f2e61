"""The page on ports and a thread of its own, with connections bounded in number and patience.

Connections share our file descriptors. Differs from uvicorn's own bounds: for one more connection
the oldest that has asked nothing is closed, or it is closed itself where there is none; one
address has no more than half of them; and a request whose headers never end is cut off. Else
strangers could leave the store without descriptors, or everybody else without answers.
"""

import asyncio
import errno
import socket
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from ..faults import OperatorFault, TakenFault
from ..loopback import is_loopback
from ..service.operate.health import Health
from ..service.operate.metrics import Metrics
from .access import Door, check_tokens_differ, find_network
from .app import make_application, make_probe, read_picture
from .feed import MOST as VIEWERS
from .feed import Feed
from .floor import Neighbour
from .parts import Parts

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
        whose = find_network(self.client[0]) if self.client else ""
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


START_S = 10.0
SEND_BYTES, STUCK_MS = 131_072, 60_000


class Page:
    """The live page on a port, for as long as the block lasts; show it events with `put`.

    What machines ask has a port of its own at wish: it answers while the page's is full.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        token: str | None = None,
        viewer_token: str | None = None,
        reader: Any = None,
        health: Health | None = None,
        metrics: Metrics | None = None,
        hosts: Collection[str] = (),
        probed: tuple[str, int] | None = None,
        picture: Path | None = None,
        neighbours: tuple[Neighbour, ...] = (),
    ) -> None:
        """Listen.

        Args:
            port: 0 for any free one.
            token: the secret that an operator must show; None for nobody need.
            viewer_token: another, with which one sees all that names no device.
            hosts: other names that this page is asked for by, such as a proxy's.
            reader: reads the store beside the gateway; it may come later, by `attach`.
            probed: host and port where `make_probe` alone is answered; None for nowhere.
            picture: what is drawn under the map, as wide and as deep as that.
            neighbours: the other rooms of the floor.

        Raises:
            OperatorFault: the network could read it, the two tokens are one, a port is taken, a
                host is another's, or the picture is none.
        """
        check_tokens_differ(token, viewer_token)
        tokens = token, viewer_token
        self._parts = Parts()
        self._parts.set_parts(reader=reader, health=health, metrics=metrics)
        self._parts.picture, self._parts.neighbours = read_picture(picture), neighbours
        self.feed = self._parts.feed
        self.attach = self._parts.set_parts
        self._servers: list[_Server] = []
        try:
            self.url = self._serve(
                make_application, host, port, tokens, hosts, "port", bool(hosts)
            )
            if probed is not None:
                self.probes_url = self._serve(make_probe, *probed, tokens, (), "health_port")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Page":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let every viewer go and stop; a second time it does nothing."""
        for server in self._servers:
            server.close()

    def _serve(
        self,
        make: Callable[..., Starlette],
        host: str,
        port: int,
        tokens: tuple[str | None, str | None],
        hosts: Collection[str],
        key: str,
        proxied: bool = False,
    ) -> str:
        """Answer on one more port, on a thread of its own; return its address."""
        if tokens[0] is None and not is_loopback(host):
            raise OperatorFault(
                f"the page would listen on {host} without a token: it names devices, and anybody "
                "on that network could read it. Set token_file under [page], or a host such as "
                "127.0.0.1"
            )
        # Who listens for the network cannot know its names; there the token is needed anyway.
        names = {*hosts, host} if hosts or is_loopback(host) else None
        listener = _listen(host, port, key)
        # With a door of its own nobody who guesses tokens at the page shuts a watcher out.
        app = make(self._parts, Door(*tokens), names)
        server = _Server(app, None if make is make_probe else self.feed, listener, proxied)
        self._servers.append(server)
        server.start()
        return f"http://{_format_host(host)}:{listener.getsockname()[1]}/"


class _Server(uvicorn.Server):
    """uvicorn on a thread of its own, told to let viewers go before it waits for them."""

    def __init__(
        self, app: Starlette, feed: Feed | None, listener: socket.socket, proxied: bool
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=1,
                # Whatever else is installed: its bounds are known.
                http=Proxied if proxied else Link,
                ws="none",
                h11_max_incomplete_event_size=16_384,  # of the line and the headers
                log_level="critical",  # what strangers send is no news
            )
        )
        self._ready = threading.Event()
        self._feed, self._listener = feed, listener
        self._thread = threading.Thread(target=self._run, name="page", daemon=True)

    def start(self) -> None:
        """Return once it answers."""
        self._thread.start()
        self._ready.wait(START_S)

    def close(self) -> None:
        """Stop; a second time it does nothing."""
        self.should_exit = True
        self._thread.join(START_S)
        self._listener.close()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._feed is not None:
            self._feed.stop()
        await super().shutdown(sockets)

    def _run(self) -> None:
        asyncio.run(self.serve(sockets=[self._listener]))


def _listen(host: str, port: int, key: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Where the protocol is not named, asyncio leaves Nagle's pause on: 40 ms an answer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Inherited: a viewer that takes nothing costs this much of the kernel, and for so long.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STUCK_MS)
        listener.bind((host, port))
        listener.listen(128)
    except (OSError, OverflowError) as fault:
        listener.close()
        why = getattr(fault, "strerror", None) or str(fault)
        taken = getattr(fault, "errno", None) == errno.EADDRINUSE
        raise (TakenFault if taken else OperatorFault)(
            f"the page cannot listen on {host} port {port} ({why}); it needs a port that nobody "
            "has, on an address of this machine. Stop what is there, or choose another port "
            f"({key} under [page], or --port where a command has it)"
        ) from fault
    return listener


def _format_host(host: str) -> str:
    """Return the host as one writes it in an address."""
    return f"[{host}]" if ":" in host else host
