"""MQTT 3.1.1 packets: what a device says as bytes, and a Parser for what a broker says.

Nothing in here reads or writes. What a broker says is bounded, and of a kind and a length that it
may be, or it is a Fault: nothing more of that connection is believed then.

Source: MQTT 3.1.1 (OASIS 2014), sections 2 (all packets) and 3 (each); numbers below are its.
"""

CONNACK = 2
PUBLISH = 3
PUBACK = 4
SUBACK = 9
PINGRESP = 13

PINGREQ = b"\xc0\x00"  # 3.12
DISCONNECT = b"\xe0\x00"  # 3.14

# How long the rest of each packet from a broker may be: (least, most); none of these has flags.
_FLAGLESS = {CONNACK: (2, 2), PUBACK: (2, 2), SUBACK: (3, 64), PINGRESP: (0, 0)}


class Fault(ValueError):
    """What came is not what a broker says to this client."""


def connect(client_id, user, password, will, keepalive_s, clean):
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
    return _packet(0x10, b"\x00\x04MQTT\x04" + bytes((flags,)) + _two(keepalive_s) + rest)


def publish(topic, payload, qos, retain, mid, dup):
    """Return PUBLISH (3.3) as a bytearray; mid, its number, counts at QoS 1 alone."""
    head = _text(topic)
    if qos:
        head += _two(mid)
    first = 0x30 | (8 if dup else 0) | qos << 1 | (1 if retain else 0)
    packet = bytearray((first,)) + _length(len(head) + len(payload))
    packet += head
    packet += payload
    return packet


def subscribe(mid, topics):
    """Return SUBSCRIBE (3.8) to these topics, at QoS 1."""
    return _packet(0x82, _two(mid) + b"".join([_text(topic) + b"\x01" for topic in topics]))


def puback(mid):
    """Return PUBACK (3.4): the message of this number is ours now."""
    return b"\x40\x02" + _two(mid)


def read_publish(flags, body):
    """Return (topic, payload, mid) of a PUBLISH that a Parser gave; mid is None at QoS 0."""
    start = 2 + (body[0] << 8 | body[1]) if len(body) > 1 else 3
    stop = start + (2 if flags & 2 else 0)
    if not 2 < start <= stop <= len(body):
        raise Fault("a message without a topic or a number (3.3.2); it must have both")
    mid = None
    if flags & 2:
        mid = number(body, start)
    try:
        return str(bytes(body[2:start]), "utf-8"), bytes(body[stop:]), mid
    except ValueError:  # UnicodeError is one
        raise Fault("a message whose topic is not UTF-8 (1.5.3)") from None


def number(body, at=0):
    """Return the packet identifier that stands there (2.3.1); it is never 0."""
    mid = body[at] << 8 | body[at + 1]
    if not mid:
        raise Fault("a packet with number 0 (2.3.1)")
    return mid


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
        if not self._first:
            _check_first(byte)
            self._first = byte
            return
        self._size |= (byte & 127) << self._shift
        self._shift += 7
        if byte & 128:
            if self._shift > 21:
                raise Fault("a length of more than four bytes (2.2.3)")
            return
        least, most = _FLAGLESS.get(self._first >> 4, (2, len(self._held)))
        if not least <= self._size <= min(most, len(self._held)):
            raise Fault("a packet of %d bytes; %d are held at most" % (self._size, most))
        self._headed = True


def _check_first(first):
    """Raise Fault where no packet to this client begins with this byte."""
    kind, flags = first >> 4, first & 15
    wrong = flags or kind not in _FLAGLESS
    if kind == PUBLISH:  # QoS 2 was not asked for, and what is repeated has QoS 1
        wrong = flags & 4 or flags & 10 == 8
    if wrong:
        raise Fault("a packet of kind %d with flags %d, which no broker sends us" % (kind, flags))


def _two(value):
    return bytes((value >> 8, value & 255))  # ValueError where it does not fit


def _text(text):
    data = text.encode()
    return _two(len(data)) + data


def _length(value):
    """Return a length as in 2.2.3: seven bits a byte, the lowest first."""
    data = b""
    while value > 127:
        data += bytes((value & 127 | 128,))
        value >>= 7
    return data + bytes((value,))


def _packet(first, body):
    return bytes((first,)) + _length(len(body)) + body
