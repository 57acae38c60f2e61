"""The sensor of a board, tried before anything hangs on it: a budget, or the keys of a device.

A board that was this device already goes on without one that answers: it says so itself, and what
it must have instead of a password or keys that are no more has to come to it.
"""

from collections.abc import Callable
from typing import Any

from ...faults import OperatorFault
from . import modules, parts, sensing, settings, state, still
from .board import Board, BoardFault, remove
from .boardfile import Held
from .copying import beside, copied

Say = Callable[[str], None]
NOBODYS = b"a chain key that no device has"


def tried(board: Board, held: Held, config: bytes) -> sensing.Looked:
    """Return how a board's sensor is, from a config that is not in force yet.

    The config of the trial is a file of its own, which nothing reads but the look here: whatever
    cuts it off, a board starts with the one that it had, or not at all. What is left of it the
    next run writes over, and `still.resumed` removes.

    Where it was at work before, it goes on all the same. That config, which says who it was, is
    replaced as the last thing, so a run that was cut off finds it again.

    Raises:
        OperatorFault: something is wrong, and it is no device yet.
    """
    trial = beside(parts.CONFIG)
    copied(board, {trial: config})
    found = sensing.looked(board, trial)
    if found.wrong and not held.given and not was_it(board, held):
        remove(board, [trial])
        raise OperatorFault(
            f"the sensor of {board.where} does not answer as its settings say ({found.wrong}); a "
            f"device without one holds a place in the room and is never heard. "
            f"{held.identity.name} is not finished there, and does not start. Mend the wiring, or "
            "[driver] in its settings, and run this again"
        )
    return found


def rehearsed(
    board: Board,
    would: Held,
    own: dict[str, Any] | None,
    files: dict[str, bytes] | None,
    say: Say,
) -> None:
    """Try the sensor of a board that is to take a device over, before there are keys for that.

    Else a spare whose sensor is dead would end the keys of a board that works. One that is this
    device already is left as it is.

    Args:
        would: what it would be given, under keys that are no device's.
        own: the operator's settings, None for those that it has.
        files: the modules of edge, None for this heatveil's.

    Raises:
        OperatorFault: it does not answer. What was written there means nothing to the board.
    """
    if was_it(board, would):
        return
    still.stopped(board)
    own = own if own is not None else settings.of_board(board)
    files = modules.usual(board) if files is None else files
    written = modules.brought(board, files, own)
    say(f"files        {len(files)}, {len(written)} of them written; every digest is right")
    tried(board, would._replace(chain=NOBODYS), settings.made(would, own))
    remove(board, [beside(parts.CONFIG)])


def was_it(board: Board, held: Held) -> bool:
    """Say whether a board has been this device before, under whatever keys."""
    try:
        there = state.asked(board)
    except BoardFault as fault:
        if not fault.raised:
            raise
        return False  # there is no edge on it yet, or none that can say who it is
    who = held.identity
    return (there.site, there.name) == (who.site, who.name)
