"""A bare board made a device, step by step, each printed; a run that was cut off is run again.

While anything can still go wrong the board cannot start: main.py is taken away first and written
last. Its sensor is tried before there is a budget. Keys are bound to this board on the host's
disk before its slots are written, and the host forgets the chain key before the board can start.
So a cut at any point leaves one device at most, and never two streams of one key. A board that
was this device already goes on without a sensor that answers: it says so itself.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from edge import copies

from ...faults import OperatorFault
from .. import bundle
from . import boardfile, boards, fit, interpreter, modules, selftest, settings, state
from .boardfile import Held
from .boards import (
    Board,
    BoardFault,
    copy_files,
    list_files,
    name_beside,
    read_file,
    remove_files,
    replace_file,
)
from .interpreter import Interpreter
from .needs import Took

Say = Callable[[str], None]
NOBODYS = b"a chain key that no device has"


def try_config(board: Board, held: Held, config: bytes) -> selftest.SensorTrial:
    """Return how a board's sensor is, from a config that is not in force yet.

    The config of the trial is a file of its own, which nothing reads but the look here: whatever
    cuts it off, a board starts with the one that it had, or not at all. What is left of it the
    next run writes over, and `still.resumed` removes.

    Where it was at work before, it goes on all the same. That config, which says who it was, is
    replaced as the last thing, so a run that was cut off finds it again.

    Raises:
        OperatorFault: something is wrong, and it is no device yet.
    """
    trial = name_beside(bundle.CONFIG)
    copy_files(board, {trial: config})
    found = selftest.try_sensor(board, held.reads, trial)
    if found.wrong and not held.given and not was_device(board, held):
        remove_files(board, [trial])
        raise OperatorFault(
            f"the sensor of {board.where} does not answer as its settings say ({found.wrong}); a "
            f"device without one holds a place in the room and is never heard. "
            f"{held.identity.name} is not finished there, and does not start. Mend the wiring, or "
            "[driver] in its settings, and run this again"
        )
    return found


def rehearse(
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
    if was_device(board, would):
        return
    boards.stop(board)
    own = own if own is not None else settings.read_own(board)
    files = modules.choose_modules(board) if files is None else files
    written = modules.install_modules(board, files, own)
    say(f"files        {len(files)}, {len(written)} of them written; every digest is right")
    try_config(board, would._replace(chain=NOBODYS), settings.make_config(would, own))
    remove_files(board, [name_beside(bundle.CONFIG)])


def was_device(board: Board, held: Held) -> bool:
    """Say whether a board has been this device before, under whatever keys."""
    try:
        there = state.read_state(board)
    except BoardFault as fault:
        if not fault.raised:
            raise
        return False  # there is no edge on it yet, or none that can say who it is
    who = held.identity
    return (there.site, there.name) == (who.site, who.name)


class Kit(NamedTuple):
    """What a board is to get.

    own: the operator's settings, None for those that it has. files: the modules of edge, None for
    this heatveil's in the way that it has them. otherwise: what to do where the board holds the
    budget of another device, None where that may end.
    """

    held: Held
    own: dict[str, Any] | None
    files: dict[str, bytes] | None = None
    otherwise: str | None = fit.OTHERWISE


def provision(board: Board, kit: Kit, say: Say) -> state.State:
    """Return what the board holds in the end; it was not started.

    Raises:
        OperatorFault: it cannot be done, and why; what was done stays, and is not done again.
    """
    found = interpreter.examine(board)
    boards.stop(board)
    try:
        files = modules.choose_modules(board) if kit.files is None else kit.files
        modules.check_loads(board, found, files)
        own, held = _bound(board, kit, found)
    except OperatorFault:
        with suppress(OperatorFault):
            boards.resume(board)  # what it was before, it is still
        raise
    say(
        f"interpreter  MicroPython {found.version} on {found.platform}, big integers, "
        f"{found.heap // 1024} KB of heap free"
    )
    say(f"keys         of {held.identity.name}, for the board {found.chip} and no other")

    # Also the one that was put aside: nobody may set it going with half of the modules new.
    remove_files(board, [bundle.MAIN, f"{bundle.MAIN[:-3]}.mpy", boards.ASIDE])
    written = modules.install_modules(board, files, own)
    say(f"files        {len(files)}, {len(written)} of them written; every digest is right")
    passed = selftest.run_selftest(board, held.mechanism)
    say(
        f"self-test    frame {passed.digest}, the same on CPython; {passed.shows}; "
        f"{passed.heap // 1024} KB of heap left"
    )
    config = settings.make_config(held, own)
    tried = try_config(board, held, config)
    say(f"sensor       {tried.wrong or tried.how}")
    took = None if tried.took_ms is None else Took(tried.took_ms, selftest.measure_slots_ms(board))
    tick_ms = settings.choose_tick(held, own, took)
    config = settings.make_config(held, own | {"tick_ms": tick_ms})
    here = f"its sensor took {took.sensor_ms} ms here, three slots {took.slots_ms}" if took else ""
    say(f"tick         {tick_ms} ms; {here or 'as reckoned, nothing was measured'}")
    held = _slots(board, held, say)
    replace_file(board, bundle.CONFIG, config)
    say(f"config       {bundle.CONFIG}, read back")
    held = boardfile.hand_over(held)
    say(f"handed over  {held.path.name} holds no chain key: no second board can come of it")
    seen = _seen(board, held)
    if seen.aside:
        say(
            f"restart      costs up to {seen.aside} answers, which it had paid for ahead to spare "
            "its flash; a board that works is best left alone"
        )
    starts = bundle.read_starts()
    copy_files(board, starts)
    say(f"start        {', '.join(starts) or 'nothing: this heatveil has no main.py'}")
    say(
        f"ready        boot {seen.epoch}, {seen.answers} answers left; the keys on the board are "
        "those that the gateway knows"
    )
    return seen


def _bound(board: Board, kit: Kit, found: Interpreter) -> tuple[dict[str, Any], Held]:
    """Return settings and keys, bound to this board; nothing there is changed yet."""
    own = kit.own if kit.own is not None else settings.read_own(board)
    settings.make_config(kit.held, own)  # what the board would refuse is refused now
    fit.check_way(board, found, kit.held, own)
    if kit.otherwise is not None and not kit.held.chip:
        fit.check_free(board, kit.held.identity.name, kit.otherwise)
    return own, boardfile.bind_to_chip(kit.held, found.chip)


def _slots(board: Board, held: Held, say: Say) -> Held:
    """Bring the slots to be there, once in the life of a key."""
    names = list_files(board, bundle.FOLDER)
    found = []
    for path in bundle.SLOTS:
        data = read_file(board, path) if path.rpartition("/")[2] in names else b""
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
    remove_files(board, [f"{bundle.FOLDER}/{name}" for name in names])
    copy_files(board, dict(zip(bundle.SLOTS, first, strict=True)))
    pays = state.count_answers(held.limits, held.limits.budget)
    whole = state.describe_budget(held.mechanism, held.limits)
    say(f"budget       {len(first)} slots with {whole}, {pays} answers; read back")
    return held


def _seen(board: Board, held: Held) -> state.State:
    seen = state.read_state(board, held.identity.mac_key)
    if why := seen.config or seen.lost:
        raise OperatorFault(f"{board.where} cannot use what it was given: {why}")
    if not seen.ours or seen.key != held.identity.key_id.hex():
        raise OperatorFault(
            f"{board.where} has other keys than {held.identity.name} was enrolled with; no frame "
            "of it would be believed. Run it again; if it stays so, flash MicroPython anew"
        )
    return seen
