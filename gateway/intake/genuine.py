"""Whose a message is, and whether its bytes are what that device sent.

No I/O. In order: is the topic a device's of this site, is the device enrolled, are the bytes a
frame of its own (`edge.wire` checks the MAC over topic and payload).
"""

from typing import Any, NamedTuple

from edge import wire

from ..enrolment.enrol import Devices
from ..mqtt.session import Message
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


def authenticate(message: Message, devices: Devices) -> Arrival | DeadLetter:
    """Return the report in a message, or why it is not genuine."""
    topic, payload, _ = message
    parts = topic.split("/")
    sender = parts[-2] if len(parts) > 1 else ""
    if topic != wire.topic(devices.site, sender, "data"):
        why = f"no device of site {devices.site} speaks there"
        return DeadLetter(topic, why, payload, "topic")
    device = devices.by_name.get(sender)
    if device is None:
        return DeadLetter(topic, f"{sender} is not enrolled", payload, "unknown")
    try:
        report = wire.unpack_report(payload, device.mac_key, topic, sender)
    except Exception as fault:  # whatever bytes do to a decoder, the next message is waiting
        return DeadLetter(topic, f"it is not a frame of {sender}: {fault}", payload)
    return Arrival(report, message, device.key_id)
