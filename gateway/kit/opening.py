"""From an address to a board: by mpremote, or a folder that a MicroPython of this PC lives in."""

import shutil
from pathlib import Path

from ..faults import OperatorFault
from .board import Board
from .mpremote import Remote
from .standin import StandIn

FOLDER = "folder:"


def opened(address: str) -> Board:
    """Return the board at an address: auto, a port, socket://HOST:PORT, or folder:PATH.

    Raises:
        OperatorFault: what speaks to it is not installed.
    """
    if not address.startswith(FOLDER):
        return Remote(address)
    folder = Path(address.removeprefix(FOLDER))
    program = shutil.which("micropython")
    if program is None:
        raise OperatorFault(
            f"{address} is a stand-in for a board, and micropython is not on PATH; it is the real "
            "interpreter that runs in it. Install it (apt-get install micropython), or name a "
            "board's port"
        )
    folder.mkdir(parents=True, exist_ok=True)
    # Its name among boards: a folder that is copied is another board, as it must be.
    return StandIn(program, folder, chip=str(folder.resolve()).encode())
