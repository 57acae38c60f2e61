"""Reports and receipts as `edge.wire` reads and writes them, in a tenth of the time.

Devices write a report in one way only, so its map is looked at where its parts must stand:

    A6  00 01  01 seq  02 epoch  03 44 round  04 D8 4D|4E 4x.. readings  05 sensor

Whatever looks otherwise goes to `edge.wire`, which alone decides what is refused and why. So there
is nothing that is taken here and would be refused there. The MAC is checked before, in C.
"""

import hmac
import struct
from typing import Any

from edge import wire
from edge.records import Report

_WIDTHS = {b"\x04\xd8\x4d": (2, "h"), b"\x04\xd8\x4e": (4, "i")}
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
    end = len(frame) - wire.MAC_BYTES
    if frame[:4] != b"\xa6\x00\x01\x01":
        return None
    seq, at = _whole(frame, 4)
    if frame[at : at + 1] != b"\x02":
        return None
    epoch, at = _whole(frame, at + 1)
    name = at + 2
    width = _WIDTHS.get(frame[name + 4 : name + 7])
    if frame[at:name] != b"\x03\x44" or width is None:
        return None
    size, at = _whole(frame, name + 7, 0x40)
    values, stop = frame[at : at + size], at + size
    if not values or size % width[0] or stop >= end or frame[stop] != 5:
        return None
    sensor, at = _whole(frame, stop + 1)
    if at != end or not max(seq, epoch, sensor) < _LARGEST:
        return None
    payload = [sensor, *struct.unpack(f"<{size // width[0]}{width[1]}", values)]
    return Report(frame[name : name + 4], sender, epoch, seq, payload)


def receipt(epoch: int, seq: int, taken: bool, key: bytes, before: bytes) -> bytes:
    """Return what `edge.wire.pack_receipt` does; before is the topic's `prefix`."""
    body = b"".join((b"\xa4\x00\x01\x01", _head(seq), b"\x02", _head(epoch), b"\x03"))
    body += b"\x01" if taken else b"\x00"
    return body + hmac.digest(key, before + body, "sha256")[: wire.MAC_BYTES]


def _whole(frame: bytes, at: int, major: int = 0) -> tuple[int, int]:
    """Return the number in a head, and where it ends: beyond the frame where there is none."""
    if at >= len(frame):
        return 0, len(frame) + 1
    number = frame[at] - major
    if 0 <= number < 24:
        return number, at + 1
    if not 24 <= number <= 27:
        return 0, len(frame) + 1
    after = at + 1 + (1 << (number - 24))
    return int.from_bytes(frame[at + 1 : after], "big"), after


def _head(number: int) -> bytes:
    if number < 24:
        return bytes((number,))
    for first, size in ((0x18, 1), (0x19, 2), (0x1A, 4), (0x1B, 8)):
        if number >> (8 * size) == 0:
            return bytes((first,)) + number.to_bytes(size, "big")
    raise ValueError(f"{number} does not fit the 64 bits of a whole number in a message")
