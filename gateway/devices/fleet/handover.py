"""Where an earlier fleet of this folder left frames, and in whose files they go on.

A process of ours keeps them in a `spool`, an interpreter of its own in a `spill` of edge's. Who
starts takes what the other kind has left, or it would come out years later, and look as if the
device had gone back to an earlier boot.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from edge.spill import File

from .spool import Lasting, Spool

FLASH_BYTES = 1 << 17  # of the two files of one interpreter together


def spill_of(folder: Path, name: str, key_id: bytes) -> str:
    """Return the path, without its end, of the files of a device in an interpreter of its own."""
    return str(folder / f"{name}.{key_id.hex()}.spill")


def to_spools(folder: Path) -> Callable[[str, bytes], Spool]:
    """Return what gives the lasting spool of a device, with what its interpreter has left."""

    def of(name: str, key_id: bytes) -> Spool:
        spool = _spool(folder, name, key_id)
        left = File(spill_of(folder, name, key_id), FLASH_BYTES)
        _move(left.oldest, left.free, spool.put)
        return spool

    return of


def to_spill(folder: Path, name: str, key_id: bytes) -> None:
    """Give what a spool has left to the interpreter that this device will run in."""
    spool = _spool(folder, name, key_id)
    if len(spool):
        kept = File(spill_of(folder, name, key_id), FLASH_BYTES)
        _move(lambda: spool.oldest, spool.free, kept.put)


def _spool(folder: Path, name: str, key_id: bytes) -> Lasting:
    return Lasting(folder / f"{name}.{key_id.hex()}.spool")


def _move(oldest: Callable[[], Any], free: Callable[[], None], put: Callable[[Any], Any]) -> None:
    while (frame := oldest()) is not None:
        put(bytes(frame))
        free()
