"""A device's way to its broker: MQTT 3.1.1 on asyncio, one source for CPython and boards."""

#     client = Client("broker.example", 8883, "attic-3-9f2c", user="attic-3", door=...)
#     client.topics = [wire.round_topic("lab", "thermal")]
#     asyncio.create_task(client.run())
#     await client.publish(topic, frame, qos=1)
#
# The session is kept at the broker, so what came meanwhile comes after a reconnection. One message
# at QoS 1 is on its way at a time; without its PUBACK it is sent again as it was, with DUP.
#
# The bytes of packets come first; nothing in there reads or writes. What a broker says is bounded,
# and of a kind and a length that it may be, or it is a Fault: nothing more of that connection is
# believed then.
#
# Source: MQTT 3.1.1 (OASIS 2014), whose sections are named where they count.

import asyncio

from .link import Fault, Link, Pauses, sleep_ms, wait_for_event

CONNACK = 2
PUBLISH = 3
PUBACK = 4
SUBACK = 9
UNSUBACK = 11
PINGRESP = 13

PINGREQ = b"\xc0\x00"  # 3.12
DISCONNECT = b"\xe0\x00"  # 3.14
GOODBYE_MS = 1000

# How long the rest of each packet from a broker may be: (least, most); none of these has flags.
_FLAGLESS = {CONNACK: (2, 2), PUBACK: (2, 2), SUBACK: (3, 64), PINGRESP: (0, 0)}
_FLAGLESS[UNSUBACK] = (2, 2)


def pack_connect(client_id, user, password, will, keepalive_s, clean):
    """Return CONNECT (3.1). will: (topic, payload, qos, retain) or None; all else is text."""
    flags = 2 if clean else 0
    rest = _text(client_id)
    if will is not None:
        topic, payload, qos, retain = will
        flags |= 4 | qos << 3 | (0x20 if retain else 0)
        rest += _text(topic) + _two(len(payload)) + payload
    if user is not None:
        flags |= 0x80
        rest += _text(user)
    if password is not None:
        flags |= 0x40
        rest += _text(password)
    head = b"\x00\x04MQTT\x04" + bytes((flags,)) + _two(keepalive_s)
    return _packet(0x10, head, rest)


def pack_publish(topic, payload, qos, retain, mid, dup):
    """Return PUBLISH (3.3) as a bytearray; mid, its number, counts at QoS 1 alone."""
    head = _text(topic)
    if qos:
        head += _two(mid)
    return _packet(0x30 | (8 if dup else 0) | qos << 1 | (1 if retain else 0), head, payload)


def pack_subscribe(mid, topics):
    """Return SUBSCRIBE (3.8) to these topics, at QoS 1."""
    rest = b"".join([_text(topic) + b"\x01" for topic in topics])
    return _packet(0x82, _two(mid), rest)


def pack_unsubscribe(mid, topic):
    """Return UNSUBSCRIBE (3.10)."""
    return _packet(0xA2, _two(mid), _text(topic))


def pack_puback(mid):
    """Return PUBACK (3.4): the message of this number is ours now."""
    return _packet(0x40, _two(mid), b"")


def read_publish(flags, body):
    """Return (topic, payload, mid) of a PUBLISH that a Parser gave; mid is None at QoS 0.

    Raises Fault where the standard does not allow it.
    """
    start = 2 + (body[0] << 8 | body[1]) if len(body) > 1 else 3
    stop = start + (2 if flags & 2 else 0)
    if not 2 < start <= stop <= len(body):
        raise Fault("a message without a topic or a number (3.3.2); it must have both")
    mid = None
    if flags & 2:
        mid = read_number(body, start)
    try:
        return str(bytes(body[2:start]), "utf-8"), bytes(body[stop:]), mid
    except ValueError:  # UnicodeError is one
        raise Fault("a message whose topic is not UTF-8 (1.5.3)") from None


def read_number(body, at=0):
    """Return the packet identifier that stands there (2.3.1); it is never 0."""
    mid = body[at] << 8 | body[at + 1]
    if not mid:
        raise Fault("a packet with number 0 (2.3.1)")
    return mid


def _two(value):
    return bytes((value >> 8, value & 255))  # ValueError where it does not fit


def _text(text):
    data = text.encode()
    return _two(len(data)) + data


def _packet(first, head, rest):
    size = len(head) + len(rest)
    packet = bytearray((first,))
    while size > 127:  # seven bits a byte, the lowest first (2.2.3)
        packet.append(size & 127 | 128)
        size >>= 7
    packet.append(size)
    packet.extend(head)
    packet.extend(rest)
    return packet


class Parser:
    """Takes bytes as they come and gives whole packets; holds one, of `limit` bytes at most."""

    def __init__(self, limit):
        self._held = bytearray(limit)
        self.reset()

    def reset(self):
        """Forget what is there of a packet: a new connection begins with a new one."""
        self._first = self._size = self._shift = self._got = 0
        self._headed = False

    def feed(self, data):
        """Yield (kind, flags, body) of each packet that is complete with these bytes.

        The body is a memoryview that holds good until the next one is asked for. Raises Fault.
        """
        at = 0
        while at < len(data):
            if self._headed:
                take = min(self._size - self._got, len(data) - at)
                self._held[self._got : self._got + take] = data[at : at + take]
                self._got += take
                at += take
            else:
                self._head(data[at])
                at += 1
            if self._headed and self._got == self._size:
                first, size = self._first, self._size
                self.reset()
                yield first >> 4, first & 15, memoryview(self._held)[:size]

    def _head(self, byte):
        """Take a byte of the fixed header (2.2)."""
        kind, flags = (self._first or byte) >> 4, (self._first or byte) & 15
        if not self._first:
            wrong = flags or kind not in _FLAGLESS
            if kind == PUBLISH:  # QoS 2 was not asked for, and what is repeated has QoS 1
                wrong = flags & 4 or flags & 10 == 8
            if wrong:
                raise Fault("kind %d with flags %d, which no broker sends us" % (kind, flags))
            self._first = byte
            return
        self._size |= (byte & 127) << self._shift
        self._shift += 7
        if byte & 128:
            if self._shift > 21:
                raise Fault("a length of more than four bytes (2.2.3)")
            return
        least, most = _FLAGLESS.get(kind, (2, len(self._held)))
        if not least <= self._size <= min(most, len(self._held)):
            raise Fault("a packet of %d bytes; %d are held at most" % (self._size, most))
        self._headed = True


class Client:
    """One device at its broker. `topics` are subscribed to at each connection, at QoS 1.

    client_id: the device's own, and secret, for whoever comes under the same one throws it off.
    door: a `tls.Door`, or None where nobody else is. will: (topic, payload, qos, retain). limit:
    bytes of the largest packet. wait_s: how long any answer may take. on_message(topic, payload),
    on_state(connected): return at once.
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
        wait_s=10,
        on_message=None,
        on_state=None,
    ):
        self.topics = []
        self.reconnects = 0
        self.pauses = Pauses(1000, 30000)
        self.on_message = on_message
        self.on_state = on_state
        self.link = Link(host, port, door, wait_s)
        self._hello = pack_connect(client_id, user, password, will, keepalive_s, False)
        self._beat_ms = keepalive_s * 500
        self._parser = Parser(limit)
        self._greeted = asyncio.Event()
        self._stopping = asyncio.Event()
        self._room = asyncio.Event()  # set whenever a message has its PUBACK
        self._flight = None  # the message that has none yet
        self._met, self._life, self._mid = False, 0, 0

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
        """Say goodbye, so that the broker does not tell the will, and let `run` return.

        The broker hangs up first: a socket that is closed while something comes in can take back
        what was said.
        """
        self._stopping.set()
        if self.link.up and await self.link.send(DISCONNECT):
            await wait_for_event(GOODBYE_MS, self.link.ended)
        self.link.end("stopped")

    async def publish(self, topic, payload, qos=0, retain=False):
        """Return True when the broker has it; at QoS 0, when it is on its way.

        False when that took longer than `wait_s`. At QoS 1 what is on its way is sent again at the
        next connection, whoever waits for it; to publish the same again then waits for that one.
        """
        link, what = self.link, (topic, payload, retain)
        if not qos:
            packet = pack_publish(topic, payload, 0, retain, 0, False)
            return link.up and await link.send(packet)
        while self._flight and self._flight.what != what:
            self._room.clear()
            if not await wait_for_event(link.wait_ms, self._room):
                self._overdue(self._flight)  # whoever gave it up, it is in the way
                return False
        flight = self._flight
        if flight is None:
            mid = self._number()
            packet = pack_publish(topic, payload, 1, retain, mid, False)
            flight = self._flight = Flight(mid, what, packet, asyncio.Event())
        if link.up and not flight.sent:
            await link.send(flight.pack())
        if await wait_for_event(link.wait_ms, flight.landed):
            return True
        self._overdue(flight)
        return False

    async def swap_topics(self, topic, before):
        """Subscribe to a topic and let another go, each or None; say whether that went out."""
        packets = []
        if before is not None:
            packets.append(pack_unsubscribe(self._number(), before))
        if topic is not None:
            packets.append(pack_subscribe(self._number(), [topic]))
        for packet in packets:
            if not await self.link.send(packet):
                return False
        return True

    def _overdue(self, flight):
        if flight and self.link.up:
            if flight.late:
                self.link.end("no PUBACK came in %d ms" % self.link.wait_ms)
            flight.late = True  # once is no proof: it may have left a moment ago, again

    def _number(self):
        """Return a packet identifier that is not in use."""
        self._mid = self._mid % 65535 + 1
        if self._flight and self._flight.mid == self._mid:
            return self._number()
        return self._mid

    async def _session(self):
        self._greeted.clear()
        tasks = []
        try:
            reader = await self.link.open()
            self._parser.reset()
            works = (self._listen(reader, self._life), self._beat(self._life))
            tasks = [asyncio.create_task(self._guarded(work)) for work in works]
            said = await self.link.send(self._hello)
            if not said or not await wait_for_event(self.link.wait_ms, self._greeted):
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
            await self.link.send(pack_subscribe(self._number(), self.topics))
        left = self._flight  # what comes from now on is sent by who publishes it
        self.reconnects, self._met = self.reconnects + self._met, True
        self._turn(True)
        if left:
            await self.link.send(left.pack())

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
        if (kind == CONNACK) == self._greeted.is_set():
            raise Fault("a CONNACK is the first packet, and no other is (3.2)")
        if kind == CONNACK:
            if body[1]:
                raise Fault("the broker refuses us with code %d (3.2.2.3)" % body[1])
            self._greeted.set()
        elif kind == PUBLISH:
            topic, payload, mid = read_publish(flags, body)
            try:
                if self.on_message:
                    self.on_message(topic, payload)
            except Exception as why:  # it would come again for ever; its text may say too much
                self.link.trouble = "a message was not taken: " + type(why).__name__
            # What nobody here takes stays with the broker: a copy has its true device's session.
            if mid is not None and self.on_message:
                await self.link.send(pack_puback(mid))
        elif kind == PUBACK:
            self._useful = True
            flight, mid = self._flight, read_number(body)
            if flight and flight.mid == mid and flight.sent:  # what was never sent has none
                self._flight = None
                flight.landed.set()
                self._room.set()
        elif kind == PINGRESP:
            self._useful, self._pinged = True, False
        elif 128 in bytes(body[2:]):
            self.link.trouble = "the broker refuses a subscription (3.9.3)"

    async def _beat(self, life):
        """Ask twice in each keep-alive whether the broker is there; it must have said so since."""
        while True:
            await sleep_ms(self._beat_ms)
            if self._life != life:
                return
            if self._pinged:
                raise OSError("the broker is silent")
            self._pinged = True
            await self.link.send(PINGREQ)


class Flight:
    """A message that has no PUBACK yet."""

    def __init__(self, mid, what, packet, landed):
        self.mid = mid
        self.what = what  # (topic, payload, retain)
        self.landed = landed
        self.sent = self.late = False
        self._packet = packet

    def pack(self):
        """Return the packet for the wire, with DUP where it was there before (3.3.1.1)."""
        if self.sent:
            self._packet[0] |= 8
        self.sent, self.late = True, False
        return self._packet
