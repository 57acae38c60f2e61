"""Layer `crash`, second part: slots that cannot both be true are not believed, and are kept.

Somebody who has the flash in hand, or a flash that is worn, can leave anything there. A device
that finds its slots cut short, forged, of another device, or telling two stories must give up its
key and leave them as they are. What it cannot see: both slots put back together to one true day.
"""

from collections.abc import Callable, Iterator
from typing import Any

from edge import pair
from edge.budget import Lost
from edge.slots import Ram

from .bench import Device
from .claim import Claim, at_most

BACK: dict[str, Callable[[Any], Any]] = {
    "with a counter that jumps": lambda new: new._replace(counter=new.counter + 7),
    "with the same counter": lambda new: new._replace(counter=new.counter - 1),
    "with an earlier boot": lambda new: new._replace(epoch=new.epoch - 1),
    "with less spent": lambda new: new._replace(spent=new.spent - 1),
    "with an earlier round": lambda new: new._replace(round=new.round - 1),
    "with older limits": lambda new: new._replace(limits=new.limits._replace(version=1)),
}


def claims(round: Any, root: bytes) -> Iterator[Claim]:
    """Yield which contradictions are believed, and whether what was found is left as it was."""
    yield _kept(round, root)
    believed, touched, looked = [], [], 0
    for name, slots in _stories(round, root):
        looked += 1
        device = Device(round, root)
        device.slots = Ram()
        for i in (0, 1):
            device.slots.write(i, slots[i])
        try:
            device.boot()
            believed.append(name)
        except Lost:
            if [device.slots.read(i) for i in (0, 1)] != slots:
                touched.append(name)
    yield at_most(
        "no device believes slots that are forged, or that contradict each other",
        0,
        len(believed),
        unit="stories",
        samples=looked,
        detail=", ".join(believed),
    )
    yield at_most(
        "slots that are not believed are left as they were found, as evidence",
        0,
        len(touched),
        unit="stories",
        samples=looked,
        detail=", ".join(touched),
    )


def _kept(round: Any, root: bytes) -> Claim:
    """Enrolling over what a device remembers would forget it: it must be refused."""
    device = Device(round, root)
    before = [device.slots.read(i) for i in (0, 1)]
    taken = 0
    for empty in (None, 0, 1):
        for i in (0, 1):
            device.slots.write(i, b"" if i == empty else before[i])
        try:
            Device(round, root, slots=device.slots)
            taken += 1
        except ValueError:
            continue
    return at_most(
        "no device is enrolled over slots that remember something",
        0,
        taken,
        unit="enrolments",
        samples=3,
    )


def _stories(round: Any, root: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Yield what may be found in two slots, none of it to be believed."""
    device = Device(round, root)
    device.node.tighten(device.order(device.limits._replace(version=2, pace_ms=1)))
    key = device.identity.state_key
    true_ones = [device.slots.read(i) for i in (0, 1)]
    records = [pair.unpack(kept, key) for kept in true_ones]
    newer = 0 if records[0].counter > records[1].counter else 1
    yield "both empty", [b"", b""]
    yield "both cut short", [kept[:-1] for kept in true_ones]
    yield "both longer", [kept + b"\0" for kept in true_ones]
    for at in (0, 5, 20, 40, 70, 110):
        yield f"both with byte {at} turned", [_turned(kept, at) for kept in true_ones]
    other = [pair.pack(record, bytes(32)) for record in records]
    yield "both signed by another key", other
    for name, change in BACK.items():
        slots = list(true_ones)
        record = records[newer]._replace(spent=records[newer].spent + 5, round=9)
        slots[1 - newer] = pair.pack(record._replace(counter=record.counter - 1), key)
        slots[newer] = pair.pack(change(record), key)
        yield f"the newer one {name}", slots


def _turned(kept: bytes, at: int) -> bytes:
    return kept[:at] + bytes([kept[at] ^ 1]) + kept[at + 1 :]
