"""A device's way to its broker: MQTT 3.1.1 on asyncio, one source for CPython and boards."""

#     client = Client("broker.example", 8883, "attic-3-9f2c", user="attic-3", door=...)
#     client.topics = [wire.round_topic("lab", "thermal")]
#     asyncio.create_task(client.run())
#     await client.publish(topic, frame, qos=1)
#
# The session is kept at the broker, so what came meanwhile comes after a reconnection; what has no
# PUBACK, which is few, is sent again as it was, with DUP.
#
# Source: MQTT 3.1.1, sections 2.3.1 (numbers), 3.1.2, 3.3.1.1 (DUP), 4.3.2 and 4.4 (sent again).

import asyncio

from . import packets
from .link import Link, Pauses, sleep_ms, within


class Client:
    """One device at its broker. `topics` are subscribed to at each connection, at QoS 1.

    client_id: the device's own, and secret, for whoever comes under the same one throws it off.
    door: a `tls.Door`, or None where nobody else is. will: (topic, payload, qos, retain). limit:
    bytes of the largest packet. window: how many may wait for their PUBACK. wait_s: how long any
    answer may take. on_message(topic, payload), on_state(connected): return at once.
    """

    def __init__(
        self,
        host,
        port,
        client_id,
        *,
        user=None,
        password=None,
        door=None,
        will=None,
        keepalive_s=60,
        limit=1280,
        window=1,
        wait_s=10,
        on_message=None,
        on_state=None,
    ):
        self.topics = []
        self.reconnects = 0
        self.pauses = Pauses(1000, 30000)
        self.on_message = on_message
        self.on_state = on_state
        self._hello = packets.connect(client_id, user, password, will, keepalive_s, False)
        self._beat_ms = keepalive_s * 500
        self.link = Link(host, port, door, wait_s)
        self._window = Window(window, self.link)
        self._parser = packets.Parser(limit)
        self._greeted = asyncio.Event()
        self._stopping = asyncio.Event()
        self._met, self._life = False, 0

    @property
    def connected(self):
        """Whether the broker is there and has let us in."""
        return self.link.up

    @property
    def trouble(self):
        """Why the last connection ended, or what was wrong in it, in words for a log."""
        return self.link.trouble

    async def run(self):
        """Keep a connection until `stop`."""
        while not self._stopping.is_set():
            self._useful = self._pinged = False
            await self._guarded(self._session())
            await self.pauses.wait(self._stopping, self._useful)

    async def stop(self):
        """Say goodbye, so that the broker does not tell the will, and let `run` return."""
        self._stopping.set()
        await self.link.goodbye()

    async def publish(self, topic, payload, qos=0, retain=False):
        """Return True when the broker has it; at QoS 0, when it is on its way.

        False when that took longer than `wait_s`. At QoS 1 what had room in the window is sent
        again at the next connection; to publish the same again then waits for that one.
        """
        if not qos:
            packet = packets.publish(topic, payload, 0, retain, 0, False)
            return self.link.up and await self.link.send(packet)
        return await self._window.deliver(topic, payload, retain)

    async def _session(self):
        self._greeted.clear()
        tasks = []
        try:
            reader = await self.link.open()
            self._parser.reset()
            works = (self._listen(reader, self._life), self._beat(self._life))
            tasks = [asyncio.create_task(self._guarded(work)) for work in works]
            said = await self.link.send(self._hello)
            if not said or not await within(self.link.wait_ms, self._greeted):
                raise OSError("the broker does not greet us")
            await self._begin()
            await self.link.ended.wait()
        finally:
            self._life += 1  # ends both, also where a cancellation is swallowed
            for task in tasks:
                task.cancel()
            self._turn(False)
            await self.link.close()

    async def _begin(self):
        """Subscribe, and send again what the last connection left."""
        if self.link.ended.is_set():
            return
        if self.topics:
            await self.link.send(packets.subscribe(self._window.number(), self.topics))
        left = list(self._window.flights)  # what comes from now on is sent by who publishes it
        self.reconnects, self._met = self.reconnects + self._met, True
        self._turn(True)
        for flight in left:
            await self.link.send(flight.out())

    def _turn(self, connected):
        changed, self.link.up = self.link.up != connected, connected
        if changed and self.on_state:
            self.on_state(connected)

    async def _guarded(self, work):
        try:
            await work
        except Exception as why:
            self.link.end(why)
        self._greeted.set()  # who waits for it must not wait for what is over

    async def _listen(self, reader, life):
        while self._life == life:
            data = await reader.read(256)
            if not data:
                raise OSError("the broker hung up")
            for kind, flags, body in self._parser.feed(data):
                await self._heard(kind, flags, body)

    async def _heard(self, kind, flags, body):
        if (kind == packets.CONNACK) == self._greeted.is_set():
            raise packets.Fault("a CONNACK is the first packet, and no other is (3.2)")
        if kind == packets.CONNACK:
            if body[1]:
                raise packets.Fault("the broker refuses us with code %d (3.2.2.3)" % body[1])
            self._greeted.set()
        elif kind == packets.PUBLISH:
            await self._came(*packets.read_publish(flags, body))
        elif kind == packets.PUBACK:
            self._useful = True
            self._window.landed(packets.number(body))
        elif kind == packets.PINGRESP:
            self._useful, self._pinged = True, False
        elif 128 in bytes(body[2:]):
            self.link.trouble = "the broker refuses a subscription (3.9.3)"

    async def _came(self, topic, payload, mid):
        try:
            if self.on_message:
                self.on_message(topic, payload)
        except Exception as why:  # it would come again for ever; its text may say too much
            self.link.trouble = "a message was not taken: " + type(why).__name__
        if mid is not None:
            await self.link.send(packets.puback(mid))

    async def _beat(self, life):
        """Ask twice in each keep-alive whether the broker is there; it must have said so since."""
        while True:
            await sleep_ms(self._beat_ms)
            if self._life != life:
                return
            if self._pinged:
                raise OSError("the broker is silent")
            self._pinged = True
            await self.link.send(packets.PINGREQ)


class Window:
    """At most `size` flights over a `link.Link`, oldest first, and the numbers of packets."""

    def __init__(self, size, link):
        self.flights = []
        self.event = asyncio.Event  # makes what is waited for until a flight lands
        self.room = asyncio.Event()  # set whenever one lands
        self._size = size
        self._link = link
        self._mid = 0

    async def deliver(self, topic, payload, retain):
        """Return True when the broker has the message, False when that takes too long.

        What has a flight is sent again at the next connection, whoever waits for it or not.
        """
        link = self._link
        flight = self.take(topic, payload, retain)
        while flight is None:
            if not await within(link.wait_ms, self.room):
                for flight in self.flights[:1]:  # whoever gave it up, it is in the way
                    self._overdue(flight)
                return False
            flight = self.take(topic, payload, retain)
        if link.up and not flight.sent:
            await link.send(flight.out())
        if await within(link.wait_ms, flight.landed):
            return True
        self._overdue(flight)
        return False

    def take(self, topic, payload, retain):
        """Return the flight of this message, a new one where it has none; None without room."""
        what = (topic, payload, retain)
        for flight in self.flights:
            if flight.what == what:
                return flight
        if len(self.flights) == self._size:
            self.room.clear()
            return None
        mid = self.number()
        packet = packets.publish(topic, payload, 1, retain, mid, False)
        flight = Flight(mid, what, packet, self.event())
        self.flights.append(flight)
        return flight

    def _overdue(self, flight):
        link = self._link
        if link.up:
            if flight.late:
                link.end("no PUBACK came in %d ms" % link.wait_ms)
            flight.late = True  # once is no proof: it may have left a moment ago, again

    def number(self):
        """Return a packet identifier that is not in use."""
        while True:
            self._mid = self._mid % 65535 + 1
            if self._mid not in [flight.mid for flight in self.flights]:
                return self._mid

    def landed(self, mid):
        """Let the flight of this number be over; one that was never sent cannot be."""
        for flight in self.flights:
            if flight.mid == mid and flight.sent:
                self.flights.remove(flight)
                flight.landed.set()
                self.room.set()
                return


class Flight:
    """A message on its way."""

    def __init__(self, mid, what, packet, landed):
        self.mid = mid
        self.what = what  # (topic, payload, retain)
        self.packet = packet
        self.landed = landed
        self.sent = self.late = False

    def out(self):
        """Return the packet for the wire, with DUP where it was there before."""
        if self.sent:
            self.packet[0] |= 8
        self.sent, self.late = True, False
        return self.packet
