"""The web server, in a thread of its own beside the gateway."""

import asyncio
import socket
import threading
from collections.abc import Collection
from typing import Any

import uvicorn
from starlette.applications import Starlette

from ..faults import OperatorFault
from ..loopback import is_loopback
from ..operate.health import Health
from ..operate.metrics import Metrics
from .app import application
from .door import Door
from .feed import Feed
from .links import Link
from .parts import Parts

START_S = 10.0
SEND_BYTES, STUCK_MS = 131_072, 60_000


class Page:
    """The live page on a port, for as long as the block lasts; show it events with `put`."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        token: str | None = None,
        reader: Any = None,
        health: Health | None = None,
        metrics: Metrics | None = None,
        hosts: Collection[str] = (),
    ) -> None:
        """Listen.

        Args:
            port: 0 for any free one.
            token: the secret that whoever reads must show; None for nobody need.
            hosts: other names that this page is asked for by, such as a proxy's.
            reader: reads the store beside the gateway; it may come later, by `attach`.

        Raises:
            OperatorFault: the network could read it, the port is taken, or the host is another's.
        """
        if token is None and not is_loopback(host):
            raise OperatorFault(
                f"the page was to listen on {host} without a token: it names devices, and whoever "
                "is on that network could read it. Give it a token, or an address of this machine"
            )
        self._parts = Parts()
        self._parts.attach(reader=reader, health=health, metrics=metrics)
        self.feed = self._parts.feed
        self.attach = self._parts.attach
        self._socket = _listening(host, port)
        self.url = f"http://{_printed(host)}:{self._socket.getsockname()[1]}/"
        # Who listens for the network cannot know its names; there the token is needed anyway.
        names = {*hosts, host} if hosts or is_loopback(host) else None
        self._server = _Server(application(self._parts, Door(token), names), self.feed)
        self._thread = threading.Thread(target=self._run, name="page", daemon=True)
        self._thread.start()
        self._server.ready.wait(START_S)

    def __enter__(self) -> "Page":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let every viewer go and stop; a second time it does nothing."""
        self._server.should_exit = True
        self._thread.join(START_S)
        self._socket.close()

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))


class _Server(uvicorn.Server):
    """uvicorn, told to let viewers go before it waits for them."""

    def __init__(self, app: Starlette, feed: Feed) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=1,
                http=Link,  # whatever else is installed: its bounds are known
                ws="none",
                h11_max_incomplete_event_size=16_384,  # of the line and the headers
                log_level="critical",  # what strangers send is no news
            )
        )
        self.ready = threading.Event()
        self._feed = feed

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._feed.closed()
        await super().shutdown(sockets)


def _listening(host: str, port: int) -> socket.socket:
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
        raise OperatorFault(
            f"the page cannot listen on {host} port {port} ({why}); it needs a port that nobody "
            "has, on an address of this machine. Stop what is there, or choose another port "
            "(port under [page], or --port where a command has it)"
        ) from fault
    return listener


def _printed(host: str) -> str:
    """Return the host as one writes it in an address."""
    return f"[{host}]" if ":" in host else host
