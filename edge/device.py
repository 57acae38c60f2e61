"""The running device: Rounds in, frames out at their ticks, and what it says of itself.

    device = Device(identity, budget, read, client, Ring(4096))
    await asyncio.gather(client.run(), device.run())

One task makes frames, and one talks (`talking`), so that no answer of the broker delays a tick. A
frame is in the ring before anybody else has it, and stays there until its Receipt comes.

No pins and no radio in here.
"""

import asyncio

from . import compat, receipts, wire
from .node import Node
from .talking import IDLE_MS, Talker, within
from .ticker import Ticker

SOON_MS = 50  # after a frame has gone the next noise is drawn
WAITING = 4  # messages that wait to be worked on; more are dropped, for they come again


class Device:
    """One device at its broker; `run` it beside the client.

    client: a `mqtt.Client`, with the state `lost` as its will. ring: a `ring.Ring`. read, step,
    follower: as for Node. clock: a `clock.Clock` or None. watchdog: has `feed()`, or None. led:
    takes the state's word, or None. diag_s: seconds from one `diag` to the next.
    """

    def __init__(
        self,
        identity,
        budget,
        read,
        client,
        ring,
        *,
        tick_ms=100,
        clock=None,
        watchdog=None,
        led=None,
        step=None,
        follower=None,
        diag_s=60,
    ):
        self.node = Node(identity, budget, step, follower)
        self._read = read
        self._client = client
        self._ring = ring
        self._watchdog = watchdog
        self._ticker = Ticker(self, tick_ms)
        self._talker = Talker(self.node, self._ticker, ring, client, led, clock, diag_s)
        self._uptime = compat.Uptime()
        self._round = wire.round_topic(identity.site, "thermal")
        self._receipt = wire.topic(identity.site, identity.name, "receipt")
        self._limits = wire.topic(identity.site, identity.name, "cmd/limits")
        self._heard = []  # (topic, payload, when): at most `WAITING`
        self._last = None  # the frame that was put into the ring last
        self._news = asyncio.Event()

    async def run(self):
        """Answer for ever."""
        self._client.topics = [self._round, self._receipt, self._limits]
        self._client.on_message = self._came
        self._client.on_state = self._talker.linked
        self._ticker.due(self._uptime.now_ms())  # the first noise, before there is a reading
        talking = asyncio.create_task(self._talker.run())
        try:
            while True:
                self._news.clear()
                await within(self._look(), self._news)
        finally:
            talking.cancel()

    def prepare(self):
        """Draw ahead; for the ticker, to which this is a node that keeps its frames."""
        self.node.prepare()

    def answer(self, message, read, now_ms):
        """Return the node's frame, which is in the ring by then, or None."""
        frame = self.node.answer(message, read, now_ms=now_ms)
        if frame is not None and frame != self._last:
            self._ring.put(frame)
            self._last = frame
        return frame

    def _came(self, topic, payload):
        if payload and len(self._heard) < WAITING:  # an empty one takes back what was retained
            self._heard.append((topic, bytes(payload), self._uptime.now_ms()))
            self._news.set()

    def _look(self):
        """Work on what came and on the tick; return for how many milliseconds nothing is due."""
        if self._watchdog is not None:
            self._watchdog.feed()
        while self._heard:
            topic, payload, at_ms = self._heard.pop(0)
            if topic == self._round:
                self._ticker.came(payload, self._read, at_ms)
            elif topic == self._receipt:
                oldest = self._ring.oldest()
                if oldest and receipts.settles(payload, oldest, self.node.identity):
                    self._ring.free(oldest)
            elif topic == self._limits and len(self._talker.acks) < WAITING:
                self._talker.acks.append(self.node.tighten(payload))
        now_ms = self._uptime.now_ms()
        frame = self._ticker.due(now_ms)
        self._talker.news.set()
        if frame is not None:
            self._talker.extra = None if len(self._ring) else frame
            return SOON_MS
        if self._ticker.due_ms is not None:
            return max(self._ticker.due_ms - now_ms, 1)
        return IDLE_MS
