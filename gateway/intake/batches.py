"""What came off the wire, in batches: one commit for many costs what one for one does."""

import queue
import time
from typing import Protocol

from ..mqtt.session import Message

BATCH = 500
LINGER_S = 0.02  # how long the first message of a batch waits for others
QUIET_S = 0.005  # a gap this long ends the batch sooner


class Bearer(Protocol):
    """Whoever brought a message, lets go of it and carries the receipt."""

    def ack(self, message: Message) -> None: ...

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None: ...


Arrived = tuple[Bearer, Message]


class Inbox:
    """Messages in the order they came; any thread puts, one takes."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Arrived | None] = queue.SimpleQueue()

    def put(self, arrived: Arrived) -> None:
        """Take a message; returns at once."""
        self._queue.put(arrived)

    def end(self) -> None:
        """Let the batch that reaches this point be the last."""
        self._queue.put(None)

    @property
    def waiting(self) -> int:
        """How many messages wait."""
        return self._queue.qsize()

    def batch(self) -> tuple[list[Arrived], bool]:
        """Wait for messages; return a batch of them, and whether it is the last."""
        batch: list[Arrived] = []
        wait_s: float | None = None
        until_s = 0.0
        while len(batch) < BATCH:
            try:
                arrived = self._queue.get(timeout=wait_s)
            except queue.Empty:
                break
            if arrived is None:
                return batch, True
            batch.append(arrived)
            now_s = time.monotonic()
            until_s = until_s or now_s + LINGER_S
            wait_s = max(min(QUIET_S, until_s - now_s), 0)
        return batch, False
