"""What a device says to its broker, one thing after the other, and when it must be silent.

Frames come first: the oldest that has no Receipt, with the same bytes each time, and those of a
secure sum. What else there is (ack, meta, state, diag) never goes out while a frame is held back:
said as soon as that is made, it would tell how long the noise took.
"""

import asyncio
import json

from ..core import wire
from ..core.compat import free_heap, spread
from .pause import within

IDLE_MS = 1000  # at least so often a task looks around
AGAIN_MS = 60000  # what has no Receipt by then is sent again, and up to as much later


class Talker:
    """One device's voice. `acks`: to be said. `extra`: a frame asked for after its Receipt.

    vitals: returns what a board adds to `diag`, such as {"rssi": -61}, or None.
    """

    def __init__(self, node, ticker, ring, client, led, clock, diag_s, vitals, uptime):
        self.acks = []
        self.extra = None
        self.sums = []  # frames of a secure sum, in their order
        self.news = asyncio.Event()  # set it when there may be something to say
        self._node = node
        self._ticker = ticker
        self._ring = ring
        self._client = client
        self._led = led
        self._clock = clock
        self._vitals = vitals
        self._diag_ms = diag_s * 1000
        self._next_diag_ms = 0
        self._heap = free_heap()  # once, for later it moves with the noise
        self._uptime = uptime
        self._sent = None  # the frame that is under way, and when it goes again
        self._again_ms = 0
        self._said = ""  # the state that the broker has

    async def run(self):
        """Talk for ever."""
        while True:
            self.news.clear()
            if not (self._client.connected and await self._say()):
                await within(IDLE_MS, self.news)

    def linked(self, connected):
        """Begin anew with a connection: state is said, and what has no Receipt is sent."""
        self._said, self._sent = "", None
        self._show(self._state() if connected else "disconnected")
        self.news.set()

    def _state(self):
        """Return the node's state; `alert` too where its sensor fails or frames are being lost."""
        word = self._node.state()
        return "alert" if word == "ready" and (self._node.faults or self._ring.trouble) else word

    def _show(self, word):
        if self._led is not None:
            self._led(word)

    async def _say(self):
        """Say the next thing; False where there is none, or where the broker did not take it."""
        if self._ticker.waits:  # not the frame, and no older one either: it would tell the same
            return False
        now_ms = self._uptime.now_ms()
        frame, self.extra = self.extra, None
        oldest = self._ring.oldest()
        if oldest and (oldest != self._sent or now_ms >= self._again_ms):
            self._sent, self._again_ms = oldest, now_ms + AGAIN_MS + spread(AGAIN_MS)
            frame = oldest
        if frame:
            return await self._publish("data", frame, False)
        if self.sums:
            frame = self.sums[0]
            if not await self._publish("sum", frame, False):
                return False
            if self.sums and self.sums[0] is frame:
                self.sums.pop(0)
            return True
        if self.acks:
            if not await self._publish("ack", json.dumps(self.acks[0]).encode(), False):
                return False
            if self.acks.pop(0)["taken"]:
                self._said = ""  # the limits in `meta` may be others now
            return True
        state = self._state()
        if state != self._said:
            self._show(state)
            meta = json.dumps(self._node.meta()).encode()
            if not await self._publish("meta", meta, True) or self._ticker.waits:
                return False
            if await self._publish("state", state.encode(), True):
                self._said = state
            return self._said == state
        if now_ms >= self._next_diag_ms:
            self._next_diag_ms = now_ms + self._diag_ms
            await self._client.publish(self._topic("diag"), json.dumps(self._diag()).encode())
        return False

    async def _publish(self, leaf, payload, retain):
        return await self._client.publish(self._topic(leaf), payload, 1, retain)

    def _topic(self, leaf):
        return wire.topic(self._node.identity.site, self._node.identity.name, leaf)

    def _diag(self):
        """Return what helps to find a fault: nothing that moves with a reading or its noise.

        But `missed`, where the tick is too short: no more than when the frames went out.
        """
        said = {
            "heap": self._heap,
            "reconnects": self._client.reconnects,
            "waiting": len(self._ring),
            "lost": self._ring.overwritten,
            "losing": self._ring.trouble,
            "faults": self._node.faults,
            "forged": self._node.forged,
            "missed": self._ticker.missed,
            "clock": self._clock is not None and self._clock.known,
        }
        if self._vitals is not None:
            said.update(self._vitals())
        return said
