"""Which parts of a gateway work and why one does not; and its chores beside the rounds.

A change is said once. While the broker is away, or nothing more may be taken for want of room, no
round opens: it would be paid for and heard by nobody.

Chores run on one slow thread: old readings forgotten, the log written back. One that fails is told
of and done again in its turn: forgetting old readings must not stop the taking of new ones.
"""

import math
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from recovery.maps.sentence import Wording, describe_sentence

from ...logs import log
from ...settings.deployment import Deployment
from ...store.store import Store
from ..telling import Event
from .metrics import Metrics


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

    def set_part(self, part: str, ok: bool, why: str = "") -> bool:
        """Take how a part is now; return whether that is news."""
        with self._lock:
            before = self._parts.get(part)
            news = before is None or (before.ok, before.why) != (ok, why)
            if news:
                self._parts[part] = Part(ok, why, time.monotonic())
            return news

    def list_parts(self) -> dict[str, Part]:
        """Return how every part is."""
        with self._lock:
            return dict(self._parts)


PARTS = ("store", "disk", "broker", "solver", "rounds")
NEEDED = ("broker", "disk")  # for a round to open: what cannot be waited for once it is paid
MEGABYTE = 1_000_000
# Threads without which nothing more is done, and the part that is then said not to work.
WORK_OF = {"intake": "store", "gateway": "broker", "outbox": "broker"}

GONE = Wording("broker.gone", "the broker is not there")()
_FULL = Wording(
    "disk.full",
    "less than {mb} MB are left where the database is, which [store] reserve_mb keeps free: "
    "nothing more is taken, and devices keep what they have. Make room",
)
_ENDED = Wording(
    "thread.ended",
    "its thread {thread} has ended by a fault, which the log holds. Start the gateway again",
)


def make_health_event(health: Health) -> Event:
    """Return how the parts of the gateway are, and whether all of them work."""
    parts = health.list_parts()
    return {
        "kind": "health",
        "ready": all(part.ok for part in parts.values()),
        "parts": {
            name: {"ok": part.ok, **describe_sentence(part.why)} for name, part in parts.items()
        },
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

    def set_part(self, part: str, ok: bool, why: str = "") -> None:
        """Take how a part is now, and pass on what is news."""
        if not self.health.set_part(part, ok, why):
            return
        if not ok:
            self._down.add(part)
            log.warning("a part of the gateway does not work", part=part, why=why)
        elif part in self._down:
            self._down.discard(part)
            log.info("a part of the gateway works again", part=part)
        self.pass_on_news()

    def pass_on_news(self) -> None:
        """Pass on what others have said of parts since."""
        with self._lock:
            event = make_health_event(self.health)
            news, self._told = event != self._told, event
        if news:
            self._tell(event)

    def watch_threads(self) -> None:
        """Say from now on when a thread has ended that began after us and must not: `WORK_OF`."""
        ours = set(threading.enumerate()) - self._before
        self._watched = [thread for thread in ours if thread.name in WORK_OF]

    def check_threads(self) -> None:
        """Pass on what others have said of parts, and say what nobody is left to say."""
        for thread in self._watched:
            if not thread.is_alive():
                self.set_part(WORK_OF[thread.name], False, _ENDED(thread=thread.name))
        self.pass_on_news()

    def set_free_bytes(self, free_bytes: int | None, reserve_mb: int) -> bool:
        """Take how much room there is for the store; return whether it is enough to go on."""
        enough = free_bytes is None or free_bytes >= reserve_mb * MEGABYTE
        self.set_part("disk", enough, "" if enough else _FULL(mb=reserve_mb))
        return enough

    def list_hindering_parts(self) -> list[str]:
        """Return the parts that a round needs to open, and that do not work now."""
        parts = self.health.list_parts()
        return [name for name in NEEDED if not parts[name].ok]


class Chore(NamedTuple):
    """Something to be done every so often; the first time at once."""

    every_s: float
    do: Callable[[], object]


class Chores:
    """The thread; a context manager."""

    def __init__(self, *chores: Chore) -> None:
        self._due = dict.fromkeys(chores, 0.0)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chores", daemon=True)

    def __enter__(self) -> "Chores":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the thread, once the chore that is being done is done."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            for chore, due_s in self._due.items():
                if time.monotonic() >= due_s and not self._stopping.is_set():
                    self._due[chore] = time.monotonic() + chore.every_s
                    self._run_chore(chore)
            left_s = min(self._due.values(), default=0.0) - time.monotonic()
            self._stopping.wait(max(left_s, 0.01))

    def _run_chore(self, chore: Chore) -> None:
        try:
            chore.do()
        except Exception as fault:
            log.warning(
                "a housekeeping task failed; it runs again when it is next due",
                chore=_name(chore),
                why=type(fault).__name__,
            )


def _name(chore: Chore) -> str:
    return getattr(chore.do, "__name__", type(chore.do).__name__)


FORGET_S, WRITE_BACK_S = 3600.0, 300.0
COUNTED = 1000  # letters: more are too many, however many


def make_chores(
    deployment: Deployment, store: Store, metrics: Metrics | None = None
) -> tuple[Chore, ...]:
    """Return the chores of a store, as the deployment says; its gauges are looked up when read."""

    def forget() -> None:
        """Forget what is older than it need be; what was charged stays."""
        report_days, keep_days = deployment.kept_days
        windowed, refused_days = bool(deployment.privacy.window_h), deployment.store.refused_days
        gone = store.forget_older(
            time.time(), keep_days, refused_days, report_days, windowed=windowed
        )
        if gone:
            log.info("deleted rows older than their retention time", rows=gone)

    if metrics is not None:
        metrics.call_before_reading(lambda: _set_gauges(metrics, store))
    return Chore(FORGET_S, forget), Chore(WRITE_BACK_S, store.write_back)


def _set_gauges(metrics: Metrics, store: Store) -> None:
    free_bytes = store.measure_free_bytes()
    metrics.disk_free.set(math.nan if free_bytes is None else free_bytes)
    metrics.outbox.set(len(store.list_letters(COUNTED)))
