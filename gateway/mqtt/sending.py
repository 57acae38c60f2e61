"""Who is to be told when the broker has taken what was published."""

import threading
from collections.abc import Callable


class Sending:
    """The messages on their way, by packet id; any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, Callable[[], None] | None] = {}
        self._early: set[int] = set()

    def began(self, packet: int, on_sent: Callable[[], None] | None) -> None:
        """A message is on its way; not to be called under a lock that `ended` may wait for."""
        with self._lock:
            early = packet in self._early
            if early:  # the acknowledgement was quicker than we are
                self._early.discard(packet)
            else:
                self._waiting[packet] = on_sent
        if early and on_sent is not None:
            on_sent()

    def ended(self, packet: int, *, taken: bool) -> None:
        """The broker has answered; call who waits for it, if it took the message."""
        with self._lock:
            early = packet not in self._waiting
            if early and taken:
                self._early.add(packet)
            on_sent = self._waiting.pop(packet, None)
        if taken and on_sent is not None:
            on_sent()
