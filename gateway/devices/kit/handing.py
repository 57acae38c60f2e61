"""A bare board made a device, step by step, each printed; a run that was cut off is run again.

The order is the point of it. While anything can still go wrong the board cannot start: main.py is
taken away first and written last. Its sensor is tried before there is a budget. Keys are bound to
this board on the host's disk before its slots are written, and the host forgets the chain key
before the board can start. So a cut at any point leaves one device at most, and never two
streams of one key.
"""

from contextlib import suppress
from typing import Any, NamedTuple

from edge import copies

from ...faults import OperatorFault
from . import (
    boardfile,
    fitting,
    interpreter,
    modules,
    parts,
    selftest,
    sensing,
    settings,
    state,
    still,
    trying,
)
from .board import Board, get, listed, remove
from .boardfile import Held
from .copying import copied, replaced
from .interpreter import Found
from .reckoning import Took
from .trying import Say


class Kit(NamedTuple):
    """What a board is to get.

    own: the operator's settings, None for those that it has. files: the modules of edge, None for
    this heatveil's in the way that it has them. otherwise: what to do where the board holds the
    budget of another device, None where that may end.
    """

    held: Held
    own: dict[str, Any] | None
    files: dict[str, bytes] | None = None
    otherwise: str | None = fitting.OTHERWISE


def provisioned(board: Board, kit: Kit, say: Say) -> state.State:
    """Return what the board holds in the end; it was not started.

    Raises:
        OperatorFault: it cannot be done, and why; what was done stays, and is not done again.
    """
    found = interpreter.examined(board)
    still.stopped(board)
    try:
        files = modules.usual(board) if kit.files is None else kit.files
        modules.check_loads(board, found, files)
        own, held = _bound(board, kit, found)
    except OperatorFault:
        with suppress(OperatorFault):
            still.resumed(board)  # what it was before, it is still
        raise
    say(
        f"interpreter  MicroPython {found.version} on {found.platform}, big integers, "
        f"{found.heap // 1024} KB of heap free"
    )
    say(f"keys         of {held.identity.name}, for the board {found.chip} and no other")

    # Also the one that was put aside: nobody may set it going with half of the modules new.
    remove(board, [parts.MAIN, f"{parts.MAIN[:-3]}.mpy", still.ASIDE])
    written = modules.brought(board, files, own)
    say(f"files        {len(files)}, {len(written)} of them written; every digest is right")
    passed = selftest.passed(board, held.mechanism)
    say(
        f"self-test    frame {passed.digest}, the same on CPython; {passed.shows}; "
        f"{passed.heap // 1024} KB of heap left"
    )
    config = settings.made(held, own)
    tried = trying.tried(board, held, config)
    say(f"sensor       {tried.wrong or tried.how}")
    took = None if tried.took_ms is None else Took(tried.took_ms, sensing.slots_ms(board))
    tick_ms = settings.tick_of(held, own, took)
    config = settings.made(held, own | {"tick_ms": tick_ms})
    here = f"its sensor took {took.sensor_ms} ms here, three slots {took.slots_ms}" if took else ""
    say(f"tick         {tick_ms} ms; {here or 'as reckoned, nothing was measured'}")
    held = _slots(board, held, say)
    replaced(board, parts.CONFIG, config)
    say(f"config       {parts.CONFIG}, read back")
    held = boardfile.hand_over(held)
    say(f"handed over  {held.path.name} holds no chain key: no second board can come of it")
    seen = _seen(board, held)
    if seen.aside:
        say(
            f"restart      costs up to {seen.aside} answers, which it had paid for ahead to spare "
            "its flash; a board that works is best left alone"
        )
    starts = parts.starts()
    copied(board, starts)
    say(f"start        {', '.join(starts) or 'nothing: this heatveil has no main.py'}")
    say(
        f"ready        boot {seen.epoch}, {seen.answers} answers left; the keys on the board are "
        "those that the gateway knows"
    )
    return seen


def _bound(board: Board, kit: Kit, found: Found) -> tuple[dict[str, Any], Held]:
    """Return settings and keys, bound to this board; nothing there is changed yet."""
    own = kit.own if kit.own is not None else settings.of_board(board)
    settings.made(kit.held, own)  # what the board would refuse is refused now
    fitting.check_way(board, found, kit.held, own)
    if kit.otherwise is not None and not kit.held.chip:
        fitting.check_free(board, kit.held.identity.name, kit.otherwise)
    return own, boardfile.take(kit.held, found.chip)


def _slots(board: Board, held: Held, say: Say) -> Held:
    """Bring the slots to be there, once in the life of a key."""
    names = listed(board, parts.FOLDER)
    found = []
    for path in parts.SLOTS:
        data = get(board, path) if path.rpartition("/")[2] in names else b""
        found.append(copies.unpack(data, held.identity.state_key))
    if held.given:
        if len(found) - found.count(None) < 2:  # one alone may be an old copy
            raise OperatorFault(
                f"{board.where} has lost the budget of {held.identity.name}, and nobody else "
                "knows what it spent; its keys cannot be used again. Make new ones: heatveil "
                f"rotate {held.identity.name} --keys"
            )
        say("budget       there already, and left as it is")
        return held
    if any(record is not None and record.epoch > 0 for record in found):
        say("budget       there already, and begun: left as it is")
        return held
    first = held.slots()
    # Frames of an older key, which nobody takes any more.
    remove(board, [f"{parts.FOLDER}/{name}" for name in names])
    copied(board, dict(zip(parts.SLOTS, first, strict=True)))
    pays = state.answers(held.limits, held.limits.budget)
    whole = state.worth(held.mechanism, held.limits)
    say(f"budget       {len(first)} slots with {whole}, {pays} answers; read back")
    return held


def _seen(board: Board, held: Held) -> state.State:
    seen = state.asked(board, held.identity.mac_key)
    if why := seen.config or seen.lost:
        raise OperatorFault(f"{board.where} cannot use what it was given: {why}")
    if not seen.ours or seen.key != held.identity.key_id.hex():
        raise OperatorFault(
            f"{board.where} has other keys than {held.identity.name} was enrolled with; no frame "
            "of it would be believed. Run it again; if it stays so, flash MicroPython anew"
        )
    return seen
