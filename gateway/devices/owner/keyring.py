"""The keys of who may take noise off: of a root, of what is left of it, of some boots alone.

Only `heatveil unveil` and `heatveil keys` know of these; the service does not.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from edge import keys
from edge.host import rootkeys

from ...faults import OperatorFault

# Boots that we step on from what is held: a board that starts every minute takes two years to
# get there, and we some seconds. A counter gone mad must not keep us busy for ever.
FURTHEST = 1_000_000
MOST = 10_000  # boots in one grant
_PART = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", re.ASCII)


@dataclass
class Chain:
    """The chain key of a boot: that boot and all later ones follow from it, and none before.

    root is there as long as nothing was shredded.
    """

    key_id: bytes
    first: int  # boot of `chain`
    chain: bytes = field(repr=False)
    root: bytes | None = field(repr=False, default=None)
    _at: tuple[int, bytes] = field(init=False, repr=False)  # where the last walk ended

    def __post_init__(self) -> None:
        self._at = (self.first, self.chain)

    @classmethod
    def of(cls, root: bytes) -> "Chain":
        """Return all boots of a root."""
        return cls(bytes(rootkeys.key_id(root)), 1, bytes(rootkeys.first_chain(root)), root)

    def chain_at(self, epoch: int) -> bytes | None:
        """Return the chain key of a boot, None when it was shredded or is too far ahead."""
        if not self.first <= epoch <= self.first + FURTHEST:
            return None
        at, chain = self._at if self._at[0] <= epoch else (self.first, self.chain)
        for _ in range(epoch - at):
            chain = bytes(keys.ratchet(chain))
        self._at = (epoch, chain)
        return chain

    def epoch_key(self, epoch: int) -> bytes | None:
        """Return the key of a boot, None when it is not held."""
        chain = self.chain_at(epoch)
        return None if chain is None else bytes(keys.epoch_key(chain, epoch))


@dataclass(frozen=True)
class Boots:
    """The keys of some boots: they give away neither the boots before nor those after."""

    key_id: bytes
    by_epoch: Mapping[int, bytes] = field(repr=False)

    def epoch_key(self, epoch: int) -> bytes | None:
        """Return the key of a boot, None when it is not held."""
        return self.by_epoch.get(epoch)


class Ring(NamedTuple):
    """What a file of keys holds, by the names of devices."""

    site: str
    held: Mapping[str, Chain | Boots]

    def epoch_key(self, name: str, epoch: int) -> bytes | None:
        """Return the key of a device's boot, None when it is not held."""
        held = self.held.get(name)
        return None if held is None else held.epoch_key(epoch)


def boots(text: str) -> list[int]:
    """Return the boots that a text names, in order.

    >>> boots("3-5,9")
    [3, 4, 5, 9]
    """
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last or last - first >= MOST:
            raise OperatorFault(
                f"--epochs {text} names no boots; they must be whole numbers from 1 on, {MOST} at "
                "most, or it is not known whose readings are given away. Write for instance 3-7 "
                "or 3,5"
            )
        found.update(range(first, last + 1))
    return sorted(found)


def spans(epochs: Iterable[int]) -> str:
    """Return boots as `boots` reads them.

    >>> spans([9, 3, 4, 5])
    '3-5,9'
    """
    found: list[list[int]] = []
    for epoch in sorted(epochs):
        if found and epoch == found[-1][1] + 1:
            found[-1][1] = epoch
        else:
            found.append([epoch, epoch])
    return ",".join(f"{a}-{b}" if b > a else f"{a}" for a, b in found)
