"""The owner's keys, and the file of them: of a root, of what is left of it, of some boots alone.

    keyholder.json   holds "owner's keys"; a row for each device is one of
        {"name", "key_id", "root"}                    every boot, the past ones too
        {"name", "key_id", "from_epoch", "chain", "check"}    that boot and later ones
    epochs.json      holds "epoch keys"
        {"name", "key_id", "epochs": {"3": key, ...}, "check"}   these boots and no other

Enrolling writes roots; the rest is written here. A root has its key id to be checked by; other
keys have a check, the start of a SHA-256, so that a damaged key is not taken for a key. Only
`heatveil unveil` and `heatveil keys` know of these; the service does not.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from edge.core.entropy import epoch_key, ratchet
from edge.host import rootkeys

from ...faults import OperatorFault
from ..enrol import keyfile

# Boots that we step on from what is held: a board that starts every minute takes two years to
# get there, and we some seconds. A counter gone mad must not keep us busy for ever.
FURTHEST = 1_000_000
MOST = 10_000  # boots in one grant
_PART = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", re.ASCII)


@dataclass
class KeyChain:
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
    def from_root(cls, root: bytes) -> "KeyChain":
        """Return all boots of a root."""
        return cls(bytes(rootkeys.key_id(root)), 1, bytes(rootkeys.first_chain(root)), root)

    def derive_chain_key(self, epoch: int) -> bytes | None:
        """Return the chain key of a boot, None when it was shredded or is too far ahead."""
        if not self.first <= epoch <= self.first + FURTHEST:
            return None
        at, chain = self._at if self._at[0] <= epoch else (self.first, self.chain)
        for _ in range(epoch - at):
            chain = bytes(ratchet(chain))
        self._at = (epoch, chain)
        return chain

    def find_boot_key(self, epoch: int) -> bytes | None:
        """Return the key of a boot, None when it is not held."""
        chain = self.derive_chain_key(epoch)
        return None if chain is None else bytes(epoch_key(chain, epoch))


@dataclass(frozen=True)
class BootKeys:
    """The keys of some boots: they give away neither the boots before nor those after."""

    key_id: bytes
    by_epoch: Mapping[int, bytes] = field(repr=False)

    def find_boot_key(self, epoch: int) -> bytes | None:
        """Return the key of a boot, None when it is not held."""
        return self.by_epoch.get(epoch)


class KeyRing(NamedTuple):
    """What a file of keys holds, by the names of devices."""

    site: str
    held: Mapping[str, KeyChain | BootKeys]

    def find_boot_key(self, name: str, epoch: int) -> bytes | None:
        """Return the key of a device's boot, None when it is not held."""
        held = self.held.get(name)
        return None if held is None else held.find_boot_key(epoch)


def parse_boots(text: str) -> list[int]:
    """Return the boots that a text names, in order.

    >>> parse_boots("3-5,9")
    [3, 4, 5, 9]
    """
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last or last - first >= MOST:
            raise OperatorFault(
                f"--epochs {text} is not a list of boots: whole numbers from 1 on, at most {MOST} "
                "of them. No key was granted. Write for instance 3-7 or 3,5"
            )
        found.update(range(first, last + 1))
    return sorted(found)


def format_boots(epochs: Iterable[int]) -> str:
    """Return boots as `parse_boots` reads them.

    >>> format_boots([9, 3, 4, 5])
    '3-5,9'
    """
    found: list[list[int]] = []
    for epoch in sorted(epochs):
        if found and epoch == found[-1][1] + 1:
            found[-1][1] = epoch
        else:
            found.append([epoch, epoch])
    return ",".join(f"{a}-{b}" if b > a else f"{a}" for a, b in found)


OWNER, EPOCHS = "owner's keys", "epoch keys"
KINDS = (OWNER, EPOCHS)


class _Damaged(ValueError):
    """What is wrong with a file, in words that may be printed."""


def read_key_ring(path: Path, site: str, *accepted_kinds: str) -> KeyRing:
    """Return the keys in a file of the owner's, or of somebody who was given some boots.

    Args:
        accepted_kinds: the kinds of file that will do, of `KINDS`.

    Raises:
        OperatorFault: it cannot be read, is damaged, holds other keys, or is another site's.
    """
    try:
        body = json.loads(path.read_text("utf-8"))
        found = body["holds"], body["site"]
        fits = found[0] in accepted_kinds and found[1] == site and body["format"] == keyfile.FORMAT
        held = {str(row["name"]): _hold(row) for row in body["devices"]} if fits else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        raise OperatorFault(
            f"the key file {path} cannot be read ({_describe_without_keys(fault)}); it must be as "
            "heatveil wrote it, for a damaged key opens nothing. Restore it from a backup, or ask "
            "the owner of the keys for it again"
        ) from fault
    if not fits:
        raise OperatorFault(
            f"the key file {path} holds the {found[0]} of site {found[1]}, and the "
            f"{' or the '.join(accepted_kinds)} of site {site} in format {keyfile.FORMAT} are "
            "needed: no other key takes this noise off. Name the keyholder.json of the enrolment"
            + (", or what heatveil keys grant wrote from it" if EPOCHS in accepted_kinds else "")
        )
    return KeyRing(site, held)


def write_granted_keys(path: Path, site: str, held: Mapping[str, BootKeys]) -> None:
    """Write the keys of some boots to a new file.

    Raises:
        OperatorFault: it is there already, or cannot be written.
    """
    if path.exists() or path.is_symlink():
        raise OperatorFault(
            f"{path} already exists and is not overwritten: the keys in it would be lost. Name "
            "another file, or remove that one"
        )
    rows = []
    for name, boots in held.items():
        keys = {str(epoch): key.hex() for epoch, key in sorted(boots.by_epoch.items())}
        rows.append(_check({"name": name, "key_id": boots.key_id.hex(), "epochs": keys}))
    keyfile.write_key_file(path, EPOCHS, site, rows)


def replace_key_ring(path: Path, site: str, held: Mapping[str, KeyChain]) -> None:
    """Replace the owner's file at once, and then overwrite what it held before.

    A power cut leaves the old one or the new one. Copies, backups, and what flash memory or the
    file system keep behind our back are out of reach.

    Raises:
        OperatorFault: it cannot be written.
    """
    path = path.resolve()  # the file itself: replacing a link would leave the old keys behind it
    rows = []
    for name, chain in held.items():
        row: dict[str, Any] = {"name": name, "key_id": chain.key_id.hex()}
        if chain.root is not None:
            rows.append({**row, "root": chain.root.hex()})
        else:
            rows.append(_check({**row, "from_epoch": chain.first, "chain": chain.chain.hex()}))
    try:
        with path.open("r+b") as old:  # still the old bytes, when their name is gone
            keyfile.write_key_file(path, OWNER, site, rows)
            old.write(bytes(os.fstat(old.fileno()).st_size))
            old.flush()
            os.fsync(old.fileno())
    except OSError as fault:
        raise OperatorFault(
            f"the key file {path} cannot be overwritten ({fault.strerror}); the keys that were to "
            "be shredded may still be on the disk. If the file was not writable, make it so and "
            "run this again; else destroy the disk"
        ) from fault


def _check(row: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: item for name, item in row.items() if name != "check"}
    text = json.dumps(rest, sort_keys=True)
    return {**rest, "check": hashlib.sha256(text.encode()).hexdigest()[:16]}


def _hold(row: Mapping[str, Any]) -> KeyChain | BootKeys:
    key_id = keyfile.parse_key(row, "key_id", 4)
    if "root" in row:
        whole = KeyChain.from_root(keyfile.parse_key(row, "root"))
        if whole.key_id != key_id:
            raise _Damaged(f"the root of {row['name']} is not that of key {key_id.hex()}")
        return whole
    if row["check"] != _check(row)["check"]:
        raise _Damaged(f"the check of {row['name']} does not fit its keys")
    if "chain" in row:
        return KeyChain(key_id, int(row["from_epoch"]), keyfile.parse_key(row, "chain"))
    epochs = row["epochs"]
    return BootKeys(key_id, {int(epoch): keyfile.parse_key(epochs, epoch) for epoch in epochs})


def _describe_without_keys(fault: Exception) -> str:
    """Return what is wrong, without a piece of the file: there are keys in it."""
    if isinstance(fault, OSError):
        return fault.strerror or "it cannot be opened"
    if isinstance(fault, _Damaged):
        return str(fault)
    return "it is no JSON" if isinstance(fault, json.JSONDecodeError) else "a key is damaged"
