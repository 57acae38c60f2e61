"""MQTT packets that are made here because there are so many of them, joined to one write each.

Source: MQTT 3.1.1 and MQTT 5.0, sections 3.3 (PUBLISH) and 3.4 (PUBACK).
"""

from collections.abc import Iterable

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
