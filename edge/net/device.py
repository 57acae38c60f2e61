"""The running device: Rounds in, frames out at their ticks, and what it says of itself.

    device = Device(identity, budget, read, client, Ring(4096), tick_ms=500)
    await asyncio.gather(client.run(), device.run())

One task makes frames, and one talks (`talking`), so that no answer of the broker delays a tick. A
frame is in the ring before anybody else has it, and stays there until its Receipt comes.

While noise is drawn or a Round answered everything else stands still. So that what is late by it
does not tell how long it took, nothing at all goes out before the next tick, and nothing is begun
while a packet is half way out (see `link`). What comes meanwhile counts as come at that tick, for
when it was read tells the same. What TCP says by itself is beyond us.

No pins and no radio in here.
"""

import asyncio

from ..core import compat, wire
from ..core.node import Node
from . import receipts
from .pause import within
from .talking import IDLE_MS, Talker
from .ticker import Ticker

SOON_MS = 50  # after a frame has gone the next noise is drawn
BUSY_MS = 10  # till a packet that is half way out may have gone
FRAME = 64  # bytes of a frame at the most beside its readings, and the ring's two
WAITING = 4  # messages that wait to be worked on; more are dropped, for they come again


def node_of(identity, budget, step, follower, tables, mechanism, suite):
    """Return what answers: a `SumNode` for an identity with a roster, else a `Node`."""
    if not hasattr(identity, "roster"):
        return Node(identity, budget, step, follower, tables, mechanism)
    from ..mechanisms.sum_node import SumNode  # what no thermometer needs

    return SumNode(identity, budget, mechanism, suite)


class Device:
    """One device at its broker; `run` it beside the client.

    client: a `mqtt.Client`, with the state `lost` as its will. ring: a `ring.Ring`. read, step,
    follower, tables: as for Node. clock: a `clock.Clock` or None. watchdog: has `feed()`, or None.
    tick_ms: longer than an answer takes (`ticker`). led: takes the state's word, or None. diag_s:
    seconds from one `diag` to the next. uptime: a `compat.Uptime` that is more exact than the
    usual one. vitals: returns what a board adds to `diag`, or None. mechanism: what it answers,
    `thermal` or `disk`; `quadtree` where its identity has a roster. suite: as for a `SumNode`.
    """

    def __init__(
        self,
        identity,
        budget,
        read,
        client,
        ring,
        *,
        tick_ms,
        clock=None,
        watchdog=None,
        led=None,
        step=None,
        follower=None,
        diag_s=60,
        uptime=None,
        vitals=None,
        tables=False,
        mechanism="thermal",
        suite=None,
    ):
        longest = FRAME + 4 * identity.sensors
        if ring.size < longest:
            raise ValueError(
                "a ring of %d bytes came for frames of up to %d; one must fit, or what was paid "
                "for is lost. Make a larger Ring" % (ring.size, longest)
            )
        self._sums = []  # of a device of secure sums: (when, frames that then go out)
        self._adds = hasattr(identity, "roster")
        self.node = node_of(identity, budget, step, follower, tables, mechanism, suite)
        self.refused = 0  # frames that came, and do not count: too late, or again
        self._read = read
        self._client = client
        self._ring = ring
        self._watchdog = watchdog
        self._ticker = Ticker(self, tick_ms)
        self._uptime = uptime or compat.Uptime()
        told = (self.node, self._ticker, ring, client, led, clock, diag_s, vitals, self._uptime)
        self._talker = Talker(*told)
        self._round = wire.round_topic(identity.site, mechanism)
        self._receipt = wire.topic(identity.site, identity.name, "receipt")
        self._limits = wire.topic(identity.site, identity.name, "cmd/limits")
        self._heard = []  # (topic, payload, when): at most `WAITING`
        self._last = None  # the frame that was put into the ring last
        self._quiet_ms = 0  # before this moment nothing goes out, and nothing counts as come
        self._news = asyncio.Event()

    async def run(self):
        """Answer for ever."""
        self._client.topics = [self._round, self._receipt, self._limits]
        if self._adds:
            self._client.topics += self.node.topics
        self._client.on_message = self._came
        self._client.on_state = self._talker.linked
        talking = asyncio.create_task(self._talker.run())
        try:
            while True:
                self._news.clear()
                await within(self._look(), self._news)
                if talking.done():  # by a fault, which is not to be silent for ever
                    await talking
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
            at_ms = max(self._uptime.now_ms(), self._quiet_ms)
            self._heard.append((topic, bytes(payload), at_ms))
            self._news.set()

    def _look(self):
        """Work on what came and on the tick; return for how many milliseconds nothing is due."""
        if self._watchdog is not None:
            self._watchdog.feed()
        link, ticker, clock = self._client.link, self._ticker, self._uptime
        drawn, read, begun_ms = self.node.ahead.drawn, self.node.ahead.seq, clock.now_ms()
        if not link.busy:
            while self._heard:
                self._hear(*self._heard.pop(0))
        elif not ticker.waits:
            return BUSY_MS
        if ticker.due_ms is not None and ticker.due_ms - clock.now_ms() <= clock.EARLY_MS:
            clock.stay(ticker.due_ms)
        frame = ticker.due(clock.now_ms())
        due_ms = ticker.due_ms  # of a frame that waits
        if due_ms is not None:
            self._quiet_ms = due_ms
        elif (self.node.ahead.drawn, self.node.ahead.seq) != (drawn, read):  # a fault of it, too
            self._quiet_ms = ticker.after(begun_ms, clock.now_ms())
        if self._sums:
            self._quiet_ms = max(self._quiet_ms, self._sums[-1][0])
        link.hush(clock, self._quiet_ms)
        self._talker.news.set()
        if self._sums:
            return self._give_sums(clock)
        if frame is not None:
            self._talker.extra = None if len(self._ring) else frame
            return SOON_MS
        if due_ms is not None:
            return max(due_ms - clock.EARLY_MS - clock.now_ms(), 1)
        return IDLE_MS

    def _give_sums(self, clock):
        """Give out what is due of a secure sum; return for how many milliseconds nothing is."""
        while self._sums and self._sums[0][0] <= clock.now_ms() + clock.EARLY_MS:
            due_ms, frames = self._sums.pop(0)
            clock.stay(due_ms)
            self._talker.sums += frames
        return max(self._sums[0][0] - clock.now_ms(), 1) if self._sums else SOON_MS

    def _hear(self, topic, payload, at_ms):
        """Work on a message that came at `at_ms`."""
        if self._adds and (topic == self._round or topic in self.node.topics):
            frames = self.node.heard(topic, payload, self._read, at_ms)
            if topic == self._round and frames:
                self._talker.sums = []  # of an earlier round, which nobody waits for
            if frames:
                due_ms = self._ticker.after(at_ms, self._uptime.now_ms())
                self._ticker.missed += due_ms > self._ticker.after(at_ms, at_ms)
                self._sums.append((due_ms, frames))
        elif topic == self._round:
            self._ticker.came(payload, self._read, at_ms)
        elif topic == self._receipt:
            heard = receipts.heard(payload, self.node.identity)
            oldest = self._ring.oldest()
            if heard is None:
                self.node.forged += 1
            elif oldest and receipts.numbers(oldest) == heard[:2]:
                self.refused += not heard[2]
                self._ring.free(oldest)
        elif topic == self._limits and len(self._talker.acks) < WAITING:
            ack = self.node.tighten(payload)
            self.node.forged += ack["version"] is None
            self._talker.acks.append(ack)
