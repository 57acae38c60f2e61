"""A board as this kit sees it: code is run there, a file is put there or brought back.

Each run begins in a fresh interpreter, as after a soft reset, in the board's own folder. What is
printed there comes back as text. Nothing that is a key is ever part of code: it would stand in
a list of processes, or in a traceback.
"""

import binascii
import re
from collections.abc import Iterable
from typing import Protocol

from ...faults import OperatorFault
from .figures import heap_kb

# The last line of a traceback on the board; a release calls its faults by their modules, too.
RAISED = re.compile(
    r"^(\w+(?:Error|Exception|Interrupt)\b.*|\w*(?:Lost|Fault): .*)$", re.MULTILINE
)


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
        """Write a whole file; its folder is there. Where it can `put_all`, several at once."""

    def restart(self) -> None:
        """Let it start as if its power had come."""


def failed(where: str, raised: str) -> BoardFault:
    """Return the fault of code that ended in an exception on a board."""
    if raised.startswith("MemoryError"):
        return BoardFault(
            f"{where} ran out of memory; {heap_kb(False):.0f} KB of free heap are needed for the "
            f"sources of edge, and {heap_kb(True):.0f} KB with --mpy. Take that, or a board with "
            "more, or flash a firmware without what you do not use",
            raised,
        )
    return BoardFault(
        f"{where} stopped with {raised}; every step must end well, or nobody knows what is on it. "
        "Press its reset button, and run this again",
        raised,
    )


_GET = """
import binascii
import re
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
