"""Files brought to a board, each read back by its digest."""

import hashlib

from .board import Board, BoardFault, digests

TOGETHER = 16  # files that a board which can is given at once
FULL = ("ENOSPC", "OSError: 28", "[Errno 28]")

_MAKE = """
import os
for path in %r:
    try:
        os.mkdir(path)
    except OSError as why:
        if why.errno != 17:
            raise
"""

_REPLACE = """
import os
try:
    os.rename(%r, %r)
except OSError:
    os.remove(%r)
    os.rename(%r, %r)
"""


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
    together = TOGETHER if hasattr(board, "put_all") else 1
    for at in range(0, len(stale), together):
        part = stale[at : at + together]
        try:
            _put(board, {path: files[path] for path in part})
        except BoardFault as fault:
            if any(word in f"{fault.raised} {fault}" for word in FULL):
                size = sum(map(len, files.values()))
                raise BoardFault(
                    f"{part[-1]} does not fit on {board.where}: its flash is full, and {size} "
                    "bytes are needed in all, or it cannot start. Remove what is not needed "
                    "there, or flash its firmware anew with an empty file system",
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


def beside(path: str) -> str:
    """Return where a file is until it takes another's place."""
    return f"{path}.new"


def replaced(board: Board, path: str, data: bytes) -> None:
    """Bring a file to hold this; cut off, it holds what it held, or this.

    FAT renames onto nothing that is there, so for a moment there is none on it.

    Raises:
        BoardFault: as `copied`.
    """
    new = beside(path)
    copied(board, {new: data})
    board.run(_REPLACE % (new, path, path, new, path))


def _put(board: Board, files: dict[str, bytes]) -> None:
    if hasattr(board, "put_all"):
        board.put_all(files)
        return
    for path, data in files.items():
        board.put(path, data)


def _slashes(path: str) -> list[int]:
    return [at for at, letter in enumerate(path) if letter == "/"]
