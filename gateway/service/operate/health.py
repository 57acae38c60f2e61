"""Which parts of a gateway work and why one does not: what `/readyz`, the page and the log say.

A change is said once. While the broker is away, or nothing more may be taken for want of room, no
round opens: it would be paid for and heard by nobody.
"""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import structlog

from ..telling import Event


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


PARTS = ("store", "disk", "broker", "solver", "rounds")
NEEDED = ("broker", "disk")  # for a round to open: what cannot be waited for once it is paid
MEGABYTE = 1_000_000
# Threads without which nothing more is done, and the part that is then said not to work.
WORK_OF = {"intake": "store", "gateway": "broker", "outbox": "broker"}

log = structlog.get_logger()


def health_event(health: Health) -> Event:
    """Return how the parts of the gateway are, and whether all of them work."""
    parts = health.parts()
    return {
        "kind": "health",
        "ready": all(part.ok for part in parts.values()),
        "parts": {name: {"ok": part.ok, "why": part.why} for name, part in parts.items()},
    }


class Vitals:
    """Keeps `Health` true for the parts of a service; any thread may call it."""

    def __init__(self, health: Health, tell: Callable[[Event], None]) -> None:
        """Begin.

        Args:
            tell: hears an event each time that a part has changed.
        """
        self.health, self._tell = health, tell
        self._lock = threading.Lock()
        self._down: set[str] = set()  # as the log has it: at the start no part works *again*
        self._told: Event | None = None
        self._before = set(threading.enumerate())
        self._watched: list[threading.Thread] = []

    def say(self, part: str, ok: bool, why: str = "") -> None:
        """Take how a part is now, and pass on what is news."""
        if not self.health.say(part, ok, why):
            return
        if not ok:
            self._down.add(part)
            log.warning("a part does not work", part=part, why=why)
        elif part in self._down:
            self._down.discard(part)
            log.info("a part works again", part=part)
        self.news()

    def news(self) -> None:
        """Pass on what others have said of parts since."""
        with self._lock:
            event = health_event(self.health)
            news, self._told = event != self._told, event
        if news:
            self._tell(event)

    def watch(self) -> None:
        """Say from now on when a thread has ended that began after us and must not: `WORK_OF`."""
        ours = set(threading.enumerate()) - self._before
        self._watched = [thread for thread in ours if thread.name in WORK_OF]

    def look(self) -> None:
        """Pass on what others have said of parts, and say what nobody is left to say."""
        for thread in self._watched:
            if not thread.is_alive():
                why = f"its thread {thread.name} has ended by a fault, which the log holds"
                self.say(WORK_OF[thread.name], False, f"{why}. Start the gateway again")
        self.news()

    def broker(self, up: bool, why: str) -> None:
        """Take how the link to the broker is."""
        self.say("broker", up, "" if up else why or "the broker is not there")

    def solver(self, ok: bool, why: str = "") -> None:
        """Take whether the last map could be drawn."""
        self.say("solver", ok, why)

    def room(self, free_bytes: int | None, reserve_mb: int) -> bool:
        """Take how much room there is for the store; return whether it is enough to go on."""
        enough = free_bytes is None or free_bytes >= reserve_mb * MEGABYTE
        why = (
            f"less than {reserve_mb} MB are left where the database is, which [store] reserve_mb "
            "keeps free: nothing more is taken, and devices keep what they have. Make room"
        )
        self.say("disk", enough, "" if enough else why)
        return enough

    def hindrance(self) -> str:
        """Return why no round may open now, or nothing."""
        parts = self.health.parts()
        return "; ".join(parts[name].why for name in NEEDED if not parts[name].ok)
