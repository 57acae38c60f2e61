"""The MQTT packets that are read and made here, because there are so many of them.

Source: MQTT 3.1.1 and MQTT 5.0, sections 3.3 (PUBLISH) and 3.4 (PUBACK).
"""

from collections.abc import Iterable
from typing import NamedTuple

KEPT = 1 << 15  # bytes of a payload: twice the longest report
PING = b"\xc0\x00"  # PINGREQ
_PUBACK = b"\x40\x02"  # of two bytes: the packet id, and in MQTT 5 a reason that is success


def acknowledgements(ids: Iterable[int]) -> bytes:
    """Return a PUBACK for each packet id.

    >>> acknowledgements([1, 258]).hex()
    '4002000140020102'
    """
    return b"".join([_PUBACK + packet.to_bytes(2, "big") for packet in ids])


def publishes(messages: Iterable[tuple[str, bytes]], *, five: bool) -> bytes:
    """Return a PUBLISH at QoS 0, not retained, for each (topic, payload).

    Args:
        five: of MQTT 5, where properties follow the topic: none.

    >>> publishes([("a/b", b"hi")], five=True).hex()
    '30080003612f62006869'
    """
    parts = []
    for topic, payload in messages:
        name = topic.encode()
        body = len(name).to_bytes(2, "big") + name + (b"\0" if five else b"") + payload
        parts.append(b"\x30" + _length(len(body)) + body)
    return b"".join(parts)


def _length(length: int) -> bytes:
    if length < 128:
        return bytes((length,))
    return bytes((length & 127 | 128,)) + _length(length >> 7)


class Came(NamedTuple):
    """A message as it came; packet is 0 where nobody waits for an acknowledgement."""

    topic: str
    payload: bytes
    packet: int
    retained: bool = False


def published(data: bytes, first: int, body: int, stop: int, five: bool) -> Came | None:
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
        size, payload = length(data, payload)
        payload += size
        if not after < payload <= stop:
            return None
    topic = data[body + 2 : after].decode("utf-8", "replace")
    return Came(topic, data[payload : min(stop, payload + KEPT)], packet, bool(first & 1))


def length(data: bytes, at: int) -> tuple[int, int]:
    """Return a length of up to four bytes and where it ends; (0, 0) where it does not."""
    size = 0
    for more in range(4):
        if at + more >= len(data):
            break
        size |= (data[at + more] & 127) << (7 * more)
        if not data[at + more] & 128:
            return size, at + more + 1
    return 0, 0
