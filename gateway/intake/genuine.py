"""Whose a message is, and whether its bytes are what that device sent.

No I/O. In order: is the topic a device's of this site, is the device enrolled, does the MAC over
topic and frame hold, is it a report (`edge.wire` says what one is).
"""

from typing import Any, NamedTuple

from edge import cbor, wire
from edge.host import post

from ..devices.enrol.enrol import Device, Devices
from ..mqtt.session import Message
from . import frames
from .outcomes import DeadLetter, Key, Who


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
    """A device whose topic this is, and what the MAC of its frames begins with."""

    device: Device
    before: bytes


def senders(devices: Devices) -> dict[str, Sender]:
    """Return the devices of a site by the topics of their reports."""
    topics = {wire.topic(devices.site, name, "data"): one for name, one in devices.by_name.items()}
    return {topic: Sender(one, frames.prefix(topic)) for topic, one in topics.items()}


def authenticate(message: Message, devices: Devices) -> Arrival | DeadLetter:
    """Return the report in a message, or why it is not genuine."""
    topic = message.topic
    name = sender_of(topic)
    device = devices.by_name.get(name)
    if topic == wire.topic(devices.site, name, "data") and device is not None:
        return opened(message, name, Sender(device, frames.prefix(topic)))
    return nobodys(message, devices)


def sender_of(topic: str) -> str:
    """Return the name of the device whose topic this is, or nothing.

    >>> sender_of("heatveil/1/lab/node-3/data")
    'node-3'
    """
    parts = topic.rsplit("/", 2)
    return parts[1] if len(parts) == 3 else ""


def nobodys(message: Message, devices: Devices) -> DeadLetter:
    """Return why a message on such a topic is no device's."""
    topic, payload, *_ = message
    name = sender_of(topic)
    if topic != wire.topic(devices.site, name, "data"):
        why = f"no device of site {devices.site} speaks there"
        return DeadLetter(topic, why, payload, "topic")
    why = f"{name} is not enrolled: enrol it, or find out who uses that name"
    return DeadLetter(topic, why, payload, "unknown")


def opened(message: Message, name: str, sender: Sender) -> Arrival | DeadLetter:
    """Return the report in a message on a device's topic, or why it is not genuine."""
    topic, payload, *_ = message
    device, before = sender
    if not wire.MAC_BYTES < len(payload) <= post.REPORT_BYTES:
        kind = "oversized" if len(payload) > wire.MAC_BYTES else "garbled"
    elif not frames.genuine(payload, device.mac_key, before):
        kind = "forged"
    else:
        kind = ""
    try:
        report = None if kind else frames.report(payload, name)
        if report is None:
            report = post.unpack_report(payload, device.mac_key, topic, name)
    except Exception as fault:  # whatever bytes do to a decoder, the next message is waiting
        why = f"it is not a frame of {name}: {fault}"
        return DeadLetter(topic, why, payload, kind or _kind(payload))
    return Arrival(report, message, device.key_id)


def _kind(frame: bytes) -> str:
    """Return what is wrong with a frame that is signed and that `edge.wire` refuses."""
    try:
        body = cbor.decode(frame[: -wire.MAC_BYTES])
    except Exception:
        return "garbled"
    return "version" if isinstance(body, dict) and body.get(0) != wire.VERSION else "garbled"
