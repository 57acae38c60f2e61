"""A board that does its work, brought to a stop that lasts, and set going again.

What is interrupted over a cable has a watchdog that still runs: after some seconds it resets the
board in the middle of whatever is done with it, and each start costs a boot and what was left of
a lease. So main.py is put aside, the board starts once more without it, and then it keeps still.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ...faults import OperatorFault
from .board import Board, BoardFault
from .copying import beside
from .parts import CONFIG, FOLDER, MAIN

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
    "trial": beside(CONFIG),
    "config": CONFIG,
    "folder": FOLDER,
}


def stopped(board: Board) -> bool:
    """Bring a board to start without its main.py, and wait until it is there.

    Returns:
        Whether it had one.

    Raises:
        BoardFault: it does not come back.
    """
    if "stopped" not in board.run(_STOP % _WORDS):
        return False
    board.restart()
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            board.run("pass")
            return True
        except BoardFault as fault:
            if time.monotonic() > until_s:
                raise BoardFault(
                    f"{board.where} did not come back after a reset within {PATIENCE_S:.0f} s; "
                    "without it nothing more can be done there. Unplug it, plug it in, and run "
                    "this again"
                ) from fault
            time.sleep(0.5)


def resumed(board: Board) -> None:
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
            f"{board.where} could not be set going again ({fault}); it is silent till then. Plug "
            "it in, and run this again"
        ) from fault
    board.restart()


@contextmanager
def looked_at(board: Board) -> Iterator[None]:
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
            resumed(board)
        raise
    except OperatorFault as fault:
        if isinstance(fault, BoardFault) and not fault.raised:
            raise
        try:
            resumed(board)
        except OperatorFault as silent:
            raise OperatorFault(f"{fault}. Besides, {silent}") from fault
        raise
