"""What came off the wire, in batches: one commit for many costs what one for one does."""

import queue
import threading
import time
from collections.abc import Sequence
from math import inf
from typing import Protocol

from ..mqtt.session import Message

BATCH = 500
LINGER_S = 0.02  # how long the first message of a batch waits for others
QUIET_S = 0.005  # a gap this long ends the batch sooner
END_S = 0.8  # how long messages are still given out after the end was asked for


class Bearer(Protocol):
    """Whoever brought a message, lets go of it and carries the receipt."""

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None: ...

    def settle(
        self, receipts: Sequence[tuple[str, bytes]], messages: Sequence[Message]
    ) -> None: ...


Arrived = tuple[Bearer, Message]


class Inbox:
    """Messages in the order they came; any thread puts, one takes."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Arrived | None] = queue.SimpleQueue()
        self._open = threading.Event()
        self._open.set()
        self._held = False
        self._until_s = inf

    def put(self, arrived: Arrived) -> None:
        """Take a message; returns at once."""
        self._queue.put(arrived)

    def hold(self, held: bool) -> None:
        """Give nothing out while held; who brings messages must bound how many wait."""
        self._held = held
        if held:
            self._open.clear()
        else:
            self._open.set()

    def end(self) -> None:
        """Let the batch that reaches this point be the last; those behind it are let fall.

        So are those that cannot be given out in time: the broker still has them.
        """
        self._until_s = time.monotonic() + END_S
        self._queue.put(None)
        self._open.set()

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
                return ([] if self._held else batch), True
            batch.append(arrived)
            now_s = time.monotonic()
            until_s = until_s or now_s + LINGER_S
            wait_s = max(min(QUIET_S, until_s - now_s), 0)
        self._open.wait()
        if self._held or time.monotonic() >= self._until_s:
            return [], True
        return batch, False
