"""Layer: who holds the root opens a keyholder device, and no sealed one.

What it cannot see: whether the host that enrolled a sealed device has really forgotten its
root, and whether a board's own entropy is any good.
"""

from collections.abc import Iterator
from typing import Any

from edge import entropy, thermal
from edge.host import rootkeys

from .bench import Device, message
from .claim import Claim, Effort, at_most, true
from .keying import made
from .scenes import plans
from .watch import replaced

FRAMES = 12


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what a host can repeat of what devices of each kind draw."""
    root, asked = effort.root("holders"), mechanism.subject.asked
    modes = dict(asked.modes(plans(mechanism)[0].round))
    yield from _sealed(root)
    yield _of_the_system(modes["sealed"], root)
    if "keyholder" not in modes:
        yield _refused(modes["sealed"], root)
        return
    yield at_most(
        "no frame of a sealed device opens with its root key",
        0,
        _unveiled(modes["sealed"], root),
        unit="frames",
        samples=FRAMES,
    )
    yield true(
        "every frame of a keyholder device opens with its root key, to the exact readings",
        _unveiled(modes["keyholder"], root) == FRAMES,
        samples=FRAMES,
    )


def _of_the_system(round: Any, root: bytes) -> Claim:
    """Who has a sealed device's root, readings and Rounds must still not know what it drew.

    All of these are the same here, and the system's entropy alone differs: from one system to
    another nothing of the answers may follow, and with the same one all of it must.
    """

    def said(system: bytes) -> list[Any]:
        with replaced(entropy, "os_entropy", lambda size: (system * size)[:size]):
            device = Device(round, root)
            signed = [message(round, number)[1] for number in range(1, FRAMES + 1)]
            return [device.opened(device.answer(one, device.seen(1))).payload for one in signed]

    one, again, other = said(b"one"), said(b"one"), said(b"other")
    return true(
        "what a sealed device draws follows from its system's entropy, and not from its root key",
        one == again and one != other,
        samples=FRAMES,
    )


def _refused(round: Any, root: bytes) -> Claim:
    """Answers that a key holder could tell the true ones by are not given at all."""
    device = Device(round, root, mode="keyholder")
    answered = [
        device.answer(message(round, number)[1], device.seen(number))
        for number in range(1, FRAMES + 1)
    ]
    return true(
        "a device whose key somebody holds answers nothing, and is charged nothing",
        answered == [None] * FRAMES and not device.budget.spent,
        samples=FRAMES,
    )


def _sealed(root: bytes) -> Iterator[Claim]:
    """Yield what a host could repeat of a sealed device's noise: nothing."""

    def drawn(chain: bytes, boot: bytes, system: bytes) -> int:
        with replaced(entropy, "os_entropy", lambda size: (system * size)[:size]):
            bits: int = entropy.sealed(chain, boot).bits(128)
        return bits

    other = made(root, b"another")
    streams = [
        drawn(chain, boot, system)
        for chain in (root, other)
        for boot in (bytes(7) + b"\1", bytes(7) + b"\2")
        for system in (b"\0", b"\1", b"system")
    ]
    yield true(
        "a sealed device's noise depends on its key, its boot and the system's entropy, each",
        len(set(streams)) == len(streams),
        samples=len(streams),
    )
    with replaced(entropy, "os_entropy", lambda size: b""):
        try:
            entropy.sealed(root)
            careless = True
        except ValueError:
            careless = False
    yield true("a sealed device without a system's entropy is refused", not careless, samples=1)


def _unveiled(asked: Any, root: bytes) -> int:
    """Return how many of some frames open with all that a host could have kept: the root."""
    sensors, opened = asked.params[0], 0
    device = Device(asked, root, sensors=sensors)
    for number in range(1, FRAMES + 1):
        readings = [number * sensor % 7 for sensor in range(sensors)]
        planned, signed = message(asked, number)
        report = device.opened(device.answer(signed, readings))
        chain = rootkeys.chain_at(root, report.epoch)
        for stream in (
            entropy.keyed(chain, device.identity.name, report.epoch, report.seq, 0),
            entropy.Stream(chain, b""),
            entropy.Tape(chain),
        ):
            found = thermal.unveil(planned, report.payload, stream)
            opened += list(found.values) == readings
    return opened
