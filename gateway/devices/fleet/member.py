"""One device of a fleet: `edge.net.device`, as on a board, among others in one process.

What a fleet adds: whoever draws noise holds the others up, and how long shows how large it is. So
noise is drawn ahead only while no frame of any device waits for its moment.

A device waits again and again for its news, with a time limit, and asyncio makes a timer for each
such wait. Of a thousand devices most limits are never reached, and those that are lie close
together: so one timer (`Clockwork`) is for all alarms of a loop. `net.link.within` of edge waits
with these where it is given one.
"""

import asyncio
import heapq
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from edge.core import wire
from edge.net.device import Device
from edge.net.mqtt import Client

from ...logs import log
from ...service.secure_sum import ciphers
from .spool import Counts


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
            self._arm()

    def _arm(self) -> None:
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
            self._arm()


TICK_MS = 100  # nothing is read or written here that takes long


class Uptime:
    """What `compat.Uptime` says, of a clock that is one for all devices of this process."""

    EARLY_MS = 0

    def now_ms(self) -> int:
        """Return milliseconds that only go forward; Linux counts them from its start."""
        return time.monotonic_ns() // 1_000_000

    def stay(self, due_ms: int) -> None:
        """Return: the loop has waited long enough already."""


class Hall:
    """What the devices of a fleet share, beside their loop.

    Whose frames wait for their moment: a device is in here until soon after it was sent. And what
    the site asked last: all are asked the same, and come to the same of the same bytes under the
    same key, so one of them opens a Round for all. What does not verify each looks at by itself.
    """

    def __init__(self) -> None:
        self._waiting: set[str] = set()
        self.enter, self.leave = self._waiting.add, self._waiting.discard
        self.uptime = Uptime()
        self._clockworks: dict[asyncio.AbstractEventLoop, Clockwork] = {}
        self._asked: tuple[Any, Any] = None, None

    def alarm(self) -> Alarm:
        """Return an event for those who wait with a time limit."""
        return Alarm(self._clockwork)

    def _clockwork(self) -> Clockwork:
        loop = asyncio.get_running_loop()
        if (clockwork := self._clockworks.get(loop)) is None:
            clockwork = self._clockworks[loop] = Clockwork(loop)
        return clockwork

    def opened(self, site_key: bytes, message: bytes, where: str) -> tuple[Any, bytes]:
        """Return the Round in a message and its name, as `Node.opened` does.

        Raises:
            wire.Fault: as `wire.unpack_round`.
        """
        asked = (bytes(message), site_key, where)
        held, found = self._asked
        if held != asked:
            round = wire.unpack_round(message, site_key, where)
            found = round, wire.name_of(round)
            self._asked = asked, found
        return found

    @property
    def calm(self) -> bool:
        """Whether nobody's frame waits."""
        return not self._waiting


class Member(Device):
    """A device that draws ahead in a calm moment, and logs what it refuses."""

    def __init__(self, hall: Hall, identity: Any, *parts: Any, **more: Any) -> None:
        more |= {"tick_ms": TICK_MS, "uptime": hall.uptime, "suite": ciphers}
        super().__init__(identity, *parts, **more)
        self._hall, self._name, self._refused = hall, identity.name, ""
        self._news, self._talker.news = hall.alarm(), hall.alarm()
        if not hasattr(identity, "roster"):
            opened: Any = partial(hall.opened, identity.site_key)
            self.node.opened = opened

    def prepare(self) -> None:
        """Draw ahead, if that is in nobody's way; else a second later."""
        self._hall.leave(self._name)  # the ticker asks when it holds nothing
        if self._hall.calm:
            self.node.prepare()

    def _hear(self, topic: str, payload: bytes, at_ms: int) -> None:
        super()._hear(topic, payload, at_ms)
        self._log_refusal()

    def _log_refusal(self) -> None:
        if self.node.refusal and self.node.refusal != self._refused:
            log.info("a virtual device refuses a round", device=self._name, why=self.node.refusal)
        self._refused = self.node.refusal

    def answer(self, message: bytes, read: Any, now_ms: int) -> bytes | None:
        """Return the frame, which is kept by then, or None."""
        frame: bytes | None = super().answer(message, read, now_ms)
        if frame is not None:
            self._hall.enter(self._name)
        self._log_refusal()
        return frame


class Line(Client):
    """A device's client, which counts frames and tells whether it is up."""

    def __init__(
        self,
        hall: Hall,
        name: str,
        counts: Counts,
        turned: Callable[[bool], None],
        *where: Any,
        **how: Any,
    ) -> None:
        self._name, self._counts, self._turned = name, counts, turned
        self._listener: Callable[[bool], None] | None = None
        super().__init__(*where, **how)
        self.event = hall.alarm  # type: ignore[assignment]

    @property
    def on_state(self) -> Callable[[bool], None]:
        """Hears whether the link is up."""
        return self._told

    @on_state.setter
    def on_state(self, listener: Callable[[bool], None] | None) -> None:
        self._listener = listener

    async def publish(
        self, topic: str, payload: bytes, qos: int = 0, retain: bool = False
    ) -> bool:
        """Return True when the broker has it."""
        leaf = topic.rpartition("/")[2]
        if leaf == "data":
            self._counts.once("sent", payload)
        taken: bool = await super().publish(topic, payload, qos, retain)
        if taken and leaf == "data":
            self._counts.once("acknowledged", payload)
        if taken and leaf == "ack":
            said = json.loads(payload)
            log.info(
                "a virtual device received new limits",
                device=self._name,
                taken=said["taken"],
                why=said["why"],
            )
        return taken

    def _told(self, connected: bool) -> None:
        self._turned(connected)
        if self._listener is not None:
            self._listener(connected)
