"""The door: whose a message is, whether its bytes are what that device sent, and who is not heard.

A guard, if there is one, is asked before a message is decoded. What does not pass is not worth a
row each: one dead letter a minute and device says that there was a flood, the others are counted.

Then, with no I/O and in order: is the topic a device's of this site, is the device enrolled, does
the MAC over topic and frame hold, is it a report (`wire` says what one is). Devices write a
report in one way only, so its map is looked at where its parts must stand, in a tenth of the time:

    A6  00 01  01 seq  02 epoch  03 44 round  04 D8 4D|4E 4x.. readings  05 sensor

Whatever looks otherwise goes to `wire`, which alone decides what is refused and why. So there
is nothing that is taken here and would be refused there.
"""

import hashlib
import hmac
import re
import struct
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from edge.core import wire
from edge.core.compat import hmac_pads
from edge.core.records import Report
from edge.host import post

from ...devices.enrol.enrol import Device, Devices
from ..mqtt.connection import Message
from .outcomes import DeadLetter, Key, Who

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


class TopicMac:
    """The MACs (RFC 2104) of messages on one topic under one key; both are hashed once."""

    def __init__(self, key: bytes, topic: str) -> None:
        inner, outer = hmac_pads(key)
        name = topic.encode()
        self._inner = hashlib.sha256(inner + len(name).to_bytes(2, "big") + name)
        self._outer = hashlib.sha256(outer)

    def compute(self, message: bytes) -> bytes:
        """Return what `edge.core.wire` signs this message with."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()[: wire.MAC_BYTES]

    def holds(self, frame: bytes) -> bool:
        """Return whether a frame ends in the MAC of what is before it."""
        mac = self.compute(frame[: -wire.MAC_BYTES])
        return hmac.compare_digest(mac, frame[-wire.MAC_BYTES :])


def read_report(frame: bytes, sender: str) -> Any:
    """Return the Report in a frame whose MAC holds, or None where `wire` is to be asked."""
    head = _HEAD.match(frame)
    if head is None:
        return None
    first, second, name, tag, third = head.groups()
    seq, epoch, size = _unpack_number(first), _unpack_number(second), _unpack_number(third, 0x40)
    width, letter = _WIDTHS[tag]
    if not 0 < size < len(frame) or size % width or seq >= _LARGEST or epoch >= _LARGEST:
        return None
    tail = _TAIL.fullmatch(frame, head.end() + size, len(frame) - wire.MAC_BYTES)
    if tail is None:
        return None
    sensor = _unpack_number(tail[1])
    if sensor >= _LARGEST:
        return None
    values = struct.unpack_from(f"<{size // width}{letter}", frame, head.end())
    return Report(name, sender, epoch, seq, [sensor, *values])


def make_receipt(epoch: int, seq: int, taken: bool, mac: TopicMac) -> bytes:
    """Return what `edge.host.post.pack_receipt` does; mac is of the receipts' topic."""
    body = b"".join(
        (b"\xa4\x00\x01\x01", _pack_number(seq), b"\x02", _pack_number(epoch), b"\x03")
    )
    body += b"\x01" if taken else b"\x00"
    return body + mac.compute(body)


def _unpack_number(head: bytes, major: int = 0) -> int:
    """Return the number in a head."""
    return head[0] - major if len(head) == 1 else int.from_bytes(head[1:], "big")


def _pack_number(number: int) -> bytes:
    if number < 24:
        return bytes((number,))
    for first, size in ((0x18, 1), (0x19, 2), (0x1A, 4), (0x1B, 8)):
        if number >> (8 * size) == 0:
            return bytes((first,)) + number.to_bytes(size, "big")
    raise ValueError(f"{number} does not fit the 64 bits of a whole number in a message")


class Arrival(NamedTuple):
    """A genuine report, as the bytes that came, and under which enrolment."""

    report: Any
    message: Message
    key_id: bytes

    @property
    def who(self) -> Who:
        """The device, under its key: a new key counts anew."""
        return self.report.sender, self.key_id

    @property
    def key(self) -> Key:
        """What no two different messages may share."""
        return *self.who, self.report.epoch, self.report.seq


class Sender(NamedTuple):
    """A device whose topic this is, and what makes the MAC of its frames."""

    device: Device
    mac: TopicMac


def map_senders(devices: Devices) -> dict[str, Sender]:
    """Return the devices of a site by the topics of their reports."""
    topics = {wire.topic(devices.site, name, "data"): one for name, one in devices.by_name.items()}
    return {topic: Sender(one, TopicMac(one.mac_key, topic)) for topic, one in topics.items()}


def authenticate(message: Message, devices: Devices) -> Arrival | DeadLetter:
    """Return the report in a message, or why it is not genuine."""
    topic = message.topic
    name = find_device_name(topic)
    device = devices.by_name.get(name)
    if topic == wire.topic(devices.site, name, "data") and device is not None:
        return open_report(message, name, Sender(device, TopicMac(device.mac_key, topic)))
    return explain_unknown_topic(message, devices)


def find_device_name(topic: str) -> str:
    """Return the name of the device whose topic this is, or nothing.

    >>> find_device_name("heatveil/1/lab/node-3/data")
    'node-3'
    """
    parts = topic.rsplit("/", 2)
    return parts[1] if len(parts) == 3 else ""


def explain_unknown_topic(message: Message, devices: Devices) -> DeadLetter:
    """Return why a message on such a topic is no device's."""
    topic, payload, *_ = message
    name = find_device_name(topic)
    if topic != wire.topic(devices.site, name, "data"):
        why = f"no device of site {devices.site} speaks there"
        return DeadLetter(topic, why, payload, "topic")
    why = f"{name} is not enrolled: enrol it, or find out who uses that name"
    return DeadLetter(topic, why, payload, "unknown")


def open_report(message: Message, name: str, sender: Sender) -> Arrival | DeadLetter:
    """Return the report in a message on a device's topic, or why it is not genuine."""
    topic, payload, *_ = message
    device, mac = sender
    if not wire.MAC_BYTES < len(payload) <= post.REPORT_BYTES:
        kind = "oversized" if len(payload) > wire.MAC_BYTES else "garbled"
    elif not mac.holds(payload):
        kind = "forged"
    else:
        kind = ""
    try:
        report = None if kind else read_report(payload, name)
        if report is None:
            report = post.unpack_report(payload, device.mac_key, topic, name)
    except Exception as fault:  # whatever bytes do to a decoder, the next message is waiting
        why = f"it is not a frame of {name}: {fault}"
        return DeadLetter(topic, why, payload, kind or _find_fault_kind(payload))
    return Arrival(report, message, device.key_id)


def _find_fault_kind(frame: bytes) -> str:
    """Return what is wrong with a frame that is signed and that `edge.core.wire` refuses."""
    try:
        body = wire.decode(frame[: -wire.MAC_BYTES])
    except Exception:
        return "garbled"
    return "version" if isinstance(body, dict) and body.get(0) != wire.VERSION else "garbled"


MINUTE_S = 60.0
FORGERY = {"garbled", "forged", "version", "oversized"}  # no frame of the device on whose topic


class Guard(Protocol):
    """Says which devices are still listened to; `now_s` is of the monotonic clock."""

    def may_pass(self, device: str, size: int, now_s: float) -> bool: ...

    def count_forged(self, device: str, now_s: float) -> None: ...

    def shut_out_guilty(self, device: str, why: str) -> None: ...

    def explain_block(self, device: str) -> str: ...


class Sifted(NamedTuple):
    """What came through the door, what is refused with a row, and what only is counted."""

    arrivals: list[Arrival]
    letters: list[DeadLetter]
    unheard: Counter[str]


class Door:
    """Keeps the bad messages out; asked on one thread."""

    def __init__(self, devices: Devices, guard: Guard | None = None) -> None:
        self._guard = guard
        self.set_devices(devices)
        self._noted_s: dict[str, float] = {}  # when a device's flood had a row of its own

    def set_devices(self, devices: Devices) -> None:
        """Let these devices in from now on, and no others."""
        self._devices, self._senders = devices, map_senders(devices)

    def find_device_name(self, topic: str) -> str:
        """Return the enrolled device that speaks on a topic, "" where none does."""
        sender = self._senders.get(topic)
        return sender.device.name if sender is not None else ""

    def sift_messages(
        self, messages: Iterable[Message], now_s: float, *, guarded: bool = True
    ) -> Sifted:
        """Return what becomes of messages, in the order they came.

        Args:
            guarded: False for messages that the guard has let pass before.
        """
        sifted = Sifted([], [], Counter())
        guard, by_topic = self._guard if guarded else None, self._senders
        for message in messages:
            sender = by_topic.get(message.topic)
            # On a topic that is nobody's, whoever is named in it has said nothing.
            name = sender.device.name if sender is not None else ""
            if guard is not None and not guard.may_pass(name, len(message.payload), now_s):
                self._note_unheard(sifted, guard, name, message, now_s)
                continue
            if message.retained:
                found: Arrival | DeadLetter = _refuse_retained(message, name)
            elif sender is not None:
                found = open_report(message, name, sender)
            else:
                found = explain_unknown_topic(message, self._devices)
            if isinstance(found, Arrival):
                sifted.arrivals.append(found)
                continue
            sifted.letters.append(found)
            if guard is not None and found.kind in FORGERY:
                guard.count_forged(name, now_s)
        return sifted

    def _note_unheard(
        self, sifted: Sifted, guard: Guard, sender: str, message: Message, now_s: float
    ) -> None:
        blocked = guard.explain_block(sender)
        kind = "quarantined" if blocked else "flood"
        who = sender if sender in self._devices.by_name else ""  # strangers share one row
        if now_s - self._noted_s.get(who, -MINUTE_S) < MINUTE_S:
            sifted.unheard[kind] += 1
            return
        self._noted_s[who] = now_s
        why = f"{who or 'a stranger'} is not listened to: " + (
            blocked or "it says more than [guard] messages_per_s and burst allow"
        )
        more = "; more of the same within a minute is counted and not kept"
        sifted.letters.append(DeadLetter(message.topic, why + more, message.payload, kind))


def _refuse_retained(message: Message, name: str) -> DeadLetter:
    """Return the refusal of what a broker kept: no report, for those come once, and again unkept.

    Heard anew at each start, it would pass for a device that was set back once its row is gone.
    """
    why = (
        f"{name or 'a stranger'} had its broker retain what it said, which heatveil's devices do "
        "not. Take it off the broker: publish an empty retained message there, as that device"
    )
    return DeadLetter(message.topic, why, message.payload, "retained")
