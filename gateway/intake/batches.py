"""What came off the wire, in batches: one commit for many costs what one for one does.

A batch makes thousands of records, none of which refers back to another, and lets go of all of
them: Python is told to look for garbage less often, which would cost as much as their MACs do.
"""

import gc
import threading
import time
from collections import deque
from collections.abc import Sequence
from math import inf
from typing import Protocol

from ..mqtt.connection import Message

BETWEEN = (50_000, 20, 20)  # records made and not let go of, before one looks: some megabytes


def seldom() -> None:
    """Look seldom from now on, and never again at what is there; call it when all is loaded."""
    gc.freeze()
    gc.set_threshold(*BETWEEN)


BATCH = 500
LINGER_S = 0.02  # how long the first message of a batch waits for others
QUIET_S = 0.006  # a gap this long ends the batch sooner
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
        self._queue: deque[Arrived | None] = deque()
        self._came, self._idle = threading.Event(), False
        self._open = threading.Event()
        self._open.set()
        self._held = False
        self._until_s = inf

    def put(self, arrived: Arrived) -> None:
        """Take a message; returns at once."""
        self._queue.append(arrived)
        if self._idle:
            self._came.set()

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
        self._queue.append(None)
        self._came.set()
        self._open.set()

    @property
    def waiting(self) -> int:
        """How many messages wait."""
        return len(self._queue)

    def batch(self) -> tuple[list[Arrived], bool]:
        """Wait for messages; return a batch of them, and whether it is the last."""
        self._wait()
        batch: list[Arrived] = []
        while self._queue and len(batch) < BATCH:
            arrived = self._queue.popleft()
            if arrived is None:
                return ([] if self._held else batch), True
            batch.append(arrived)
        self._open.wait()
        if self._held or time.monotonic() >= self._until_s:
            return [], True
        return batch, False

    def _wait(self) -> None:
        """Return when a batch is there: full, or with a gap behind it, or late enough."""
        queue = self._queue
        while not queue:
            self._idle = True  # from here on who puts something in says so
            if not queue:
                self._came.wait()
            self._came.clear()
        self._idle = False
        until_s, count = time.monotonic() + LINGER_S, 0
        while count < len(queue) < BATCH and queue[-1] is not None:
            count = len(queue)
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                break
            time.sleep(min(QUIET_S, left_s))
