"""Whether a board may become a device: looked at before there are keys for it, or old ones end.

A device that is enrolled and cannot be finished has taken a sensor of the room, and one whose keys
ended for the wrong board is silent on its wall. So what can be known is known before: settings,
steps and number of the sensors; that the board is there, runs edge, and whose budget it holds.
"""

from typing import Any

from ...faults import OperatorFault
from ...loopback import is_loopback
from . import interpreter, lining, modules, parts, state
from .board import Board, BoardFault, listed
from .boardfile import Held
from .interpreter import Found

OTHERWISE = "Take another board, or say --replace"


def check(
    board: Board,
    held: Held,
    own: dict[str, Any],
    files: dict[str, bytes] | None,
    otherwise: str | None,
) -> None:
    """Check that a board may become this device; nothing there is changed.

    Args:
        own: the operator's settings of it.
        files: the modules that it would be given; as it has them else.
        otherwise: what to do where it holds another's budget; None where that may end.

    Raises:
        OperatorFault: it may not. It stands still then: `still.looked_at` has it go on.
    """
    found = interpreter.examined(board)
    brought = modules.usual(board) if files is None else files
    modules.check_loads(board, found, brought)
    check_way(board, found, held, own)
    if otherwise is not None:
        check_free(board, held.identity.name, otherwise)


def check_way(board: Board, found: Found, held: Held, own: dict[str, Any]) -> None:
    """Check that a board has what a device of this kind draws its noise from, a line, a broker.

    Raises:
        OperatorFault: it has not.
    """
    lining.check_line(found, own)
    if not found.entropy and held.identity.mode == "sealed":
        raise OperatorFault(
            f"{board.where} has no random numbers of its own (os.urandom), and a sealed device "
            "mixes them in, or its host could repeat its noise. Flash a firmware that has them, "
            "or enrol it as keyholder"
        )
    if is_loopback(held.link["host"]) and not getattr(board, "here", False):
        raise OperatorFault(
            f"the broker is at {held.link['host']} by [mqtt] host, and for {board.where} that "
            "is the board itself: nobody would ever hear it. Write there what this machine, or "
            "the broker's, is called on the board's network, and run this again"
        )


def check_free(board: Board, name: str, otherwise: str) -> None:
    """Check that a board holds no other device's budget, which would be forgotten.

    Args:
        otherwise: what to do about it.

    Raises:
        OperatorFault: it does.
    """
    if not _there(board):
        return
    try:
        there = state.asked(board)
    except BoardFault:
        there = None
    if there is not None and there.name == name:
        return  # its own, under keys that are no more
    who = there.name if there is not None and there.name else "a device that cannot be read"
    raise OperatorFault(
        f"{board.where} holds the budget of {who}; to write over it ends that device, for nothing "
        f"else knows what it spent. {otherwise}"
    )


def _there(board: Board) -> bool:
    names = [path.rpartition("/")[2] for path in parts.SLOTS]
    return any(name in listed(board, parts.FOLDER) for name in names)
