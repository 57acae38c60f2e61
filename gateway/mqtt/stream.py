"""The bytes between a broker and the MQTT client, cut where messages begin and end.

    broker  ->  [ PUBLISH, QoS 0 and 1 ]  ->  came()         a batch at a time, no client between
            ->  [ everything else ]       ->  recv()         which the client reads, byte by byte
    client  ->  send(), push()  ->  one buffer  ->  flush()  one system call for many packets

A client that is called for every single message costs more than all that is done with it. What
it keeps is the connection: who we are, subscriptions, keep-alive, what we publish at QoS 1.

Packets go out whole and in order, whoever wrote them. Of a message longer than any of ours only
the beginning is kept, so memory is bounded whatever a broker sends.

Source: MQTT 3.1.1 and MQTT 5.0, sections 2.1 (fixed header) and 3.3 (PUBLISH).
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

CHUNK = 1 << 16  # bytes read or written at once
HUGE = 1 << 17  # a message longer than this is cut: longer than any topic and report together
KEPT = 1 << 15  # bytes of a payload: twice the longest report
PUBLISH, DISCONNECT = 0x30, 0xE0
GOODBYE_S = 0.5  # how long the last words may take


class Came(NamedTuple):
    """A message as it came; packet is 0 where nobody waits for an acknowledgement."""

    topic: str
    payload: bytes
    packet: int


class Stream:
    """A connected socket, in a client's hands. Reading and flushing belong to one thread."""

    def __init__(self, socket: Any, came: Callable[[list[Came]], None]) -> None:
        self._socket, self._came = socket, came
        self.version5 = False  # the client says so: there are properties before a payload
        self._raw = b""  # of a packet that has not come whole
        self._skip = 0  # bytes of a message that is too long
        self._rest = bytearray()  # for the client
        self._ended = False
        self._lock = threading.Lock()
        self._out = bytearray()
        self._last = 0  # the first byte of what the client sent last

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    def recv(self, size: int) -> bytes:
        """Return what is for the client; BlockingIOError when there is nothing."""
        if not self._rest and not self._ended:
            data = self._socket.recv(CHUNK)
            self._ended = not data
            self._cut(self._raw + data if self._raw else data)
        if not self._rest and not self._ended:
            raise BlockingIOError
        piece = bytes(self._rest[:size])
        del self._rest[:size]
        return piece

    def pending(self) -> int:
        """Return how many bytes are here already, where no selector can see them."""
        return len(self._rest) or getattr(self._socket, "pending", int)()

    def send(self, packet: bytes | bytearray) -> int:
        """Take a whole packet of the client's."""
        self._last = packet[0]
        self.push(packet)
        return len(packet)

    def push(self, packets: bytes | bytearray) -> None:
        """Take whole packets, from any thread; they leave at the next `flush`."""
        with self._lock:
            self._out += packets

    @property
    def unsent(self) -> bool:
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
        """Close the socket; after the client's goodbye, once that is out."""
        with suppress(OSError):
            if self._last == DISCONNECT and self._out:
                self._socket.settimeout(GOODBYE_S)
                self._socket.sendall(self._out)
        self._socket.close()

    def _cut(self, data: bytes) -> None:
        """Hand over every whole packet in the data, and keep the rest of it."""
        at, end, came = 0, len(data), []
        if self._skip:
            at = min(self._skip, end)
            self._skip -= at
        while end - at >= 2:
            first, length, body = data[at], data[at + 1], at + 2
            if length & 128:
                length, body = _length(data, at + 1)
                if body == 0:  # it has not come whole, or is none
                    break
            stop = body + length
            if stop > end and end - body < HUGE:
                break
            message = None
            if first & 0xF0 == PUBLISH and first & 6 < 4:
                message = self._message(data, first, body, min(stop, end))
            if message is not None:
                came.append(message)
            elif stop > end:
                break
            else:
                self._rest += data[at:stop]
            self._skip, at = max(stop - end, 0), min(stop, end)
        self._raw = data[at:]
        if len(self._raw) > 5 and _length(self._raw, 1)[1] == 0:
            self._rest, self._raw = self._rest + self._raw, b""  # no MQTT: the client says so
        if came:
            self._came(came)

    def _message(self, data: bytes, first: int, body: int, stop: int) -> Came | None:
        """Return the message between body and stop, or None where that is none."""
        after = body + 2 + (data[body] << 8 | data[body + 1]) if stop - body >= 2 else stop + 1
        packet, payload = 0, after
        if first & 6:
            payload += 2
        if payload > stop:
            return None
        if first & 6:
            packet = data[after] << 8 | data[after + 1]
        if self.version5:
            length, payload = _length(data, payload)
            payload += length
            if not after < payload <= stop:
                return None
        topic = data[body + 2 : after].decode("utf-8", "replace")
        return Came(topic, data[payload : min(stop, payload + KEPT)], packet)


def _length(data: bytes, at: int) -> tuple[int, int]:
    """Return a length of up to four bytes and where it ends; (0, 0) where it does not."""
    length = 0
    for more in range(4):
        if at + more >= len(data):
            break
        length |= (data[at + more] & 127) << (7 * more)
        if not data[at + more] & 128:
            return length, at + more + 1
    return 0, 0
