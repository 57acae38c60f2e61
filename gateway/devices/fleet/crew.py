"""Who does the work of virtual devices: some threads that answer, and one that sends.

An answer is paid for on the disk, and a disk flushes for several in the time that it takes for
one, so several devices answer at once; each hears its own messages one after the other. Frames
go out from one thread at their ticks. It draws noise ahead only while nothing else is to be
done, so that no device's shows in the moment of another's frame.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import structlog

from ..enrol.budgets import WRITERS
from .dialogue import Dialogue

DONE = "done"  # a leaf that no topic has: the device has worked on a message

log = structlog.get_logger()


class Heard(NamedTuple):
    """A message for a device, and when it came."""

    name: str
    leaf: str
    payload: bytes
    at_ms: int


class Crew:
    """The threads; `hear` is for others, and returns at once.

    Args:
        resend_s: seconds after which what has no receipt is sent again.
    """

    def __init__(self, devices: Mapping[str, Dialogue], resend_s: float) -> None:
        self._devices, self._resend_ms = devices, round(1000 * resend_s)
        self._heard: queue.SimpleQueue[Heard | None] = queue.SimpleQueue()
        self._busy: dict[str, deque[Heard]] = {}  # what a device works on, and what comes after
        self._idle: dict[str, None] = {}  # whose noise may not lie ready, in their order
        self._writers = ThreadPoolExecutor(WRITERS, "writer")
        self._thread = threading.Thread(target=self._run, name="devices", daemon=True)

    def start(self) -> None:
        """Begin with what has been heard, and with drawing ahead."""
        self._idle = dict.fromkeys(self._devices)
        self._thread.start()

    def stop(self) -> None:
        """Come to an end; what waits for its tick stays unsent."""
        if self._thread.is_alive():
            self._heard.put(None)
            self._thread.join()
        self._writers.shutdown()

    def hear(self, name: str, leaf: str, payload: bytes) -> None:
        """Note a message for a device, and this moment."""
        self._heard.put(Heard(name, leaf, payload, _now_ms()))

    def _run(self) -> None:
        resend_at_ms = _now_ms() + self._resend_ms
        waiting: dict[str, int] = {}  # whose frame goes out when
        while True:
            calm = not (waiting or self._busy)
            due = [due_ms for name, due_ms in waiting.items() if name not in self._busy]
            until_ms = min([resend_at_ms, *due])
            patience_s = 0 if calm and self._idle else max(until_ms - _now_ms(), 0) / 1000
            try:
                heard = self._heard.get(timeout=patience_s)
            except queue.Empty:
                if calm and self._idle:
                    name = next(iter(self._idle))
                    del self._idle[name]
                    self._look(name, waiting)
            else:
                if heard is None:
                    return
                self._take(heard, waiting)
            now_ms = _now_ms()
            for name in [name for name, due_ms in waiting.items() if now_ms >= due_ms]:
                if name not in self._busy:
                    self._look(name, waiting)
                    self._idle[name] = None
            if now_ms >= resend_at_ms:
                resend_at_ms = now_ms + self._resend_ms
                for name in self._devices.keys() - waiting.keys() - self._busy.keys():
                    self._devices[name].resend()

    def _take(self, heard: Heard, waiting: dict[str, int]) -> None:
        """Give a message to a writer, after the device's others; or note that one is done."""
        name = heard.name
        if heard.leaf != DONE:
            self._busy.setdefault(name, deque()).append(heard)
            if len(self._busy[name]) > 1:
                return
        else:
            self._busy[name].popleft()
            if self._devices[name].waits:
                self._look(name, waiting)  # settles the tick
            else:
                self._idle[name] = None  # a look would draw noise, and others' frames may wait
            if not self._busy[name]:
                del self._busy[name]
                return
        self._writers.submit(self._work, self._busy[name][0])

    def _work(self, heard: Heard) -> None:
        """Let a device hear a message; on a writer's thread."""
        try:
            self._devices[heard.name].hear(heard.leaf, heard.payload, heard.at_ms)
        except Exception:  # one broken device must not silence the others
            log.exception("a device could not answer", device=heard.name)
        self._heard.put(heard._replace(leaf=DONE))

    def _look(self, name: str, waiting: dict[str, int]) -> None:
        waiting.pop(name, None)
        try:
            self._devices[name].look(_now_ms())
        except Exception:
            log.exception("a device could not be looked at", device=name)
        if (due_ms := self._devices[name].due_ms) is not None:
            waiting[name] = due_ms


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
