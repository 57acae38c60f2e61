"""The bytes between a broker and the MQTT client, cut where messages begin and end.

    broker  ->  [ PUBLISH, QoS 0 and 1 ]  ->  came()         a batch at a time, no client between
            ->  [ everything else ]       ->  recv()         which the client reads, byte by byte
    client  ->  send(), push()  ->  one buffer  ->  flush()  one system call for many packets

A client that is called for every single message costs more than all that is done with it. What
it keeps is the connection: who we are, subscriptions, keep-alive, what we publish at QoS 1.

Source: MQTT 3.1.1 and MQTT 5.0, sections 3.3 (PUBLISH) and 3.4 (PUBACK).
"""

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from socket import SHUT_WR
from typing import Any, NamedTuple

KEPT = 1 << 15  # bytes of a payload: twice the longest report
PING = b"\xc0\x00"  # PINGREQ
_PUBACK = b"\x40\x02"  # of two bytes: the packet id, and in MQTT 5 a reason that is success


def pack_acknowledgements(ids: Iterable[int]) -> bytes:
    """Return a PUBACK for each packet id.

    >>> pack_acknowledgements([1, 258]).hex()
    '4002000140020102'
    """
    return b"".join([_PUBACK + packet.to_bytes(2, "big") for packet in ids])


def pack_publishes(messages: Iterable[tuple[str, bytes]], *, five: bool) -> bytes:
    """Return a PUBLISH at QoS 0, not retained, for each (topic, payload).

    Args:
        five: of MQTT 5, where properties follow the topic: none.

    >>> pack_publishes([("a/b", b"hi")], five=True).hex()
    '30080003612f62006869'
    """
    parts = []
    for topic, payload in messages:
        name = topic.encode()
        body = len(name).to_bytes(2, "big") + name + (b"\0" if five else b"") + payload
        parts.append(b"\x30" + _pack_length(len(body)) + body)
    return b"".join(parts)


def _pack_length(length: int) -> bytes:
    if length < 128:
        return bytes((length,))
    return bytes((length & 127 | 128,)) + _pack_length(length >> 7)


class ReceivedMessage(NamedTuple):
    """A message as it came; packet is 0 where nobody waits for an acknowledgement."""

    topic: str
    payload: bytes
    packet: int
    retained: bool = False


def read_publish(
    data: bytes, first: int, body: int, stop: int, five: bool
) -> ReceivedMessage | None:
    """Return the message of a PUBLISH of QoS 0 or 1, or None where it is none.

    Args:
        first: the byte that has the QoS.
        body: where its topic begins; stop: where it ends, or what is there of it.
        five: of MQTT 5, where properties stand before the payload.
    """
    after = body + 2 + (data[body] << 8 | data[body + 1]) if stop - body >= 2 else stop + 1
    payload, packet = after, 0
    if first & 6:
        payload += 2
    if payload > stop:
        return None
    if first & 6:
        packet = data[after] << 8 | data[after + 1]
    if five:
        size, payload = read_length(data, payload)
        payload += size
        if not after < payload <= stop:
            return None
    topic = data[body + 2 : after].decode("utf-8", "replace")
    return ReceivedMessage(
        topic, data[payload : min(stop, payload + KEPT)], packet, bool(first & 1)
    )


def read_length(data: bytes, at: int) -> tuple[int, int]:
    """Return a length of up to four bytes and where it ends; (0, 0) where it does not."""
    size = 0
    for more in range(4):
        if at + more >= len(data):
            break
        size |= (data[at + more] & 127) << (7 * more)
        if not data[at + more] & 128:
            return size, at + more + 1
    return 0, 0


CHUNK = 1 << 16  # bytes read or written at once
HUGE = 1 << 17  # a message longer than this is cut: longer than any topic and report together
PUBLISH, DISCONNECT = 0x30, 0xE0
PING_S = 10.0  # while nothing is read
GOODBYE_S = 0.5  # how long the last words may take


class Stream:
    """A connected socket, in a client's hands. Reading and flushing belong to one thread."""

    def __init__(self, socket: Any, came: Callable[[list[ReceivedMessage]], None]) -> None:
        self._socket, self._came = socket, came
        self.version5 = False  # the client says so: there are properties before a payload
        self._raw = b""  # of a packet that has not come whole
        self._skip = 0  # bytes of a message that is too long
        self._rest = bytearray()  # for the client
        self.room = 1 << 30  # for so many more messages; whoever lets go of some makes room
        self._pinged_s = 0.0
        self._more = False  # the last reading ended at CHUNK, and not because nothing was left
        self._again = False  # there was none, and the raw bytes are to be looked at again
        self._ended = False
        self._lock = threading.Lock()
        self._out = bytearray()
        self._last = 0  # the first byte of what the client sent last

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    def recv(self, size: int) -> bytes:
        """Return what is for the client; BlockingIOError when there is nothing."""
        if not self._rest and not self._ended and not self.paused:
            data = b"" if self._again else self._read()
            self._ended = self._ended or (not data and not self._again)
            self._cut(self._raw + data if self._raw else data)
        if not self._rest and not self._ended:
            raise BlockingIOError
        piece = bytes(self._rest[:size])
        del self._rest[:size]
        return piece

    def _read(self) -> bytes:
        """Return what has come: TLS gives a record at a time, and brokers a record a message."""
        self._more = False
        parts = [self._socket.recv(CHUNK)]
        size = len(parts[0])
        with suppress(OSError):  # no more for now, or the next reading shows what is wrong
            while parts[-1] and size < CHUNK:
                parts.append(self._socket.recv(CHUNK))
                size += len(parts[-1])
        self._ended, self._more = not parts[-1], size >= CHUNK
        return b"".join(parts)

    def pending(self) -> int:
        """Return how many bytes are here already, where no selector can see them."""
        if self._rest or self.paused:
            return len(self._rest)
        return int(self._again) or getattr(self._socket, "pending", int)()

    @property
    def unread(self) -> bool:
        """Whether more has come than was read."""
        return self._more and not self.paused

    @property
    def paused(self) -> bool:
        """Whether there is no room, so that nothing is to be read."""
        return self.room <= 0

    def make_room(self, more: int) -> None:
        """Let so many more messages in; from any thread."""
        with self._lock:
            self.room += more

    def keep_alive_if_paused(self, now_s: float) -> bool:
        """Return whether we are paused, and say to the broker now and then that we live.

        Its answer would stand behind what we have no room for, so the client must not wait for it.
        """
        if self.paused and now_s - self._pinged_s > PING_S:
            self._pinged_s = now_s
            self.push_packets(PING)
        return self.paused

    def send(self, packet: bytes | bytearray) -> int:
        """Take a whole packet of the client's."""
        self._last = packet[0]
        self.push_packets(packet)
        return len(packet)

    def push_packets(self, packets: bytes | bytearray) -> None:
        """Take whole packets, from any thread; they leave at the next `flush`."""
        with self._lock:
            self._out += packets

    @property
    def has_unsent(self) -> bool:
        """Whether there is something to flush."""
        return bool(self._out)

    def flush(self) -> None:
        """Write what the socket takes. What is wrong with it, the next reading will show."""
        with suppress(OSError):  # it is full for now, or lost
            while self._out:
                with self._lock:
                    piece = bytes(self._out[:CHUNK])
                sent = self._socket.send(piece)
                with self._lock:
                    del self._out[:sent]

    def close(self) -> None:
        """Close the socket; after the client's goodbye, once that is out.

        What comes meanwhile is read and dropped: a socket that is closed with bytes unread resets
        the connection, and a reset may overtake the goodbye. A broker that goes on talking is not
        heard out: others wait for our thread.
        """
        with suppress(OSError):
            if self._last == DISCONNECT:
                until_s = time.monotonic() + GOODBYE_S
                self._socket.settimeout(GOODBYE_S)
                self._socket.sendall(self._out)
                self._socket.shutdown(SHUT_WR)
                while (left_s := until_s - time.monotonic()) > 0:
                    self._socket.settimeout(left_s)
                    if not self._socket.recv(CHUNK):
                        break
        self._socket.close()

    def _cut(self, data: bytes) -> None:
        """Hand over every whole packet in the data, and keep the rest of it."""
        came: list[ReceivedMessage] = []
        at, end, self._again = 0, len(data), False
        if self._skip:
            at = min(self._skip, end)
            self._skip -= at
        while end - at >= 2:
            first, length, body = data[at], data[at + 1], at + 2
            if length & 128:
                length, body = read_length(data, at + 1)
                if body == 0:  # it has not come whole, or is none
                    break
            stop = body + length
            if stop > end and end - body < HUGE:
                break
            message = None
            if first & 0xF0 == PUBLISH and first & 6 < 4:
                message = read_publish(data, first, body, min(stop, end), self.version5)
            if message is not None and len(came) >= self.room:
                self._again = True
                break
            if message is not None:
                came.append(message)
            elif stop > end:
                break
            else:
                self._rest += data[at:stop]
            self._skip, at = max(stop - end, 0), min(stop, end)
        self._raw = data[at:]
        if len(self._raw) > 5 and read_length(self._raw, 1)[1] == 0:
            self._rest, self._raw = self._rest + self._raw, b""  # no MQTT: the client says so
        if came:
            self.make_room(-len(came))
            self._came(came)
