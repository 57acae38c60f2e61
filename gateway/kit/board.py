"""A board as this kit sees it: code is run there, a file is put there or brought back.

Each run begins in a fresh interpreter, as after a soft reset, in the board's own folder. What is
printed there comes back as text. Nothing that is a key is ever part of code: it would stand in
a list of processes, or in a traceback.
"""

import binascii
import hashlib
from collections.abc import Iterable
from typing import Protocol

from ..faults import OperatorFault

FULL = ("ENOSPC", "OSError: 28", "[Errno 28]")


class BoardFault(OperatorFault):
    """A board did not do what it was asked; `raised` is the last line of what it said, or ""."""

    def __init__(self, sentence: str, raised: str = "") -> None:
        super().__init__(sentence)
        self.raised = raised


class Board(Protocol):
    """A board at the end of a cable, or something that stands in for one."""

    where: str  # how a person calls it

    def run(self, code: str) -> str:
        """Return what the code prints; BoardFault where it fails, or where no board answers."""

    def put(self, path: str, data: bytes) -> None:
        """Write a whole file; its folder is there."""

    def restart(self) -> None:
        """Let it start as if its power had come."""


_GET = """
import binascii
with open(%r, "rb") as file:
    while True:
        part = file.read(256)
        if not part:
            break
        print(binascii.hexlify(part).decode())
"""

# Reads in pieces: a file may be larger than what memory is left.
_DIGESTS = """
import binascii, hashlib, os
for path in %r:
    try:
        size = os.stat(path)[6]
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while True:
                part = file.read(512)
                if not part:
                    break
                digest.update(part)
        print(path, size, binascii.hexlify(digest.digest()).decode())
    except OSError:
        pass
"""

_MAKE = """
import os
for path in %r:
    try:
        os.mkdir(path)
    except OSError as why:
        if why.errno != 17:
            raise
"""

_LIST = """
import os
try:
    for name in os.listdir(%r):
        print(os.stat(%r + "/" + name)[6], name)
except OSError as why:
    if why.errno not in (2, 44):
        raise
"""

_REMOVE = """
import os
for path in %r:
    try:
        os.remove(path)
    except OSError as why:
        if why.errno not in (2, 44):
            raise
"""


def get(board: Board, path: str) -> bytes:
    """Return what a file on the board holds; BoardFault where there is none."""
    return b"".join(binascii.unhexlify(line) for line in board.run(_GET % path).split())


def listed(board: Board, folder: str) -> dict[str, int]:
    """Return the names in a folder with their sizes; nothing where there is no such folder."""
    lines = board.run(_LIST % (folder, folder)).splitlines()
    return {name: int(size) for size, _, name in (line.partition(" ") for line in lines)}


def digests(board: Board, paths: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of those of these files that the board has."""
    found = {}
    for line in board.run(_DIGESTS % list(paths)).splitlines():
        path, _, digest = line.rsplit(" ", 2)
        found[path] = digest
    return found


def remove(board: Board, paths: Iterable[str]) -> None:
    """Remove files that may be there."""
    board.run(_REMOVE % list(paths))


def copied(board: Board, files: dict[str, bytes]) -> list[str]:
    """Bring the board to hold these files; return the paths that had to be written.

    Each is read back by its digest, also those that were there before.

    Raises:
        BoardFault: its flash is full, or does not hold what was written to it.
    """
    folders = sorted({path[:at] for path in files for at in _slashes(path)})
    if folders:
        board.run(_MAKE % folders)
    wanted = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    there = digests(board, wanted)
    stale = [path for path in files if there.get(path) != wanted[path]]
    for path in stale:
        try:
            board.put(path, files[path])
        except BoardFault as fault:
            if any(word in f"{fault.raised} {fault}" for word in FULL):
                size = sum(map(len, files.values()))
                raise BoardFault(
                    f"{path} does not fit on {board.where}: its flash is full, and {size} bytes "
                    "are needed in all, or it cannot start. Remove what is not needed there, or "
                    "flash its firmware anew with an empty file system",
                    fault.raised,
                ) from fault
            raise
    there = digests(board, stale) if stale else {}
    spoilt = [path for path in stale if there.get(path) != wanted[path]]
    if spoilt:
        raise BoardFault(
            f"{', '.join(spoilt)} on {board.where} is not what was written there; every file must "
            "come back as it is, or the noise may be another. Run it again; if it stays so, the "
            "flash is worn out: take another board"
        )
    return stale


def _slashes(path: str) -> list[int]:
    return [at for at, letter in enumerate(path) if letter == "/"]
