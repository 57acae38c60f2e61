"""What is to be published waits in the store: from there it goes out, once it can, in order.

A result is drawn, charged and written to the outbox in one transaction, and published from there.
Killed before that transaction, nothing is out and nothing charged; killed after it, the very
bytes that were written go out at the next start, perhaps twice, but never others. Whoever
publishes first and writes then will some day draw twice for one round.

A letter is crossed out when the broker has acknowledged it. While there is no broker nothing is
handed over, so that of a retained topic only the latest goes out when it is back. A broker that
was killed has forgotten what it retained, or remembers what was retained before: so when it is
back it is told again what stands, with the bytes that it was told before.
"""

import threading
import time
from collections import deque
from collections.abc import Callable

from ..faults import ReplacedFault
from ..logs import log
from ..store.places import Stopped, retry_until_stored
from ..store.store import Store
from .intake.outcomes import Letter

BATCH = 100
END_S = 0.2  # for what is under way when we end
LOOK_S = 1.0  # for letters that somebody else has written
AGAIN_S = 30.0  # after which a letter that the broker has not taken, or refused, goes once more
LONGEST_BYTES = 4_190_000  # our brokers cut off whoever sends more, again at each new connection


class Outbox:
    """The thread that publishes what waits in a store; a context manager."""

    def __init__(
        self,
        store: Store,
        publish: Callable[..., None],
        *,
        open: bool = False,
        may_begin: Callable[[], bool] = lambda: True,
    ) -> None:
        """Start the thread.

        Args:
            publish: as `mqtt.service.Link.publish`.
            open: whether the broker is there; else `set_open` says when.
            may_begin: is asked on the thread, when the broker is there, until it says yes: before
                that nothing is handed over.
        """
        self._store, self._publish = store, publish
        self._changed = threading.Condition()
        self._under_way: dict[int, float] = {}  # when each was handed over
        self._sent: deque[int] = deque()
        self._standing: dict[str, Letter] = {}  # the last of each retained topic, of this start
        self._again = False
        self._open, self._woken, self._empty = open, True, False
        self._stopping = threading.Event()
        self._may_begin, self._begun = may_begin, threading.Event()
        self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)
        self._thread.start()

    def __enter__(self) -> "Outbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def set_open(self, open: bool) -> None:
        """Hand letters over from now on, or no longer; any thread, returns at once."""
        with self._changed:
            if open and not self._open:
                self._again = True
            self._open = open
            self._changed.notify_all()

    def wake(self) -> None:
        """Say that something was written."""
        with self._changed:
            self._woken, self._empty = True, False
            self._changed.notify_all()

    def wait_open(self, patience_s: float = LOOK_S) -> bool:
        """Wait until letters may be handed over; False when patience ended before."""
        return self._begun.wait(patience_s)

    def wait_empty(self, patience_s: float) -> bool:
        """Wait until the broker has everything; False when patience ended before."""
        with self._changed:
            return self._changed.wait_for(lambda: self._empty, patience_s)

    def close(self) -> None:
        """End the thread; what has not gone by now, or in a moment, waits in the store."""
        if self._open:
            self.wait_empty(END_S)
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            with self._changed:
                self._changed.wait_for(self._has_work, LOOK_S)
                self._woken = False
            try:
                self._cross_out()
                if self._open and not self._begun.is_set():
                    self._begin()
                if self._open and self._begun.is_set():
                    self._hand_over_letters()
            except (Stopped, ReplacedFault):
                return
            except Exception:  # whatever it is, it is tried again: nothing here may be lost
                log.exception("the outbox failed; it tries again")
                self._stopping.wait(LOOK_S)

    def _begin(self) -> None:
        if self._may_begin():
            self._begun.set()
        else:
            self._stopping.wait(LOOK_S)

    def _has_work(self) -> bool:
        news = self._woken or self._again
        return self._stopping.is_set() or bool(self._sent) or (self._open and news)

    def _cross_out(self) -> None:
        """Forget what the broker has."""
        gone = [self._sent.popleft() for _ in range(len(self._sent))]
        if gone:
            retry_until_stored(self._stopping, self._store.mark_posted, gone)
            for one in gone:
                self._under_way.pop(one, None)

    def _hand_over_letters(self) -> None:
        """Publish what has not been handed over yet, oldest first."""
        waiting = retry_until_stored(self._stopping, self._store.list_letters, BATCH)
        if self._again:
            self._again = False
            newer = {letter.topic for letter in waiting}
            for letter in self._standing.values():
                if letter.topic not in newer:
                    self._publish(letter.topic, letter.payload, retain=True)
        for letter in waiting:
            if len(letter.payload) > LONGEST_BYTES:
                self._sent.append(letter.id)
                log.warning(
                    "a message is too long for the broker and is not published; a map is in the "
                    "store and on the page all the same",
                    topic=letter.topic,
                    bytes=len(letter.payload),
                    most=LONGEST_BYTES,
                )
                continue
            handed_s, now_s = self._under_way.get(letter.id), time.monotonic()
            if handed_s is not None and now_s - handed_s < AGAIN_S:
                continue
            if handed_s is not None:
                log.warning(
                    "the broker has not acknowledged a message; publishing it again",
                    topic=letter.topic,
                )
            if letter.retain:
                self._standing[letter.topic] = letter
            self._publish(
                letter.topic,
                letter.payload,
                retain=letter.retain,
                on_sent=self._make_sent_callback(letter),
            )
            self._under_way[letter.id] = now_s  # not before: what could not be is tried again
        with self._changed:
            self._empty = not waiting and not self._woken
            self._changed.notify_all()

    def _make_sent_callback(self, letter: Letter) -> Callable[[], None]:
        """Return what is to be called, on any thread, when the broker has this letter."""

        def sent() -> None:
            with self._changed:
                self._sent.append(letter.id)
                self._woken = True
                self._changed.notify_all()

        return sent
