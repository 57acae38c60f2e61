"""An event that is waited for again and again with a time limit, as a device waits for its news.

asyncio makes a timer for each such wait, and cancels it when the event comes first. Where a
thousand devices wait in one loop most limits are never reached, and those that are lie close
together: so here one timer is for all of them, and what was moved meanwhile is seen when it is its
turn. `edge.pause.within` waits with these where it is given one.
"""

import asyncio
import heapq
from collections.abc import Callable


class Alarm(asyncio.Event):
    """As asyncio's; one task at a time may wait in `within_ms`."""

    def __init__(self, find: "Callable[[], Clockwork]") -> None:
        """Begin unset. find: gives the clockwork of the loop that runs."""
        super().__init__()
        self.due_s = 0.0  # of the loop's own clock: when a wait ends
        self.listed_s = 0.0  # when the clockwork looks here next; 0 if it does not
        self._find = find
        self._clockwork: Clockwork | None = None
        self._waits: asyncio.Future[None] | None = None

    def set(self) -> None:
        """Wake who waits."""
        super().set()
        self.wake()

    async def within_ms(self, ms: int) -> bool:
        """Return whether it is set, once it is or so many milliseconds are over."""
        if self.is_set():
            return True
        clockwork = self._clockwork = self._clockwork or self._find()
        self.due_s = clockwork.loop.time() + ms / 1000
        clockwork.look(self)
        self._waits = clockwork.loop.create_future()
        try:
            await self._waits
        finally:
            self._waits = None
        return self.is_set()

    @property
    def waited(self) -> bool:
        """Whether somebody waits."""
        return self._waits is not None

    def wake(self) -> None:
        """Let who waits go on."""
        if self._waits is not None and not self._waits.done():
            self._waits.set_result(None)


class Clockwork:
    """The time limits of all alarms of one loop, by one timer of it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._list: list[tuple[float, int, Alarm]] = []  # a heap: when to look, and where
        self._count = 0  # tells apart what is to be looked at in the same moment
        self._timer: asyncio.TimerHandle | None = None
        self._rings_s = 0.0

    def look(self, alarm: Alarm) -> None:
        """Look at an alarm when it is due, or earlier and then again."""
        if alarm.listed_s and alarm.listed_s <= alarm.due_s:
            return
        alarm.listed_s = alarm.due_s
        self._count += 1
        heapq.heappush(self._list, (alarm.due_s, self._count, alarm))
        if self._timer is None or alarm.due_s < self._rings_s:
            self._set()

    def _set(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if self._list:
            self._rings_s = self._list[0][0]
            self._timer = self.loop.call_at(self._rings_s, self._ring)

    def _ring(self) -> None:
        now_s, self._timer = self.loop.time(), None
        while self._list and self._list[0][0] <= now_s:
            listed_s, _, alarm = heapq.heappop(self._list)
            if listed_s != alarm.listed_s:  # it was moved forward, and has been looked at
                continue
            alarm.listed_s = 0.0
            if not alarm.waited:
                continue
            if alarm.due_s <= now_s:
                alarm.wake()
            else:
                self.look(alarm)
        if self._timer is None:
            self._set()
