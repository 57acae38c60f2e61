"""Receipts, and letting go of a batch: what the writer says once it is on the disk.

A receipt goes out at QoS 0, so that a broker need not acknowledge each. One that is lost costs no
reading: its device sends the report again, which is absorbed, and then the receipt goes out at
QoS 1, for a device that was away when the first one came.
"""

from collections.abc import Sequence

from edge import wire

from ..enrolment.enrol import Devices
from ..mqtt.session import Message
from . import frames
from .batches import Arrived, Bearer
from .judge import Verdict
from .outcomes import Receipt


class Packer:
    """Packs receipts for the devices of a fleet."""

    def __init__(self, devices: Devices) -> None:
        self._ways: dict[str, tuple[str, bytes, bytes]] = {}
        for name, device in devices.by_name.items():
            topic = wire.topic(devices.site, name, "receipt")
            self._ways[name] = topic, device.config_key, frames.prefix(topic)

    def packed(self, receipts: Sequence[Receipt]) -> list[tuple[str, bytes]]:
        """Return the topics of receipts and their bytes, of devices that are still enrolled."""
        said = []
        for name, epoch, seq, taken in receipts:
            if way := self._ways.get(name):
                topic, key, before = way
                said.append((topic, frames.receipt(epoch, seq, taken, key, before)))
        return said


def settle(batch: Sequence[Arrived], verdict: Verdict, packer: Packer) -> None:
    """Send the receipts of a batch that is committed, and then let go of its messages."""
    for topic, payload in packer.packed(verdict.again):
        batch[0][0].publish(topic, payload)
    said = packer.packed(verdict.receipts)
    brought: dict[int, tuple[Bearer, list[Message]]] = {}
    for bearer, message in batch:
        brought.setdefault(id(bearer), (bearer, []))[1].append(message)
    for bearer, messages in brought.values():
        bearer.settle(said, messages)
        said = []
