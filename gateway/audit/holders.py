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
    """Yield what a host can repeat of the noise of both kinds of device."""
    root = effort.tape("holders").bits(256).to_bytes(32, "big")
    round = plans(mechanism)[0].round
    yield from _sealed(root)
    yield at_most(
        "no frame of a sealed device opens with its root key",
        0,
        _unveiled(round, root, "sealed"),
        unit="frames",
        samples=FRAMES,
    )
    yield true(
        "every frame of a keyholder device opens with its root key, to the exact readings",
        _unveiled(round, root, "keyholder") == FRAMES,
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


def _unveiled(round: Any, root: bytes, mode: str) -> int:
    """Return how many of some frames open with all that a host could have kept: the root."""
    params = list(round.params)
    params[6] = int(mode == "keyholder")
    asked = round._replace(params=tuple(params))
    device, opened = Device(asked, root, sensors=params[0]), 0
    for number in range(1, FRAMES + 1):
        readings = [number * sensor % 7 for sensor in range(params[0])]
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
