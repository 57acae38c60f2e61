"""A board: code is run there, files are put there or brought back, and it is made to stop.

Each run begins in a fresh interpreter, as after a soft reset, in the board's own folder. What is
printed there comes back as text. Nothing that is a key is ever part of code: it would stand in
a list of processes, or in a traceback. A file that is brought is read back by its digest.

A board that is interrupted over a cable has a watchdog that still runs: after some seconds it
resets the board in the middle of whatever is done with it, and each start costs a boot and what
was left of a lease. So main.py is put aside, and the board starts once more without it
(`stop_board`).
"""

import binascii
import hashlib
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from ...faults import OperatorFault
from ..bundle import CONFIG, FOLDER, MAIN
from .needs import find_least_heap_kb

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
        """Write a whole file; its folder is there.

        Where it can `put_all`, several at once; where it can `deploy`, an image for its ROMFS.
        """

    def restart(self) -> None:
        """Let it start as if its power had come."""


def make_code_fault(where: str, raised: str) -> BoardFault:
    """Return the fault of code that ended in an exception on a board."""
    if raised.startswith("MemoryError"):
        return BoardFault(
            f"{where} ran out of memory; {find_least_heap_kb('_mpy'):.0f} KB of free heap are "
            f"needed for .mpy, {find_least_heap_kb('_rom'):.0f} in place in ROMFS. Take a board "
            "with more, or flash a firmware without what you do not use",
            raised,
        )
    return BoardFault(
        f"the board at {where} stopped with {raised}, so this step is not complete. Press its "
        "reset button, and run this again",
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


_CLEAR = """
import os
for remove, paths in ((os.remove, %r), (os.rmdir, %r)):
    for path in paths:
        try:
            remove(path)
        except OSError as why:
            if why.errno not in (2, 44):
                print(path)
"""


def parse_lines(said: str) -> dict[str, str]:
    """Return what a board printed, by the first word of each line."""
    return {word: rest for word, _, rest in (line.partition(" ") for line in said.splitlines())}


def read_file(board: Board, path: str) -> bytes:
    """Return what a file on the board holds; BoardFault where there is none."""
    return b"".join(binascii.unhexlify(line) for line in board.run(_GET % path).split())


def list_files(board: Board, folder: str) -> dict[str, int]:
    """Return the names in a folder with their sizes; nothing where there is no such folder."""
    lines = board.run(_LIST % (folder, folder)).splitlines()
    return {name: int(size) for size, _, name in (line.partition(" ") for line in lines)}


def hash_files(board: Board, paths: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of those of these files that the board has."""
    found = {}
    for line in board.run(_DIGESTS % list(paths)).splitlines():
        path, _, digest = line.rsplit(" ", 2)
        found[path] = digest
    return found


def remove_files(board: Board, paths: Iterable[str]) -> None:
    """Remove files that may be there."""
    board.run(_REMOVE % list(paths))


def clear_folders(board: Board, files: Iterable[str], folders: Iterable[str]) -> list[str]:
    """Remove these files, then these folders where they are empty; return what stays."""
    return board.run(_CLEAR % (list(files), list(folders))).splitlines()


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


def copy_files(board: Board, files: dict[str, bytes]) -> list[str]:
    """Bring the board to hold these files; return the paths that had to be written.

    Each is read back by its digest, also those that were there before.

    Raises:
        BoardFault: its flash is full, or does not hold what was written to it.
    """
    marks = ((path, at) for path in files for at, letter in enumerate(path) if letter == "/")
    folders = sorted({path[:at] for path, at in marks})
    if folders:
        board.run(_MAKE % folders)
    wanted = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    there = hash_files(board, wanted)
    stale = [path for path in files if there.get(path) != wanted[path]]
    together = TOGETHER if hasattr(board, "put_all") else 1
    for at in range(0, len(stale), together):
        part = stale[at : at + together]
        try:
            _put_all(board, {path: files[path] for path in part})
        except BoardFault as fault:
            if any(word in f"{fault.raised} {fault}" for word in FULL):
                size = sum(map(len, files.values()))
                raise BoardFault(
                    f"{part[-1]} does not fit on {board.where}: its flash is full, and {size} "
                    "bytes are needed in all. Remove files of yours there; or flash its firmware "
                    "with an empty file system, which also deletes the device's keys and budget, "
                    "so that it needs new keys afterwards",
                    fault.raised,
                ) from fault
            raise
    there = hash_files(board, stale) if stale else {}
    spoilt = [path for path in stale if there.get(path) != wanted[path]]
    if spoilt:
        raise BoardFault(
            f"{', '.join(spoilt)} on {board.where} does not read back as it was written; a "
            "damaged module could draw wrong noise. Run this again; if it happens again, the "
            "flash is worn out: take another board"
        )
    return stale


def make_temporary_name(path: str) -> str:
    """Return where a file is until it takes another's place."""
    return f"{path}.new"


def replace_file(board: Board, path: str, data: bytes) -> None:
    """Bring a file to hold this; cut off, it holds what it held, or this.

    FAT renames onto nothing that is there, so for a moment there is none on it.

    Raises:
        BoardFault: as `copied`.
    """
    new = make_temporary_name(path)
    copy_files(board, {new: data})
    board.run(_REPLACE % (new, path, path, new, path))


def _put_all(board: Board, files: dict[str, bytes]) -> None:
    if hasattr(board, "put_all"):
        board.put_all(files)
        return
    for path, data in files.items():
        board.put(path, data)


ASIDE = "main.off"
PATIENCE_S = 20.0

_STOP = """
import os
names = os.listdir()
if %(main)r in names:
    os.rename(%(main)r, %(aside)r)
    print("stopped")
"""

_GO = """
import os
names = os.listdir()
if %(trial)r in names and (%(config)r in names or %(folder)r not in names):
    os.remove(%(trial)r)
if %(aside)r in names:
    if %(main)r in names:
        os.remove(%(aside)r)
    else:
        os.rename(%(aside)r, %(main)r)
"""

_WORDS = {
    "main": MAIN,
    "aside": ASIDE,
    "trial": make_temporary_name(CONFIG),
    "config": CONFIG,
    "folder": FOLDER,
}


def stop_board(board: Board) -> bool:
    """Bring a board to start without its main.py, and wait until it is there.

    Returns:
        Whether it had one.

    Raises:
        BoardFault: it does not come back.
    """
    if "stopped" not in board.run(_STOP % _WORDS):
        return False
    board.restart()
    wait_for_board(board, PATIENCE_S)
    return True


def wait_for_board(board: Board, patience_s: float) -> None:
    """Wait until a board that was started answers.

    Raises:
        BoardFault: it does not.
    """
    until_s = time.monotonic() + patience_s
    while True:
        try:
            board.run("pass")
            return
        except BoardFault as fault:
            if time.monotonic() > until_s:
                raise BoardFault(
                    f"{board.where} did not come back after a reset within {patience_s:.0f} s; "
                    "without it nothing more can be done there. Unplug it, plug it in, and run "
                    "this again"
                ) from fault
            time.sleep(0.5)


def resume_board(board: Board) -> None:
    """Give a board the main.py back that was put aside, if one was, and let it start.

    A config that was only tried there (`trying`) and never came into force is no more then: no
    board reads it, but it has keys in it, and the password of a Wi-Fi. Where a file cannot take
    another's place in one step, it may be the only config that there is, and stays.

    Raises:
        OperatorFault: it is not there any more.
    """
    try:
        board.run(_GO % _WORDS)
    except BoardFault as fault:
        raise OperatorFault(
            f"the program of {board.where} could not be started again ({fault}), so the board "
            "does not report. Unplug it, plug it in, and run this again"
        ) from fault
    board.restart()


@contextmanager
def resume_on_fault(board: Board) -> Iterator[None]:
    """Let a board go on with what it did where the block cannot do what it was to.

    What asks a board over a cable interrupts its program, and nothing but a start sets that going
    again. Where nobody answered there is none to start.

    Raises:
        OperatorFault: as the block, and that the board is silent, where it cannot be started.
    """
    try:
        yield
    except KeyboardInterrupt:
        with suppress(OperatorFault):
            resume_board(board)
        raise
    except OperatorFault as fault:
        if isinstance(fault, BoardFault) and not fault.raised:
            raise
        try:
            resume_board(board)
        except OperatorFault as silent:
            raise OperatorFault(f"{fault}. Besides, {silent}") from fault
        raise
