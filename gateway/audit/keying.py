"""Layer: every key does one job, comes from the root as documented, and is forgotten in time.

All derivations are done here anew with Python's own hmac, so a label, an order or a width that
changed in edge shows at once: as a stream that the key holder cannot repeat, or that two
readings share. What it cannot see: that HMAC-SHA256 is as good as random, which is assumed.
"""

import gc
import hmac
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

from edge import entropy, keys
from edge.host import rootkeys
from edge.slots import COUNT

from .bench import SITE, SITE_KEY, Device
from .claim import Claim, Effort, true
from .scenes import plans

LABELS = {
    "mac": b"heatveil-mac-v1",
    "config": b"heatveil-config-v1",
    "state": b"heatveil-state-v1",
    "link": b"heatveil-link-v1",
    "chain": b"heatveil-chain-v1",
}


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what is to be said of the keys of one device."""
    root, other = (effort.root("keys", i) for i in range(2))
    room = plans(mechanism)[0]
    yield _documented(root)
    yield _apart(root, other)
    yield _refused(root)
    yield from _forgotten(room.round, root)


def made(key: bytes, *parts: bytes) -> bytes:
    """Return HMAC-SHA256, by Python's own module."""
    return hmac.digest(key, b"".join(parts), "sha256")


def _documented(root: bytes) -> Claim:
    device = rootkeys.identity(SITE, "n", root, SITE_KEY, 0)
    chain = made(root, LABELS["chain"])
    third = made(made(chain, b"heatveil-ratchet-v1"), b"heatveil-ratchet-v1")
    noise = made(third, b"heatveil-noise-v1")
    wanted = {
        "mac": (device.mac_key, made(root, LABELS["mac"])),
        "config": (device.config_key, made(root, LABELS["config"])),
        "state": (device.state_key, made(root, LABELS["state"])),
        "link": (rootkeys.link_key(root), made(root, LABELS["link"])),
        "id": (device.key_id, made(root, b"heatveil-id-v1")[:4]),
        "first chain": (rootkeys.first_chain(root), chain),
        "third chain": (rootkeys.chain_at(root, 3), third),
        "epoch": (keys.epoch_key(third, 3), made(noise, (3).to_bytes(8, "big"))),
    }
    wrong = [name for name, (found, right) in wanted.items() if found != right]
    return true(
        "every key is HMAC-SHA256 of the root, or of the key before, and its own label",
        not wrong,
        samples=len(wanted),
        detail=", ".join(wrong),
    )


def _apart(root: bytes, other: bytes) -> Claim:
    made_of = [
        one
        for start in (root, other)
        for one in (
            rootkeys.mac_key(start),
            rootkeys.config_key(start),
            rootkeys.state_key(start),
            rootkeys.link_key(start),
            *(rootkeys.chain_at(start, epoch) for epoch in range(1, 6)),
            *(keys.epoch_key(rootkeys.chain_at(start, epoch), epoch) for epoch in range(1, 6)),
            *(keys.epoch_key(rootkeys.chain_at(start, 1), epoch) for epoch in range(2, 6)),
            start,
        )
    ]
    alike = sum(one == two for one, two in combinations(made_of, 2))
    return true("no key does two jobs", not alike, samples=len(made_of), detail=f"{alike} alike")


def _refused(root: bytes) -> Claim:
    """Keys that are too short to be safe must be refused everywhere."""
    short, taken = root[:31], []
    uses: dict[str, Callable[[], Any]] = {
        "mac key": lambda: rootkeys.mac_key(short),
        "first chain": lambda: rootkeys.first_chain(short),
        "noise": lambda: entropy.keyed(short, "n", 1, 1, 0),
        "epoch": lambda: entropy.opened(short, "n", 1, 1, 0),
        "sealed": lambda: entropy.sealed(short),
        "site key": lambda: rootkeys.identity(SITE, "n", root, short, 0),
    }
    for name, use in uses.items():
        try:
            use()
            taken.append(name)
        except ValueError:
            pass
    return true("a short key is refused", not taken, samples=len(uses), detail=", ".join(taken))


def _forgotten(round: Any, root: bytes) -> Iterator[Claim]:
    """Yield what is left of old keys after some boots: in the slots, and in the memory."""
    device, boots, left = Device(round, root, name="bench-1"), 5, []
    for boot in range(1, boots + 1):
        if boot > 1:
            device.boot()
        kept = b"".join(device.slots.read(i) for i in range(COUNT))
        held = _reachable(device.node) | _reachable(device.budget)
        old = [(e, rootkeys.chain_at(root, e)) for e in range(1, boot)]
        for where, bytes_held in (("slot", [kept]), ("memory", held)):
            if any(root in one for one in bytes_held):
                left.append(f"the root in its {where} at boot {boot}")
            for epoch, chain in old:
                wanted = (chain, keys.epoch_key(chain, epoch))
                if any(key in one for key in wanted for one in bytes_held):
                    left.append(f"a key of boot {epoch} in its {where} at boot {boot}")
    yield true(
        "after each boot the keys of earlier boots, and the root, are nowhere on the device",
        not left,
        samples=boots,
        detail="; ".join(left[:3]),
    )
    chains = [rootkeys.chain_at(root, epoch) for epoch in range(1, boots + 2)]
    yield true(
        "each boot has the chain key of its number",
        device.budget.epoch == boots and device.budget.chain == chains[boots - 1],
        samples=boots,
    )


def _reachable(thing: Any, depth: int = 6) -> set[bytes]:
    """Return every bytes object that can be reached from a device, modules left out."""
    found, edge_of_it, seen = set(), [thing], set()
    for _ in range(depth):
        nearby = [one for one in gc.get_referents(*edge_of_it) if id(one) not in seen]
        seen |= {id(one) for one in nearby}
        found |= {bytes(one) for one in nearby if isinstance(one, bytes | bytearray)}
        edge_of_it = [one for one in nearby if not isinstance(one, type | type(gc))]
    return found
