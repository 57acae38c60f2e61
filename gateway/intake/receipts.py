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


def settle(batch: Sequence[Arrived], verdict: Verdict, devices: Devices) -> None:
    """Send the receipts of a batch that is committed, and then let go of its messages."""
    for receipt in verdict.again:
        batch[0][0].publish(*packed(receipt, devices))
    said = [packed(receipt, devices) for receipt in verdict.receipts]
    brought: dict[int, tuple[Bearer, list[Message]]] = {}
    for bearer, message in batch:
        brought.setdefault(id(bearer), (bearer, []))[1].append(message)
    for bearer, messages in brought.values():
        bearer.settle(said, messages)
        said = []


def packed(receipt: Receipt, devices: Devices) -> tuple[str, bytes]:
    """Return the topic of a receipt and its bytes."""
    name, epoch, seq, taken = receipt
    topic = wire.topic(devices.site, name, "receipt")
    key = devices.by_name[name].config_key
    return topic, frames.receipt(epoch, seq, taken, key, frames.prefix(topic))
