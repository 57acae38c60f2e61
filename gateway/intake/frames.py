"""Reports and receipts as `edge.wire` reads and writes them, in a tenth of the time.

Devices write a report in one way only, so its map is looked at where its parts must stand:

    A6  00 01  01 seq  02 epoch  03 44 round  04 D8 4D|4E 4x.. readings  05 sensor

Whatever looks otherwise goes to `edge.wire`, which alone decides what is refused and why. So there
is nothing that is taken here and would be refused there. The MAC is checked before, in C.
"""

import hmac
import re
import struct
from typing import Any

from edge import wire
from edge.records import Report

_WIDTHS = {b"\x4d": (2, "h"), b"\x4e": (4, "i")}  # typed arrays, by their tag
_COUNTER = rb"([\x00-\x17]|\x18.|\x19.{2}|\x1a.{4}|\x1b.{8})"
_BYTES = rb"([\x40-\x57]|\x58.|\x59.{2}|\x5a.{4}|\x5b.{8})"
_HEAD = re.compile(
    rb"\xa6\x00\x01\x01%b\x02%b\x03\x44(.{4})\x04\xd8([\x4d\x4e])%b"
    % (_COUNTER, _COUNTER, _BYTES),
    re.DOTALL,
)
_TAIL = re.compile(rb"\x05" + _COUNTER, re.DOTALL)
_LARGEST = 1 << 48  # counters are below it


def prefix(topic: str) -> bytes:
    """Return what the MAC of a message on this topic is made over, before the message."""
    name = topic.encode()
    return len(name).to_bytes(2, "big") + name


def genuine(frame: bytes, key: bytes, before: bytes) -> bool:
    """Return whether the MAC holds; before is the topic's `prefix`."""
    mac = hmac.digest(key, before + frame[: -wire.MAC_BYTES], "sha256")
    return hmac.compare_digest(mac[: wire.MAC_BYTES], frame[-wire.MAC_BYTES :])


def report(frame: bytes, sender: str) -> Any:
    """Return the Report in a frame whose MAC holds, or None where `edge.wire` is to be asked."""
    head = _HEAD.match(frame)
    if head is None:
        return None
    first, second, name, tag, third = head.groups()
    seq, epoch, size = _whole(first), _whole(second), _whole(third, 0x40)
    width, letter = _WIDTHS[tag]
    if not 0 < size < len(frame) or size % width or seq >= _LARGEST or epoch >= _LARGEST:
        return None
    tail = _TAIL.fullmatch(frame, head.end() + size, len(frame) - wire.MAC_BYTES)
    if tail is None:
        return None
    sensor = _whole(tail[1])
    if sensor >= _LARGEST:
        return None
    values = struct.unpack_from(f"<{size // width}{letter}", frame, head.end())
    return Report(name, sender, epoch, seq, [sensor, *values])


def receipt(epoch: int, seq: int, taken: bool, key: bytes, before: bytes) -> bytes:
    """Return what `edge.host.post.pack_receipt` does; before is the topic's `prefix`."""
    body = b"".join((b"\xa4\x00\x01\x01", _head(seq), b"\x02", _head(epoch), b"\x03"))
    body += b"\x01" if taken else b"\x00"
    return body + hmac.digest(key, before + body, "sha256")[: wire.MAC_BYTES]


def _whole(head: bytes, major: int = 0) -> int:
    """Return the number in a head."""
    return head[0] - major if len(head) == 1 else int.from_bytes(head[1:], "big")


def _head(number: int) -> bytes:
    if number < 24:
        return bytes((number,))
    for first, size in ((0x18, 1), (0x19, 2), (0x1A, 4), (0x1B, 8)):
        if number >> (8 * size) == 0:
            return bytes((first,)) + number.to_bytes(size, "big")
    raise ValueError(f"{number} does not fit the 64 bits of a whole number in a message")
