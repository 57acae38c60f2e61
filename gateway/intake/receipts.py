"""Receipts, and letting go of a batch: what the writer says once it is on the disk.

A receipt goes out at QoS 0, so that a broker need not acknowledge each. One that is lost costs no
reading: its device sends the report again, which is absorbed, and then the receipt goes out at
QoS 1, for a device that was away when the first one came. Once in a while: who sends a report
again and again would else fill our memory with what the broker has not acknowledged yet.
"""

import time
from collections.abc import Sequence

from edge import wire

from ..devices.enrol.enrol import Devices
from ..mqtt.session import Message
from . import frames
from .batches import Arrived, Bearer
from .judge import Verdict
from .outcomes import Receipt

ANEW_S = 10.0  # how soon one device gets another receipt at QoS 1


class Packer:
    """Packs receipts for the devices of a fleet."""

    def __init__(self, devices: Devices) -> None:
        self._surely_s: dict[str, float] = {}
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

    def sides(self, again: Sequence[Receipt]) -> tuple[list[Receipt], list[Receipt]]:
        """Return which of these receipts go out at QoS 1, and which like any other."""
        surely, plainly, now_s = [], [], time.monotonic()
        for one in again:
            if now_s - self._surely_s.get(one.device, -ANEW_S) < ANEW_S:
                plainly.append(one)
            else:
                self._surely_s[one.device] = now_s
                surely.append(one)
        return surely, plainly


def settle(batch: Sequence[Arrived], verdict: Verdict, packer: Packer) -> None:
    """Send the receipts of a batch that is committed, and then let go of its messages."""
    surely, plainly = packer.sides(verdict.again)
    for topic, payload in packer.packed(surely):
        batch[0][0].publish(topic, payload)
    said = packer.packed([*verdict.receipts, *plainly])
    brought: dict[int, tuple[Bearer, list[Message]]] = {}
    for bearer, message in batch:
        brought.setdefault(id(bearer), (bearer, []))[1].append(message)
    for bearer, messages in brought.values():
        bearer.settle(said, messages)
        said = []
