"""A bare board made a device, step by step, each printed; a run that was cut off is run again.

While anything can still go wrong the board cannot start: main.py is taken away first and written
last. Its sensor is tried before there is a budget. Keys are bound to this board on the host's
disk before its slots are written, and the host forgets the chain key before the board can start.
So a cut at any point leaves one device at most, and never two streams of one key. A board that
was this device already is given all but main.py where its sensor does not answer: each Round would
cost it an answer.

Whether a board may become a device: checked before there are keys for it, or old ones end.

A device that is enrolled and cannot be finished has taken a sensor of the room, and one whose keys
ended for the wrong board is silent on its wall. So what can be known is known before: settings,
steps and number of the sensors; that it will answer the Round that its deployment asks first; that
the board is there, runs edge, and whose budget it holds.
"""

import ast
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from edge import mechanisms
from edge.board import drivers
from edge.board.binding import Bound
from edge.core import budget as budgets
from edge.core.budget import COUNT
from edge.core.records import SealedRound
from edge.core.wire import KEY_BYTES
from edge.host.enrol import Ram, shows_more

from ...faults import OperatorFault
from ...loopback import is_loopback
from ...service.ledger import is_paid_at_release
from ...settings.deployment import Deployment
from .. import bundle
from . import boardfile, boards, modules, releases, selftest, settings, state
from .boardfile import BoardFile
from .boards import (
    Board,
    BoardFault,
    copy_files,
    list_files,
    make_temporary_name,
    read_file,
    remove_files,
    replace_file,
)
from .modules import Interpreter
from .needs import BoardTimes
from .siting import derive_steps


def find_converter_step(own: dict[str, Any], word: str = "step") -> Any:
    """Return the step of the driver that a board is told of, (num, den) of a kelvin, if known.

    Args:
        word: or what else it says: "behind", the counts of a converter behind it, if there is one;
            "sensors", how many it reads.
    """
    driver = own.get("driver")
    name = driver.get("name") if isinstance(driver, dict) else None
    if name not in drivers.NAMES:
        return None  # which the config's own reader says
    if name != "yours":
        return getattr(drivers.find_driver(name), word, None)
    return _read_word(Path(driver["file"]), word) if driver and "file" in driver else None


def find_sensor_count(own: dict[str, Any]) -> int | None:
    """Return how many sensors the driver reads that a board is told of, if that can be known."""
    driver = own.get("driver")
    if not isinstance(driver, dict) or driver.get("name") not in drivers.NAMES:
        return None
    if isinstance(roms := driver.get("roms"), list) and driver["name"] != "yours":
        return len(roms)
    found = find_converter_step(own, "sensors")  # none of a driver that reads what is on the wire
    return found if isinstance(found, int) else None


def check_sensor_count(own: dict[str, Any], held: BoardFile) -> None:
    """Check that a driver reads as many sensors as its device stands for.

    Raises:
        OperatorFault: it reads more, or fewer.
    """
    count, who = find_sensor_count(own) if held.reads == "temperature" else 1, held.identity
    if count is not None and count != who.sensors:
        raise OperatorFault(
            f"the driver {own['driver']['name']} of the settings reads {count} sensors, but "
            f"{who.name} has {who.sensors}; it could not answer. Enrol it with --sensors {count}, "
            "or name the driver of the sensor that is wired to it"
        )


def check_would_answer(
    deployment: Deployment, asked: Any, board: BoardFile, step: Any, behind: Any = None
) -> None:
    """Check that a device would answer a Round of its deployment.

    Args:
        asked: the Round that the deployment asks first.
        step: of its driver; None where it is not known, which is not checked then.
        behind: counts of the converter behind that one, (num, den) of a kelvin; None without.

    Raises:
        OperatorFault: it would refuse, and what to do.
    """
    who, held = board.identity, board.limits
    newest, may = asked.number - 1, (board.tables, None)

    def objection(step: Any) -> str:
        if board.mechanism != asked.mechanism:
            return f"it asks for {asked.mechanism}, and the device has {board.mechanism}"
        if hasattr(who, "roster"):
            return ""  # whether its shard fits the deployment, `heatveil check` says
        if board.reads == "temperature":
            half = mechanisms.module_of(board.mechanism)
            return str(half.objection(asked, who, held, newest, step, may))
        half, _ = mechanisms.make_half(board.mechanism, who, None, None, False)
        keyed = is_paid_at_release(asked.guarantee)
        shown = SealedRound(*(*asked, bytes(KEY_BYTES))) if keyed else asked
        return str(half.objection(shown, who, held, newest))

    if board.reads == "temperature" and not objection(None):
        _check_converters(deployment, held.exponent, step, behind, objection)
    if why := objection(None):
        raise OperatorFault(
            f"{who.name} would refuse every round of this deployment: {why}. It was enrolled for "
            f"another one; give it new keys for this one: heatveil rotate {who.name} --keys"
        )


def _check_converters(
    deployment: Deployment, exponent: int, step: Any, behind: Any, objection: Callable[[Any], str]
) -> None:
    """Check that a move shows no more of warmth, by a driver's converters, than is planned for."""
    if step is None and behind:
        raise OperatorFault(
            "the driver states the step of the converter behind its own (behind) but not its own "
            "(step); how much a person's move shows depends on both. Write step = NUM, DEN in the "
            "driver"
        )
    both, sensors = (step, behind or (0, 1)), deployment.sensors
    if step is None or not (
        shows_more(*both, derive_steps(deployment, exponent))
        or objection(drivers.least_shown(*both))
    ):
        return
    own, counts = (Fraction(*ratio) for ratio in both)
    planned = "no adc_step" if not sensors.adc_step else f"adc_step {Fraction(*sensors.adc_step)}"
    if sensors.adc_behind:
        planned += f" and adc_behind {Fraction(*sensors.adc_behind)}"
    raise OperatorFault(
        f"its driver counts in steps of {own} K"
        + f", of what another converter shows in counts of {counts} K," * bool(behind)
        + f" and the deployment was planned with {planned}; a step flips on all sensors at once, "
        "and noise that is made for others does not hide what a move shows. Write adc_step = "
        f'"{own}"'
        + f' and adc_behind = "{counts}"' * bool(behind)
        + " under [sensors], and enrol anew: that is another promise"
    )


def _read_word(file: Path, word: str) -> Any:
    """Return the step or number that a driver's text says in so many words, or None."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            for at, name in enumerate(names):
                if isinstance(name, ast.Name) and name.id == word:
                    try:
                        found = ast.literal_eval(node.value)
                    except ValueError:
                        return None
                    return found[at] if isinstance(target, ast.Tuple) else found
    return None


OTHERWISE = "Take another board, or say --replace"
ASKED = "as was asked"


def check_may_become(
    board: Board,
    held: BoardFile,
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
        OperatorFault: it may not. It stands still then: `resume_on_fault` has it go on.
    """
    found = modules.read_interpreter(board)
    brought = modules.choose_modules(board, found, own)[0] if files is None else files
    modules.check_board_loads(board, found, brought)
    check_noise_source_and_broker(board, found, held)
    if otherwise is not None:
        check_no_other_budget(board, held.identity.name, otherwise)


def check_noise_source_and_broker(board: Board, found: Interpreter, held: BoardFile) -> None:
    """Check that a board has what a device of this kind draws its noise from, and a broker.

    Raises:
        OperatorFault: it has not.
    """
    if not found.entropy and held.identity.mode == "sealed":
        raise OperatorFault(
            f"the firmware of {board.where} has no os.urandom, and a sealed device mixes its "
            "bytes into its noise, which the enrolling machine could repeat otherwise. Flash a "
            "firmware that has it, or enrol the device as keyholder"
        )
    check_broker_host(board, held.link["host"])


def check_broker_host(board: Board, host: str) -> None:
    """Check that a board could reach a broker of that name; the board is not asked.

    Raises:
        OperatorFault: it is the board itself.
    """
    if is_loopback(host) and not getattr(board, "here", False):
        raise OperatorFault(
            f"[mqtt] host is {host}, which on {board.where} means the board itself, so it would "
            "never reach the broker. Set it to the name or address of the broker on the board's "
            "network; if it is a broker of heatveil broker init, run that again, which adds the "
            "name to its certificate, and start broker, gateway and fleet again. `heatveil check` "
            "says whether all fit. Then run this again"
        )


def check_no_other_budget(board: Board, name: str, otherwise: str) -> None:
    """Check that a board holds no other device's budget, which would be forgotten.

    Args:
        otherwise: what to do about it.

    Raises:
        OperatorFault: it does.
    """
    if who := _find_other_device(board, name):
        raise OperatorFault(
            f"{board.where} holds the budget of {who}, the only record of what that device spent; "
            f"overwriting it would end that device for good. {otherwise}"
        )


def _find_other_device(board: Board, name: str) -> str:
    """Return whose budget a board holds; "" where it is nobody's, or this one's of former keys."""
    if not _has_slots(board):
        return ""
    try:
        there = state.read_board_state(board).name
    except BoardFault:
        there = ""
    return "" if there == name else there or "a device that cannot be read"


def _has_slots(board: Board) -> bool:
    names = [path.rpartition("/")[2] for path in bundle.SLOTS]
    return any(name in list_files(board, bundle.FOLDER) for name in names)


Say = Callable[[str], None]
NOBODYS = b"a chain key that no device has"


def try_sensor_with_config(board: Board, held: BoardFile, config: bytes) -> selftest.SensorTrial:
    """Return how a board's sensor is, from a config that is not in force yet.

    The config of the trial is a file of its own, which nothing reads but the look here: whatever
    cuts it off, a board starts with the one that it had, or not at all. What is left of it the
    next run writes over, and `still.resumed` removes.

    Where it was at work before, it is given all but its start. The config which says who it was is
    replaced as the last thing, so a run that was cut off finds it again.

    Raises:
        OperatorFault: something is wrong, and it is no device yet.
    """
    trial = make_temporary_name(bundle.CONFIG)
    copy_files(board, {trial: config})
    found = selftest.try_sensor(board, held.reads, trial)
    if found.wrong and not held.given and not has_been_device(board, held):
        remove_files(board, [trial])
        raise OperatorFault(
            f"the sensor of {board.where} does not answer as its settings say ({found.wrong}), so "
            f"{held.identity.name} was not finished there and does not start. Correct the wiring, "
            "or [driver] in its settings, and run this again"
        )
    return found


def try_sensor_before_keys(
    board: Board,
    would: BoardFile,
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
    if has_been_device(board, would):
        return
    boards.stop_board(board)
    own = own if own is not None else settings.read_board_settings(board)
    found = modules.read_interpreter(board)
    why = ASKED
    if files is None:
        files, why = modules.choose_modules(board, found, own)
    written = modules.install_modules(board, found, files, own)
    say(_describe_files(files, written, why))
    try_sensor_with_config(
        board, would._replace(chain=NOBODYS), settings.make_board_config(would, own)
    )
    remove_files(board, [make_temporary_name(bundle.CONFIG)])


def has_been_device(board: Board, held: BoardFile) -> bool:
    """Say whether a board has been this device before, under whatever keys."""
    try:
        there = state.read_board_state(board)
    except BoardFault as fault:
        if not fault.raised:
            raise
        return False  # there is no edge on it yet, or none that can say who it is
    who = held.identity
    return (there.site, there.name) == (who.site, who.name)


Owner = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Kit(NamedTuple):
    """What a board is to get.

    own: the operator's settings, None for those that it has. files: the modules of edge, None for
    this heatveil's in the way that it has them. otherwise: what to do where the board holds the
    budget of another device, None where that may end. marks: the deployment's devices file.
    owner: given what the board was told of releases over the air, returns what it is to be told;
    it keeps its own side of that, so it is asked once the board and its modules were found fit.
    None: as it is.
    """

    held: BoardFile
    own: dict[str, Any] | None
    files: dict[str, bytes] | None = None
    otherwise: str | None = OTHERWISE
    marks: Path | None = None
    owner: Owner | None = None


def provision_board(board: Board, kit: Kit, say: Say) -> tuple[state.BoardState, str]:
    """Return what the board holds in the end, and what is wrong with its sensor, "" for nothing.

    It was not started; where something is wrong it has no main.py, and does not start by itself.

    Raises:
        OperatorFault: it cannot be done, and why; what was done stays, and is not done again.
    """
    found = modules.read_interpreter(board)
    boards.stop_board(board)
    try:
        own = kit.own if kit.own is not None else settings.read_board_settings(board)
        files, why = kit.files, ASKED
        if files is None:
            files, why = modules.choose_modules(board, found, own)
        modules.check_board_loads(board, found, files)
        held = _bind(board, kit, own, found)
        if kit.otherwise is None and (ended := _find_other_device(board, held.identity.name)):
            say(f"ended        {ended}: its keys are worth nothing now. Remove it from the fleet")
        there = releases.read_update_settings(board, held.identity.key_id)
        if kit.owner is not None:
            modules.check_heap_for_releases(board, found)
        own = {**own, **(kit.owner(there or {}) if kit.owner else there or {})}
    except OperatorFault:
        with suppress(OperatorFault):
            boards.resume_board(board)  # what it was before, it is still
        raise
    say(
        f"interpreter  MicroPython {found.version} on {found.platform}, big integers, "
        f"{found.heap // 1024} KB of heap free, {modules.describe_module_form(found, files)}"
    )
    say(f"keys         of {held.identity.name}, which no other board can use from now on")

    # Also the one that was put aside: nobody may set it going with half of the modules new.
    remove_files(board, [bundle.MAIN, f"{bundle.MAIN[:-3]}.mpy", boards.ASIDE])
    written = modules.install_modules(board, found, files, own)
    say(_describe_files(files, written, why))
    passed = selftest.run_selftest(board, held.mechanism)
    say(
        f"self-test    frame {passed.digest}, the same on CPython; {passed.shows}; "
        f"{passed.heap // 1024} KB of heap left"
    )
    config = settings.make_board_config(held, own)
    tried = try_sensor_with_config(board, held, config)
    say(f"sensor       {tried.wrong or tried.how}")
    took = (
        None
        if tried.took_ms is None
        else BoardTimes(tried.took_ms, selftest.measure_slots_ms(board))
    )
    tick_ms = settings.choose_board_tick_ms(held, own, took)
    config = settings.make_board_config(held, own | {"tick_ms": tick_ms})
    here = f"its sensor took {took.sensor_ms} ms here, three slots {took.slots_ms}" if took else ""
    say(f"tick         {tick_ms} ms; {here or 'as reckoned, nothing was measured'}")
    held = _ensure_budget_slots(board, held, say)
    replace_file(board, bundle.CONFIG, config)
    say(f"config       {bundle.CONFIG}, read back")
    releases.remove_releases(board)  # what is on its flash now is what starts
    if "release" in own:
        say(f"releases     over the air, from its owner's number {own['release'] + 1} on")
    elif there is None:
        say(
            "releases     none over the air, under its new keys or config; where it is to take "
            "them, run this again with --updates FILE"
        )
    held = boardfile.erase_chain_key(held)
    say(f"handed over  {held.path.name} holds no chain key: no second board can come of it")
    seen = _check_keys(board, held)
    if tried.wrong:
        return seen, tried.wrong
    if seen.answers_at_risk:
        say(
            f"restart      costs up to {seen.answers_at_risk} answers, which it had paid for "
            "ahead to spare its flash; a board that works is best left alone"
        )
    starts = bundle.read_start_files()
    copy_files(board, starts)
    say(f"start        {', '.join(starts) or 'nothing: this heatveil has no main.py'}")
    say(
        f"ready        {seen.answers_left} answers left; the keys on the board are those that the "
        "gateway knows"
    )
    return seen, ""


def _describe_files(files: dict[str, bytes], written: list[str], why: str) -> str:
    if not files:
        return f"files        none on its flash: {why}"
    form = "compiled modules" if modules.find_mpy_version(files) else "sources"
    return (
        f"files        {len(files)}, {len(written)} of them written; every digest is right; "
        f"{form}, {why}"
    )


def _bind(board: Board, kit: Kit, own: dict[str, Any], found: Interpreter) -> BoardFile:
    """Return keys that are bound to this board; nothing there is changed yet."""
    settings.make_board_config(kit.held, own)  # what the board would refuse is refused now
    check_noise_source_and_broker(board, found, kit.held)
    if kit.otherwise is not None and not kit.held.chip:
        check_no_other_budget(board, kit.held.identity.name, kit.otherwise)
    return boardfile.bind_to_chip(kit.held, found.chip, kit.marks)


def _ensure_budget_slots(board: Board, held: BoardFile, say: Say) -> BoardFile:
    """Bring the slots to be there, once in the life of a key."""
    names, place, found = list_files(board, bundle.FOLDER), Ram(), []
    for i, path in enumerate(bundle.SLOTS):
        place.write(i, read_file(board, path) if path.rpartition("/")[2] in names else b"")
    key = held.identity.state_key
    bound = Bound(place, key, bytes.fromhex(held.chip))  # by which it is known there
    found = [budgets.unpack(bound.read(i), key) for i in range(COUNT)]
    if held.given:
        if len(found) - found.count(None) < 2:  # one alone may be an old copy
            raise OperatorFault(
                f"{board.where} has lost the budget of {held.identity.name}, the only record of "
                "what it spent, so its keys cannot be used again. Make new ones: heatveil rotate "
                f"{held.identity.name} --keys"
            )
        say("budget       there already, and left as it is")
        return held
    if any(record is not None and record.epoch > 0 for record in found):
        say("budget       there already, and begun: left as it is")
        return held
    for i, first in enumerate(held.make_first_slots()):
        bound.write(i, first)  # so that no other board begins with a copy of its flash
    # Frames of an older key, which nobody takes any more.
    remove_files(board, [f"{bundle.FOLDER}/{name}" for name in names])
    copy_files(board, {path: place.read(i) for i, path in enumerate(bundle.SLOTS)})
    pays = state.count_affordable_answers(held.limits, held.limits.budget)
    whole = state.describe_budget(held.mechanism, held.limits)
    say(f"budget       {COUNT} slots with {whole}, {pays} answers; read back")
    return held


def _check_keys(board: Board, held: BoardFile) -> state.BoardState:
    seen = state.read_board_state(board, held.identity.mac_key)
    if why := seen.config or seen.lost:
        raise OperatorFault(f"{board.where} cannot use what it was given: {why}")
    if not seen.ours or seen.key != held.identity.key_id.hex():
        raise OperatorFault(
            f"{board.where} has other keys than {held.identity.name} was enrolled with, so the "
            "gateway would refuse every frame of it. Run this again; if it happens again, flash "
            "MicroPython with an empty file system, and provision the board with new keys"
        )
    return seen
