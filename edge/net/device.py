"""The running device: Rounds in, frames out at their ticks, and what it says of itself."""

#     device = Device(identity, budget, read, client, Ring(4096), tick_ms=500)
#     await asyncio.gather(client.run(), device.run())
#
# One task makes frames, and one talks (`Talker`), so that no answer of the broker delays a tick.
# A frame is in the ring before anybody else has it, and stays there until its Receipt comes.
#
# While noise is drawn or a Round answered everything else stands still. So that what is late by it
# does not tell how long it took, nothing at all goes out before the next tick, and nothing is
# begun while a packet is half way out (see `link`). What comes meanwhile counts as come at that
# tick, for when it was read tells the same. What TCP says by itself is beyond us.
#
# No pins and no radio in here.
#
# `Talker`: what a device says to its broker, one thing after the other, and when it is silent.
#
# Frames come first: the oldest that has no Receipt, with the same bytes each time, and those of a
# secure sum. What else there is (ack, meta, state, diag) never goes out while a frame is held
# back: said as soon as that is made, it would tell how long the noise took.
#
# Receipts: a device forgets a report when its Receipt has come and is believed.
#
#     Receipt {0: version 1, 1: seq, 2: epoch, 3: 1 when the report counts, else 0}
#
# It is signed like a Round (`wire`), else whoever can write on the broker could make reports
# vanish. Its key is the config key, for what the gateway says to one device alone.

import asyncio
import json

from ..core import compat, wire
from ..core.compat import draw_jitter, free_heap
from ..core.node import Node
from ..mechanisms import USUAL
from .link import wait_for_event
from .ticker import Ticker

SOON_MS = 50  # after a frame has gone the next noise is drawn
BUSY_MS = 10  # till a packet that is half way out may have gone
FRAME = 64  # bytes of a frame at the most beside its readings, and the ring's two
WAITING = 4  # messages that wait to be worked on; more are dropped, for they come again
IDLE_MS = 1000  # at least so often a task looks around
AGAIN_MS = 60000  # what has no Receipt by then is sent again, and up to as much later
RECEIPT_BYTES = 64  # bytes of a Receipt


def make_node(identity, budget, step, follower, tables, mechanism, suite):
    """Return what answers: a `SumNode` for an identity with a roster, else a `Node`."""
    if not hasattr(identity, "roster"):
        return Node(identity, budget, step, follower, tables, mechanism)
    from ..mechanisms.sum_node import SumNode  # what no thermometer needs

    return SumNode(identity, budget, mechanism, suite)


class Device:
    """One device at its broker; `run` it beside the client.

    client: a `mqtt.Client`, with the state `lost` as its will. ring: a `ring.Ring`. read, step,
    follower, tables: as for Node. clock: a `tls.Clock` or None. watchdog: has `feed()`, or None.
    tick_ms: longer than an answer takes (`ticker`). led: takes the state's word, or None. diag_s:
    seconds from one `diag` to the next. uptime: a `compat.Uptime` that is more exact than the
    usual one. vitals: returns what a board adds to `diag`, or None. mechanism: what it answers,
    `thermal` or `disk`; `quadtree` where its identity has a roster. suite: as for a `SumNode`.
    updates: what takes a release over the air (`board.renewal.Updates`), or None.
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
        mechanism=USUAL,
        suite=None,
        updates=None,
    ):
        longest = FRAME + 4 * identity.sensors
        if ring.size < longest:
            raise ValueError(
                "a ring of %d bytes came for frames of up to %d; one must fit, or what was paid "
                "for is lost. Make a larger Ring" % (ring.size, longest)
            )
        self._sums = []  # of a device of secure sums: (when, frames that then go out)
        self._adds = hasattr(identity, "roster")
        self.node = make_node(identity, budget, step, follower, tables, mechanism, suite)
        self.refused = 0  # frames that came, and do not count: too late, or again
        self.receipts = 0  # of frames of this boot that count
        self._read = read
        self._client = client
        self._ring = ring
        self._watchdog = watchdog
        self._ticker = Ticker(self, tick_ms)
        self._uptime = uptime or compat.Uptime()
        told = (self.node, self._ticker, ring, client, led, clock, diag_s, vitals, self._uptime)
        self._updates = updates
        self._talker = Talker(*told, updates)
        self._round = wire.round_topic(identity.site, mechanism)
        self._receipt = wire.topic(identity.site, identity.name, "receipt")
        self._limits = wire.topic(identity.site, identity.name, "cmd/limits")
        self._heard = []  # (topic, payload, when): at most `WAITING`
        self._block = None  # topic and payload of a release that waits to be worked on
        self._last = None  # the frame that was put into the ring last
        self._skips = False  # whether no noise is drawn before the next frame, for a release comes
        self._quiet_ms = 0  # before this moment nothing goes out, and nothing counts as come
        self._news = asyncio.Event()

    async def run(self):
        """Answer for ever."""
        self._client.topics = [self._round, self._receipt, self._limits]
        if self._adds:
            self._client.topics += self.node.topics
        if self._updates is not None:
            self._client.topics.append(self._updates.topic)
        self._client.on_message = self._came
        self._client.on_state = self._talker.begin
        talking = asyncio.create_task(self._talker.run())
        try:
            while True:
                self._news.clear()
                await wait_for_event(self._look(), self._news)
                if talking.done():  # by a fault, which is not to be silent for ever
                    await talking
        finally:
            talking.cancel()

    @property
    def holds(self):
        """Say whether a frame is held back for its tick."""
        return self._ticker.waits or bool(self._sums)

    @property
    def waits(self):
        """Say whether anything is held back for its tick, or is quiet after a draw."""
        return self.holds or self._uptime.now_ms() < self._quiet_ms

    def announce(self):
        """Say anew what the device is, for something of it changed."""
        self._talker.said = ""

    def prepare(self):
        """Draw ahead; for the ticker, to which this is a node that keeps its frames.

        While a release comes, only between every second frame and the next: a device that is asked
        every two ticks would never work on it else, and whoever sends it says how long it comes.
        """
        if self._updates is None or not self._updates.busy or not self._skips:
            self.node.prepare()

    def answer(self, message, read, now_ms):
        """Return the node's frame, which is in the ring by then, or None."""
        frame = self.node.answer(message, read, now_ms=now_ms)
        if frame is not None and frame != self._last:
            self._ring.put(frame)
            self._last = frame
            self._skips = not self._skips
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
        if not ticker.waits and 0 < self._quiet_ms - clock.now_ms() <= clock.EARLY_MS:
            clock.block_until(self._quiet_ms)
        drawn, read, begun_ms = self.node.ahead.drawn, self.node.ahead.seq, clock.now_ms()
        budget = self.node.budget
        held_back = self.waits or self._heard or link.busy
        if self._block is not None and not held_back:
            return self._take_block(*self._block)
        if budget.window and not ticker.waits and not self._sums:
            budget.age(self.node.fail)
        if not link.busy:
            while self._heard:
                self._hear(*self._heard.pop(0))
        elif not ticker.waits:
            return BUSY_MS
        if ticker.due_ms is not None and ticker.due_ms - clock.now_ms() <= clock.EARLY_MS:
            clock.block_until(ticker.due_ms)
        frame = ticker.poll(clock.now_ms())
        due_ms = ticker.due_ms  # of a frame that waits
        if due_ms is not None:
            self._quiet_ms = due_ms
        elif (self.node.ahead.drawn, self.node.ahead.seq) != (drawn, read):  # a fault of it, too
            self._quiet_ms = ticker.find_tick(begun_ms, clock.now_ms())
        if self._sums:
            self._quiet_ms = max(self._quiet_ms, self._sums[-1][0])
        link.hush(clock, self._quiet_ms)
        self._talker.quiet_ms = self._quiet_ms
        self._talker.news.set()
        if self._sums:
            return self._give_sums(clock)
        if frame is not None:
            self._talker.extra = None if len(self._ring) else frame
            return SOON_MS
        left_ms = self._quiet_ms - clock.now_ms()
        if due_ms is None and left_ms <= 0:
            return 1 if self._block else IDLE_MS
        return max(left_ms - clock.EARLY_MS, 1)  # from there on, for a draw ends at no tick

    def _give_sums(self, clock):
        """Give out what is due of a secure sum; return for how many milliseconds nothing is."""
        while self._sums and self._sums[0][0] <= clock.now_ms() + clock.EARLY_MS:
            due_ms, frames = self._sums.pop(0)
            clock.block_until(due_ms)
            self._talker.sums += frames
        return max(self._sums[0][0] - clock.now_ms(), 1) if self._sums else SOON_MS

    def _hear(self, topic, payload, at_ms):
        """Work on a message that came at `at_ms`."""
        if self._adds and (topic == self._round or topic in self.node.topics):
            frames = self.node.handle(topic, payload, self._read, at_ms)
            if topic == self._round and frames:
                self._talker.sums = []  # of an earlier round, which nobody waits for
            if frames:
                due_ms = self._ticker.find_tick(at_ms, self._uptime.now_ms())
                self._ticker.missed += due_ms > self._ticker.find_tick(at_ms, at_ms)
                self._sums.append((due_ms, frames))
        elif topic == self._round:
            self._ticker.take(payload, self._read, at_ms)
        elif topic == self._receipt:
            heard = read_receipt(payload, self.node.identity)
            oldest = self._ring.oldest()
            if heard is None:
                self.node.forged += 1
            elif oldest and read_numbers(oldest) == heard[:2]:
                self.refused += not heard[2]
                self.receipts += heard[2] and heard[0] == self.node.budget.epoch
                self._ring.drop_oldest(oldest)
        elif topic == self._limits and len(self._talker.acks) < WAITING:
            ack = self.node.tighten(payload)
            self.node.forged += ack["version"] is None
            self._talker.acks.append(ack)
        elif self._updates is not None and (self._block is None or topic == self._updates.topic):
            self._block = topic, payload  # a block that is missed comes again

    def _take_block(self, topic, payload):
        """Work on what came of a release; return for how many milliseconds nothing is due.

        Files are written and hashed then, for as long as the sender likes: never between a draw
        and its tick, which would be missed, or not, by what the draw took.
        """
        self._block = None
        ack = self._updates.take(topic, payload)
        if ack is not None and len(self._talker.acks) < WAITING:
            self.node.forged += ack["version"] is None
            self._talker.acks.append(ack)
        self._talker.news.set()
        return 1


class Talker:
    """One device's voice. `acks`: to be said. `extra`: a frame asked for after its Receipt.

    vitals: returns what a board adds to `diag`, such as {"rssi": -61}, or None.
    """

    def __init__(
        self, node, ticker, ring, client, led, clock, diag_s, vitals, uptime, updates=None
    ):
        self.acks = []
        self.extra = None
        self.quiet_ms = 0  # what is begun before this moment counts as begun at it
        self.sums = []  # frames of a secure sum, in their order
        self.news = asyncio.Event()  # set it when there may be something to say
        self._node = node
        self._ticker = ticker
        self._ring = ring
        self._client = client
        self._led = led
        self._clock = clock
        self._vitals = vitals
        self._updates = updates
        self._diag_ms = diag_s * 1000
        self._next_diag_ms = 0
        self._heap = free_heap()  # once, for later it moves with the noise
        self._uptime = uptime
        self._sent = None  # the frame that is under way, and when it goes again
        self._again_ms = 0
        self.said = ""  # the state that the broker has; "" to say it anew, with `meta`

    async def run(self):
        """Talk for ever: `Device` sets `news` at each of its looks, one a second at least."""
        while True:
            self.news.clear()
            if not (self._client.connected and await self._say()):
                await self.news.wait()

    def begin(self, connected):
        """Begin anew with a connection: state is said, and what has no Receipt is sent."""
        self.said, self._sent = "", None
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
        now_ms = max(self._uptime.now_ms(), self.quiet_ms)
        frame, self.extra = self.extra, None
        oldest = self._ring.oldest()
        if oldest and (oldest != self._sent or now_ms >= self._again_ms):
            self._sent, self._again_ms = oldest, now_ms + AGAIN_MS + draw_jitter(AGAIN_MS)
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
            said = self.acks.pop(0)
            if said["taken"] or said["verb"] == "update":
                self.said = ""  # what `meta` says may be something else now
            return True
        state = self._state()
        if state != self.said:
            self._show(state)
            meta = self._node.meta()
            if self._updates is not None:
                meta.update(self._updates.describe())
            if (
                not await self._publish("meta", json.dumps(meta).encode(), True)
                or self._ticker.waits
            ):
                return False
            if await self._publish("state", state.encode(), True):
                self.said = state
            return self.said == state
        wanted = self._updates and self._updates.poll(now_ms)
        if wanted:
            if wanted[2] is not None:
                self.acks.append(wanted[2])
            return await self._client.swap_topics(*wanted[:2])
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


def unpack_receipt(message, key, topic):
    """Return (epoch, seq, taken) of a Receipt, or raise `wire.Fault`."""
    body = wire.open_message(message, key, topic, RECEIPT_BYTES)
    for part in (1, 2, 3):
        if not isinstance(body.get(part), int) or not 0 <= body[part] < 1 << 48:
            raise wire.fault("a Receipt misses a counter below 2**48", "the fields of wire.cddl")
    return body[2], body[1], body[3] == 1


def read_receipt(message, identity):
    """Return what `unpack_receipt` finds in a message to this device, None if it is no Receipt.

    identity: its `entropy.Identity`.
    """
    try:
        where = wire.topic(identity.site, identity.name, "receipt")
        return unpack_receipt(message, identity.config_key, where)
    except wire.BROKEN:
        return None


def read_numbers(frame):
    """Return (epoch, seq) of a frame of the device's own: a map {0: 1, 1: seq, 2: epoch, ...}."""
    reader = wire.Reader(frame)
    reader.at = 4  # behind the heads of the map and of three small numbers, a byte each
    seq = reader.value(0)
    reader.at += 1
    return reader.value(0), seq
