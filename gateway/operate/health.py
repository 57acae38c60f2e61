"""Which parts of a gateway work, and why one does not: what `/readyz` and the page say."""

import threading
import time
from typing import NamedTuple


class Part(NamedTuple):
    """How a part is; since_s, of the monotonic clock, is when that began."""

    ok: bool
    why: str
    since_s: float


class Health:
    """The parts by name; any thread says and asks."""

    def __init__(self, *parts: str) -> None:
        """Begin with these parts, none of which works yet."""
        self._lock = threading.Lock()
        now_s = time.monotonic()
        self._parts = {part: Part(False, "it has not started yet", now_s) for part in parts}

    def say(self, part: str, ok: bool, why: str = "") -> bool:
        """Take how a part is now; return whether that is news."""
        with self._lock:
            before = self._parts.get(part)
            news = before is None or (before.ok, before.why) != (ok, why)
            if news:
                self._parts[part] = Part(ok, why, time.monotonic())
            return news

    def parts(self) -> dict[str, Part]:
        """Return how every part is."""
        with self._lock:
            return dict(self._parts)

    @property
    def ready(self) -> bool:
        """Whether every part works."""
        with self._lock:
            return all(part.ok for part in self._parts.values())
