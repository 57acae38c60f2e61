"""Layer `crash`, second part: slots that cannot both be true are not believed, and are kept.

Somebody who has the flash in hand, or a flash that is worn, can leave anything there. A device
that finds its slots cut short, forged, of another device, or telling two stories must give up its
key and leave them as they are; so must one that finds a single slot, which may be an old copy.
What it cannot see: two slots put back together to one true day, with the third one lost.
"""

from collections.abc import Callable, Iterator
from typing import Any

from edge import copies
from edge.budget import Lost
from edge.slots import COUNT, Ram

from .bench import Device
from .claim import Claim, at_most

SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda kept: b"",
    "erased": lambda kept: b"\xff" * len(kept),
    "junk": lambda kept: kept[::-1],
    "cut short": lambda kept: kept[:-1],
}
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
        for i in range(COUNT):
            device.slots.write(i, slots[i])
        try:
            device.boot()
            believed.append(name)
        except Lost:
            if [device.slots.read(i) for i in range(COUNT)] != slots:
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
    before = [device.slots.read(i) for i in range(COUNT)]
    taken = 0
    for full in (*range(COUNT), None):
        for i in range(COUNT):
            device.slots.write(i, b"" if full not in (None, i) else before[i])
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
        samples=COUNT + 1,
    )


def _stories(round: Any, root: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Yield what may be found in the slots, none of it to be believed."""
    device = Device(round, root)
    old = [device.slots.read(i) for i in range(COUNT)]
    device.node.tighten(device.order(device.limits._replace(version=2, pace_ms=1)))
    device.boot()
    key = device.identity.state_key
    now = [device.slots.read(i) for i in range(COUNT)]
    yield "all empty", [b""] * COUNT
    yield "all cut short", [kept[:-1] for kept in now]
    yield "all longer", [kept + b"\0" for kept in now]
    for at in (0, 5, 20, 40, 70, 110):
        yield f"all with byte {at} turned", [_turned(kept, at) for kept in now]
    records = [copies.unpack(kept, key) for kept in now]
    yield "all signed by another key", [copies.pack(record, bytes(32)) for record in records]
    for i in range(COUNT):
        for day, kept in (("an old", old[i]), ("a true", now[i])):
            for name, other in SPOILT.items():
                slots = [kept if j == i else other(now[j]) for j in range(COUNT)]
                yield f"{day} slot {i} beside others that are {name}", slots
            yield f"{day} slot {i} over all others", [kept] * COUNT
        slots = [old[i] if j == i else now[j] for j in range(COUNT)]
        yield f"an old slot {i} among true ones", list(slots)
        slots[i - 1] = b""
        yield f"an old slot {i}, a true and an empty one", list(slots)
    newest = max(range(COUNT), key=lambda i: records[i].counter)
    for name, change in BACK.items():
        record = records[newest]._replace(spent=records[newest].spent + 5, round=9)
        slots = [copies.pack(record._replace(counter=one.counter), key) for one in records]
        slots[newest] = copies.pack(change(record), key)
        yield f"the newest one {name}", slots


def _turned(kept: bytes, at: int) -> bytes:
    return kept[:at] + bytes([kept[at] ^ 1]) + kept[at + 1 :]
