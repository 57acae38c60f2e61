"""MQTT 3.1.1 by hand: what a stranger, a broken device or ten thousand at once may send.

Blocking and without a library, so that nothing is sent again, held back or put right.

Source: OASIS, MQTT Version 3.1.1, sections 2.2 and 3.1 to 3.12.
"""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from typing import NamedTuple

CONNECT, CONNACK, PUBLISH, PUBACK, SUBSCRIBE, SUBACK, DISCONNECT = 1, 2, 3, 4, 8, 9, 14


class Packet(NamedTuple):
    """One control packet: type, flags and what follows the length."""

    kind: int
    flags: int
    body: bytes


def text(words: str | bytes) -> bytes:
    """Return a string as MQTT writes it."""
    raw = words.encode() if isinstance(words, str) else words
    return struct.pack("!H", len(raw)) + raw


def packed(kind: int, flags: int, body: bytes) -> bytes:
    """Return a packet with its head."""
    size, length = len(body), bytearray()
    while True:
        size, low = divmod(size, 128)
        length.append(low | (128 if size else 0))
        if not size:
            return bytes([kind << 4 | flags]) + bytes(length) + body


def connecting(
    client_id: str, name: str | None = None, password: str | None = None, will: str | None = None
) -> bytes:
    """Return a CONNECT; will is the topic of a last will."""
    flags, rest = 2, text(client_id)
    if will is not None:
        flags |= 4 | 8 | 32
        rest += text(will) + text(b"lost")
    if name is not None:
        flags |= 128
        rest += text(name)
    if password is not None:
        flags |= 64
        rest += text(password)
    return packed(CONNECT, 0, text("MQTT") + bytes([4, flags]) + struct.pack("!H", 0) + rest)


def publishing(topic: str, payload: bytes, packet: int = 0) -> bytes:
    """Return a PUBLISH, at QoS 1 where it has a packet id."""
    numbered = struct.pack("!H", packet) if packet else b""
    return packed(PUBLISH, 2 if packet else 0, text(topic) + numbered + payload)


class Radio:
    """One connection; a context manager."""

    def __init__(self, port: int, client_id: str, *who: str) -> None:
        """Connect; `answer` is the broker's return code, None where it hung up."""
        self._link = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._packet, self.open = 0, True  # until the broker hangs up
        self._link.sendall(connecting(client_id, *who))
        first = self._read()
        self.answer = None if first is None else first.body[1]

    def __enter__(self) -> "Radio":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._link.sendall(packed(DISCONNECT, 0, b""))
        self._link.close()

    def publish(self, topic: str, payload: bytes) -> bool:
        """Send at QoS 1; return whether the broker acknowledged it, False when it hung up."""
        self._packet = self._packet % 65_000 + 1
        try:
            self._link.sendall(publishing(topic, payload, self._packet))
        except OSError:
            return False
        return any(one.kind == PUBACK for one in self._until(PUBACK))

    def send(self, topic: str, payload: bytes) -> None:
        """Send at QoS 1 and do not wait."""
        self._packet = self._packet % 65_000 + 1
        self._link.sendall(publishing(topic, payload, self._packet))

    def next(self) -> list[tuple[str, bytes]]:
        """Wait for the next packet; return it as a list of one message, or of none."""
        self._link.settimeout(0.5)
        try:
            one = self._read()
        except TimeoutError:
            return []
        return [self._message(one)] if one is not None and one.kind == PUBLISH else []

    def blurt(self, messages: list[tuple[str, bytes]]) -> None:
        """Send all at QoS 0, as fast as the broker takes them."""
        for start in range(0, len(messages), 100):
            part = messages[start : start + 100]
            self._link.sendall(b"".join(publishing(*one) for one in part))

    def subscribe(self, topic: str) -> int:
        """Ask for a topic at QoS 0; return what the broker grants, 128 for nothing."""
        self._link.sendall(packed(SUBSCRIBE, 2, struct.pack("!H", 1) + text(topic) + b"\0"))
        return next(one for one in self._until(SUBACK) if one.kind == SUBACK).body[-1]

    def heard(self, patience_s: float) -> list[tuple[str, bytes]]:
        """Return what comes within this time."""
        found: list[tuple[str, bytes]] = []
        self._link.settimeout(patience_s)
        with contextlib.suppress(TimeoutError):
            while (one := self._read()) is not None:
                if one.kind == PUBLISH:
                    found.append(self._message(one))
        self._link.settimeout(10)
        return found

    @staticmethod
    def _message(one: Packet) -> tuple[str, bytes]:
        size = int.from_bytes(one.body[:2], "big")
        return one.body[2 : 2 + size].decode(), one.body[2 + size + (2 if one.flags & 6 else 0) :]

    def _until(self, kind: int) -> Iterator[Packet]:
        while (one := self._read()) is not None:
            yield one
            if one.kind == kind:
                return

    def _read(self) -> Packet | None:
        try:
            if not (first := self._exactly(1)):
                self.open = False
                return None
            size, shift = 0, 0
            while True:
                (byte,) = self._exactly(1)
                size |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    return Packet(first[0] >> 4, first[0] & 15, self._exactly(size))
        except (ConnectionError, ValueError):
            self.open = False
            return None

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            more = self._link.recv(size - len(found))
            if not more:
                return b""
            found += more
        return found


class Listener(threading.Thread):
    """Hears everything on a topic, on a thread of its own; a context manager."""

    def __init__(self, port: int, topic: str) -> None:
        super().__init__(daemon=True)
        self.messages: list[tuple[str, bytes]] = []
        self._radio, self._over = Radio(port, f"listener-{topic}"), False
        self._radio.subscribe(topic)

    def __enter__(self) -> "Listener":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self.join(5)
        self._radio.__exit__()

    def run(self) -> None:
        while not self._over:
            self.messages += self._radio.next()
