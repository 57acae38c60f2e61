"""Whether a board may become a device: checked before there are keys for it, or old ones end.

A device that is enrolled and cannot be finished has taken a sensor of the room, and one whose keys
ended for the wrong board is silent on its wall. So what can be known is known before: settings,
steps and number of the sensors; that its chip has the serial line; that it will answer the Round
that its deployment asks first; that the board is there, runs edge, and whose budget it holds.

Source: Raspberry Pi, datasheets of RP2040 and RP2350, GPIO functions of bank 0; MicroPython,
ports/rp2/machine_uart.c. Espressif, ESP-IDF, soc_caps.h of the ESP32, and its datasheet for the
pins of the flash; MicroPython, ports/esp32/machine_uart.c, for line 0, which is its prompt.
"""

import ast
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from edge import disk_half, refusals
from edge.board import drivers
from edge.records import SealedRound
from edge.wire import KEY_BYTES

from ...faults import OperatorFault
from ...loopback import is_loopback
from ...service.ledger import paid_at_release
from ...settings.deployment import Deployment
from .. import bundle
from . import interpreter, modules, state
from .boardfile import Held
from .boards import Board, BoardFault, list_files
from .interpreter import Interpreter

READ = ("gps", "yours")  # the drivers that may be at a serial line


class Lines(NamedTuple):
    """The serial lines of a chip. pins(word, line): what tx or rx of that line can be.

    why: why there is not another one, where one would look for it.
    """

    numbers: tuple[int, ...]
    pins: Callable[[str, int], tuple[int, ...]]
    why: str = ""


def _pico(count: int, step: int) -> Callable[[str, int], tuple[int, ...]]:
    """Return the pins of a chip whose lines have one in `step` for tx, and the next for rx."""

    def pins(word: str, line: int) -> tuple[int, ...]:
        own = [pin for pin in range(count) if (pin + 4) // 8 % 2 == line]
        return tuple(pin for pin in own if pin % step == (word == "rx"))

    return pins


def _esp32(word: str, line: int) -> tuple[int, ...]:
    """Return all but those of the prompt (1, 3) and the flash (6 to 11); 34 to 39 only hear."""
    both = (0, 2, 4, 5, *range(12, 24), 25, 26, 27, 32, 33)
    return both if word == "tx" else (*both, *range(34, 40))


CHIPS: Mapping[str, Lines] = {
    "RP2040": Lines((0, 1), _pico(30, 4)),
    "RP2350": Lines((0, 1), _pico(48, 2)),
    "ESP32": Lines((1, 2), _esp32, "; 0 is the cable's, by which it is provisioned"),
}


def check_line(found: Interpreter, own: Mapping[str, Any]) -> None:
    """Check that a board has the serial line that its settings name.

    Raises:
        OperatorFault: its chip has none of that number, or none on those pins.
    """
    driver, lines = own.get("driver"), CHIPS.get(found.kind)
    if lines is None or not isinstance(driver, dict) or driver.get("name") not in READ:
        return
    line = driver.get("uart")
    if line is None:
        return  # it is at a bus or a pin, or the config's own reader says what is missing
    said = f"the driver {driver['name']} of the settings has uart = {line}"
    if line not in lines.numbers:
        raise OperatorFault(
            f"{said} and an {found.kind} has {' and '.join(map(str, lines.numbers))} for a sensor"
            f"{lines.why}; what is wired to another is never heard. Mend it under [driver], with "
            "tx and rx of that line, as under the picture in edge/README.md"
        )
    for word in ("tx", "rx"):
        pin, those = driver.get(word), lines.pins(word, line)
        if pin is not None and pin not in those:
            raise OperatorFault(
                f"{said} with {word} = {pin}, and an {found.kind} has that {word} on "
                f"{_listed(those)} alone; another pin is never that, or it is the flash's, or the "
                "prompt's. Wire it to one of these, and name that under [driver]: as under the "
                "picture in edge/README.md"
            )


def _listed(pins: tuple[int, ...]) -> str:
    """Return numbers in rising order as one says them.

    >>> _listed((0, 2, 4, 5, 12, 13, 14))
    '0, 2, 4, 5, 12 to 14'
    """
    runs: list[list[int]] = []
    for pin in pins:
        if runs and runs[-1][-1] == pin - 1:
            runs[-1].append(pin)
        else:
            runs.append([pin])
    return ", ".join(
        f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )


def find_step(own: dict[str, Any]) -> Any:
    """Return the step of the driver that a board is told of, (num, den) of a kelvin, if known."""
    driver = own.get("driver")
    name = driver.get("name") if isinstance(driver, dict) else None
    if name not in drivers.NAMES:
        return None  # which the config's own reader says
    if name != "yours":
        return drivers.kind(name).step
    return _said(Path(driver["file"]), "step") if driver and "file" in driver else None


def find_count(own: dict[str, Any]) -> int | None:
    """Return how many sensors the driver reads that a board is told of, if that can be known."""
    driver = own.get("driver")
    if not isinstance(driver, dict) or driver.get("name") not in drivers.NAMES:
        return None
    if driver["name"] == "yours":
        found = _said(Path(driver["file"]), "sensors") if "file" in driver else None
    elif isinstance(roms := driver.get("roms"), list):
        found = len(roms)
    else:
        found = getattr(drivers.kind(driver["name"]), "sensors", None)  # none: what is on the wire
    return found if isinstance(found, int) else None


def check_count(own: dict[str, Any], held: Held) -> None:
    """Check that a driver reads as many sensors as its device stands for.

    Raises:
        OperatorFault: it reads more, or fewer.
    """
    count, who = find_count(own) if held.reads == "temperature" else 1, held.identity
    if count is not None and count != who.sensors:
        raise OperatorFault(
            f"the driver {own['driver']['name']} of the settings reads {count} sensors and "
            f"{who.name} is to have {who.sensors}; each reading has one place in the room, and "
            f"another number is never sent. Say --sensors {count} when it is enrolled, or name "
            "the driver of what is wired to it"
        )


def check_device(deployment: Deployment, asked: Any, board: Held, step: Any) -> None:
    """Check that a device would answer a Round of its deployment.

    Args:
        asked: the Round that the deployment asks first.
        step: of its driver; None where it is not known, which is not checked then.

    Raises:
        OperatorFault: it would refuse, and what to do.
    """
    who, held = board.identity, board.limits
    newest, may = asked.number - 1, (board.tables, None)

    def objection(step: Any) -> str:
        if board.mechanism != asked.mechanism:
            return f"it asks for {asked.mechanism}, and the device has {board.mechanism}"
        if board.reads == "temperature":
            return str(refusals.objection(asked, who, held, newest, step, may))
        half, _ = disk_half.half(board.mechanism, who, None, None, False)
        keyed = paid_at_release(asked.guarantee)
        shown = SealedRound(*(*asked, bytes(KEY_BYTES))) if keyed else asked
        return str(half.objection(shown, who, held, newest))

    if step is not None and objection(step):
        planned = deployment.sensors.adc_step
        told = "no adc_step" if planned is None else f"adc_step {Fraction(*planned)}"
        if not objection(None):
            raise OperatorFault(
                f"its driver counts in steps of {Fraction(*step)} K and the deployment was "
                f"planned with {told}; it would refuse every round, for a step flips on all "
                "sensors at once and the noise must be made for it. Write adc_step = "
                f'"{Fraction(*step)}" under [sensors], and enrol anew: that is another promise'
            )
    if why := objection(None):
        raise OperatorFault(
            f"{who.name} would refuse every round of this deployment: {why}. It was enrolled for "
            "another one; give it new keys under this: heatveil rotate --keys"
        )


def _said(file: Path, word: str) -> Any:
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


def check_board(
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
        OperatorFault: it may not. It stands still then: `resume_on_fault` has it go on.
    """
    found = interpreter.examine(board)
    brought = modules.choose_modules(board) if files is None else files
    modules.check_loads(board, found, brought)
    check_way(board, found, held, own)
    if otherwise is not None:
        check_free(board, held.identity.name, otherwise)


def check_way(board: Board, found: Interpreter, held: Held, own: dict[str, Any]) -> None:
    """Check that a board has what a device of this kind draws its noise from, a line, a broker.

    Raises:
        OperatorFault: it has not.
    """
    check_line(found, own)
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
        there = state.read_state(board)
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
    names = [path.rpartition("/")[2] for path in bundle.SLOTS]
    return any(name in list_files(board, bundle.FOLDER) for name in names)
