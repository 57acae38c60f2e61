"""From an address to a board: by mpremote, or a folder that a MicroPython of this PC lives in."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...faults import OperatorFault
from . import modules, parts
from .board import Board
from .mpremote import Remote
from .standin import StandIn

FOLDER = "folder:"
TOOLS = Path(__file__).resolve().parents[3] / ".tools"  # of a checkout, by `make tools`


def opened(address: str, lives: bool = False, fresh: bool = True) -> Board:
    """Return the board at an address: auto, a port, socket://HOST:PORT, or folder:PATH.

    Args:
        lives: a stand-in runs its program once it is started; a board always does.
        fresh: a stand-in's folder that is not there is made.

    Raises:
        OperatorFault: what speaks to it is not installed, or there is no such folder.
    """
    if not address.startswith(FOLDER):
        return Remote(address)
    folder = Path(address.removeprefix(FOLDER))
    places = os.pathsep.join([os.environ.get("PATH", ""), str(TOOLS)])
    program = shutil.which("micropython", path=places)
    if program is None:
        raise OperatorFault(
            f"{address} is a stand-in for a board, and micropython is neither on PATH nor in "
            f"{TOOLS}; it is the real interpreter that runs in it. Install it (apt-get install "
            "micropython; in a checkout also make tools), or name a board's port"
        )
    if not fresh and not folder.is_dir():
        raise OperatorFault(
            f"{folder} is not there; it must be the folder of a stand-in, or there is no board to "
            "look at. Name the one that heatveil provision was given"
        )
    folder.mkdir(0o700, parents=True, exist_ok=True)  # its flash, with keys on it
    # Its name among boards: a folder that is copied is another board, as it must be.
    return StandIn(program, folder, chip=str(folder.resolve()).encode(), lives=lives)


@contextmanager
def lent(address: str, lives: bool) -> Iterator[Board]:
    """Lend a board for as long as the block lasts; then a stand-in has no power any more.

    Raises:
        OperatorFault: what speaks to it is not installed.
    """
    board = opened(address, lives)
    try:
        yield board
    finally:
        if isinstance(board, StandIn):
            board.stop()


def modules_of(mpy: bool, release: Path | None) -> dict[str, bytes] | None:
    """Return the modules of edge for a board: compiled here, or of a release; None as it has them.

    Raises:
        OperatorFault: the compiler is not installed, or the release is not whole.
    """
    if release is not None:
        return parts.compiled(release)
    return modules.compiled() if mpy else None
