"""One thread that moves the bytes of any number of MQTT clients.

Fifty virtual sensors need no fifty threads: here is the one place that waits for all the sockets
at once. It knows no MQTT; only this thread reads, writes or connects a client.
"""

import random
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from ...logs import log

STILL_S = 20.0  # what the thread may take to go round, were it all handshakes
TICK_S = 0.5  # how often keep-alives and reconnections are looked at
BREATH_S = 0.01  # between two looks: what comes byte by byte costs less when it is taken together
FIRST_WAIT_S, LONGEST_WAIT_S = 0.2, 5.0  # before a reconnection


class Client(Protocol):
    """What an MQTT client must offer to be moved from outside."""

    def socket(self) -> Any: ...
    def reconnect(self) -> Any: ...
    def loop_read(self) -> Any: ...
    def loop_write(self) -> Any: ...
    def loop_misc(self) -> Any: ...
    def want_write(self) -> bool: ...


class Rider:
    """A client on the pump.

    `failed` hears, on the pump's thread, of every attempt to connect that was in vain; `may` is
    asked there before each.
    """

    def __init__(
        self,
        client: Client,
        failed: Callable[[OSError], None],
        may: Callable[[], bool] = lambda: True,
    ) -> None:
        self.client, self.failed, self.may = client, failed, may
        self.leaving, self.gone = False, threading.Event()
        self.socket: Any = None  # as the selector knows it
        self.interest = 0
        self.forget_failures()

    def forget_failures(self) -> None:
        """Forget failed attempts: the client is where it wants to be."""
        self.wait_s = FIRST_WAIT_S
        self.retry_at_s = 0.0


class Pump:
    """The thread; a context manager. `add`, `remove` and `wake` are for other threads."""

    def __init__(self, name: str = "pump") -> None:
        self._selector = selectors.DefaultSelector()
        self._inner, self._outer = socket.socketpair()
        self._inner.setblocking(False)
        self._outer.setblocking(False)
        self._selector.register(self._inner, selectors.EVENT_READ)
        self._riders: set[Rider] = set()
        self._nudged: deque[Rider] = deque()
        self._stopping, self._moved_s = False, time.monotonic()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def __enter__(self) -> "Pump":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, rider: Rider) -> None:
        """Connect this client, and keep it connected until `remove`."""
        self.wake(rider)

    def remove(self, rider: Rider) -> None:
        """Let go of this client; its socket is the caller's to close."""
        rider.leaving = True
        self.wake(rider)
        rider.gone.wait(LONGEST_WAIT_S)

    def wake(self, rider: Rider | None = None) -> None:
        """Wake the thread: this client has something to write, or is new, or leaves."""
        if rider is not None:
            self._nudged.append(rider)
        with suppress(BlockingIOError):  # it is being woken already
            self._outer.send(b"\0")

    def close(self) -> None:
        """End the thread; a client that is still on it stays as it is."""
        self._stopping = True
        self.wake()
        self._thread.join()
        self._selector.close()
        self._inner.close()
        self._outer.close()

    @property
    def moving(self) -> bool:
        """Whether the thread has gone round lately."""
        return time.monotonic() - self._moved_s < STILL_S

    def _run(self) -> None:
        tick_at_s = 0.0
        while not self._stopping:
            self._moved_s = time.monotonic()
            for key, _ in self._selector.select(TICK_S):
                if key.data is None:
                    with suppress(BlockingIOError):
                        self._inner.recv(4096)
                else:
                    self._move(key.data)
            while self._nudged:
                self._move(self._nudged.popleft())
            time.sleep(BREATH_S)
            if time.monotonic() >= tick_at_s:
                tick_at_s = time.monotonic() + TICK_S
                for rider in list(self._riders):
                    self._move(rider)

    def _move(self, rider: Rider) -> None:
        """Do what there is to do for one client."""
        client = rider.client
        try:
            if rider.leaving:
                self._riders.discard(rider)
                self._watch(rider, None)
                rider.gone.set()
                return
            self._riders.add(rider)
            if client.socket() is None:
                self._connect(rider)
            client.loop_read()
            # What TLS has decrypted already, no selector can see.
            while (link := client.socket()) is not None and getattr(link, "pending", int)():
                client.loop_read()
            # Only now: of who was frozen for long an answer may lie unread, and is no silence.
            if not getattr(client.socket(), "unread", False):
                client.loop_misc()
            if client.want_write():
                client.loop_write()
            self._watch(rider, client.socket())
        except Exception:  # one client's trouble must not stop the others
            log.exception("an MQTT client failed; the other clients go on")

    def _connect(self, rider: Rider) -> None:
        now_s = time.monotonic()
        if now_s < rider.retry_at_s or not rider.may():
            return
        # Jitter, so that a thousand devices do not come back in the same moment.
        rider.retry_at_s = now_s + rider.wait_s * (0.5 + random.random())
        rider.wait_s = min(2 * rider.wait_s, LONGEST_WAIT_S)
        try:
            rider.client.reconnect()
        except OSError as fault:
            rider.failed(fault)

    def _watch(self, rider: Rider, link: Any) -> None:
        """Make the selector watch this socket, for room to write too when there is need."""
        interest = 0 if getattr(link, "paused", False) else selectors.EVENT_READ
        if link is not None and rider.client.want_write():
            interest |= selectors.EVENT_WRITE
        if link is rider.socket and interest == rider.interest:
            return
        if rider.socket is not None:
            with suppress(KeyError, ValueError):  # it was closed, and is forgotten already
                self._selector.unregister(rider.socket)
        rider.socket, rider.interest = link if interest else None, interest
        if rider.socket:
            self._selector.register(link, interest, rider)
