"""The one file that a board reads at its start: who it is, its keys, its sensor, its Wi-Fi.

Keys and link come from the enrolment; the rest from the operator's own file, TOML:

    wake_s = 600
    [driver]
    name = "ds18b20"
    pin = 4
    empty = 336
    recorded_s = 1795500000
    [wifi]
    ssid = "..."
    password = "..."

Where the driver is `yours`, file = "mine.py" beside name is the one to be used; its path is taken
from where the settings are. It goes to the board as sensors/yours.py, and is not in its config.

It is held against the same reader that the board has, before anything is written there. Its tick
(`tick_ms`) is as long as an answer needs, by the figures and by what is measured on the board; who
says one may say a longer one.
"""

import ast
import math
import tomllib
from pathlib import Path
from typing import Any

from edge.board import config, drivers
from edge.core.entropy import Tape
from edge.core.wire import topic
from edge.host.enrol import ASKED
from edge.mechanisms import module_of
from edge.mechanisms.secure_sum import read_roster

from ...faults import OperatorFault, read_small_file, suggest_name
from ...mechanisms import find_mechanism
from ..bundle import CONFIG
from . import needs, siting
from .boardfile import BoardFile
from .boards import Board, BoardFault, read_file
from .needs import DevicePlan

TRIALS = 16  # of the noise of a sum, of which the longest counts
OWN = ("driver", "wifi", "tick_ms", "wake_s", "led")
WIFI = dict.fromkeys(("ssid", "password", "country"), str)
TABLES: dict[str, dict[str, Any]] = {"driver": {**config.DRIVER, "file": str}, "wifi": WIFI}
KINDS = {int: "a whole number, without quotes", list: "a list in brackets", str: "text in quotes"}
DRIVERS = [*drivers.NAMES, *siting.PLACES]


def read_settings_file(path: Path) -> dict[str, Any]:
    """Return what the operator says of a board.

    Raises:
        OperatorFault: it cannot be read, or says what only an enrolment may say.
    """
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or str(fault)
        raise OperatorFault(
            f"the settings {path} cannot be read ({why}); they say which sensor the board has. "
            "Write them as TOML, with a table [driver]"
        ) from fault
    for word in found:
        if word not in OWN:
            raise OperatorFault(
                f"the settings {path} have an unknown key {word!r}; a device's name and keys come "
                f"from its enrolment alone; {suggest_name(word, OWN)}"
            )
    _check(found, f"the settings {path}")
    wifi = found.get("wifi")
    password = wifi.get("password") if isinstance(wifi, dict) else None
    if password is not None and not 8 <= len(password.encode()) <= 64:
        raise OperatorFault(
            f"the settings {path} have a password under [wifi] of {len(password.encode())} bytes; "
            "that of a Wi-Fi (WPA) has 8 to 63 characters, so the board could not join. Correct it"
        )
    driver = found.get("driver")
    if isinstance(driver, dict) and "file" in driver:
        driver["file"] = str(
            _check_own_driver(path.parent / str(driver["file"]), driver.get("name"))
        )
    return found


def _check(own: dict[str, Any], called: str) -> None:
    """Check the words of the tables, and that a board has the driver."""
    for table, words in TABLES.items():
        said = own.get(table)
        for word, value in said.items() if isinstance(said, dict) else ():
            if word not in words:
                above = "it belongs above [driver] and [wifi], at the head of the file"
                raise OperatorFault(
                    f"{called} have an unknown key {word!r} under [{table}], which a board would "
                    f"ignore; {above if word in OWN else suggest_name(word, words)}"
                )
            kind = words[word]
            if not isinstance(value, kind) or isinstance(value, bool):
                needed = KINDS.get(kind, "a whole number, or a list of them in brackets")
                raise OperatorFault(  # without what stands there: it may be a password
                    f"{word} under [{table}] in {called} must be {needed}; it is something else, "
                    "with which the board would not start. Correct it there"
                )
    driver = own.get("driver")
    name = driver.get("name") if isinstance(driver, dict) else None
    if not isinstance(name, str) or name in DRIVERS:
        return  # what is no name at all, the board's own reader says
    raise OperatorFault(
        f"{called} name the driver {name!r}, which a board does not have; "
        f"{suggest_name(name, DRIVERS)}"
    )


def _check_own_driver(file: Path, name: Any) -> Path:
    """Return the file of a driver of one's own, known to be one."""
    if name != "yours":
        raise OperatorFault(
            f"the settings name a file {file} for the driver {name!r}, which is built in; only a "
            'driver of your own has a file. Write name = "yours", or leave file out'
        )
    text = read_small_file(
        file, "the driver", "it is what reads your sensor. Mend file under [driver]"
    )
    try:
        tree = ast.parse(text)
    except SyntaxError as fault:
        raise OperatorFault(
            f"the driver {file} is not valid Python (line {fault.lineno}: {fault.msg}); a board "
            "would stop at it. Mend it"
        ) from None
    if not any(isinstance(node, ast.ClassDef) and node.name == "Sensor" for node in tree.body):
        raise OperatorFault(
            f"the driver {file} has no class Sensor; that is what a board looks for in it. Begin "
            "with a copy of edge/board/sensors/yours.py"
        )
    return file.resolve()


def read_board_settings(board: Board) -> dict[str, Any]:
    """Return what a board has been told of itself, without keys and link.

    Raises:
        OperatorFault: it has nothing that can be relied on.
    """
    try:
        body = config.unpack(read_file(board, CONFIG), CONFIG)
    except (BoardFault, ValueError) as fault:
        if isinstance(fault, BoardFault) and not fault.raised:
            raise
        absent = isinstance(fault, BoardFault)
        why = f"{CONFIG} cannot be read" if absent else str(fault).partition(";")[0]
        raise OperatorFault(
            f"the sensor and Wi-Fi settings of {board.where} cannot be read from it ({why}), and "
            "they are kept nowhere else. Write both into a TOML file, [driver] and [wifi], and "
            "name it with --settings"
        ) from None
    own = {word: body[word] for word in OWN if word in body}
    _check(own, f"the words of {CONFIG} on {board.where}")
    return own


def choose_board_tick_ms(
    held: BoardFile, own: dict[str, Any], took: needs.BoardTimes | None = None
) -> int:
    """Return the tick of a board with these settings: theirs, or a longer one if it needs that.

    Args:
        took: what was measured there.
    """
    plan, most_s = _plan(held, own), config.TICK_MOST // 1000
    needed_ms, tick_ms = needs.choose_tick_ms(plan, took), own.get("tick_ms", 0)
    if needed_ms > config.TICK_MOST:
        cure = "enrol with fewer devices in a shard" if plan.neighbours else "use a faster sensor"
        raise OperatorFault(
            f"an answer of {held.identity.name} may take {needed_ms / 2000:.0f} s, to read its "
            "sensor, write its budget, draw its noise and agree on keys; a tick must be twice as "
            f"long, and is {most_s} s at most. Its board would miss every tick: {cure}"
        )
    if tick_ms > config.TICK_MOST:
        raise OperatorFault(
            f"tick_ms of the settings is {tick_ms}, but a tick is {most_s} s at most, and the "
            f"board would not start. Write less, or leave tick_ms out: it is then {needed_ms}"
        )
    return max(tick_ms, needed_ms)


def check_tick(held: BoardFile, own: dict[str, Any]) -> None:
    """Check that the operator's tick is long enough for an answer, if there is one.

    Raises:
        OperatorFault: it is shorter.
    """
    plan = _plan(held, own)
    tick_ms, needed_ms = own.get("tick_ms"), needs.choose_tick_ms(plan)
    if tick_ms is not None and tick_ms < needed_ms:
        raise OperatorFault(
            f"tick_ms of the settings is {tick_ms}, but {held.identity.name} takes up to "
            f"{needs.estimate_answer_ms(plan):.0f} ms to read its sensor, write its budget and "
            "draw its noise. A frame that misses its tick leaves a tick later, and its delay "
            f"reveals something of the noise. Leave tick_ms out: it is then {needed_ms}, twice as "
            "long as an answer, or what is measured on the board"
        )


def check_sum_tick(held: BoardFile, own: dict[str, Any], asked: Any) -> None:
    """Check that a board's tick holds the noise of the secure sums that its deployment asks for.

    Raises:
        OperatorFault: the sum has too many squares, or too much noise.
    """
    if not hasattr(held.identity, "roster"):
        return
    half = module_of(held.mechanism)
    streams = [_Counting(Tape(bytes([nth]))) for nth in range(TRIALS)]
    for one in streams:
        half.draw_noise(asked, one)
    mechanism = find_mechanism(held.mechanism)
    first = mechanism.vector_length(asked)
    numbers = max(first, mechanism.vector_most(asked) if mechanism.vector_most else 0)
    draws = math.ceil(max(one.drawn for one in streams) / first * numbers)
    needed_ms = needs.choose_sum_tick_ms(_plan(held, own), draws, numbers)
    tick_ms = choose_board_tick_ms(held, own)
    if tick_ms < needed_ms:
        more = f"set tick_ms = {needed_ms} in the settings, or " * (needed_ms <= config.TICK_MOST)
        raise OperatorFault(
            f"the board of {held.identity.name} draws the noise of up to {numbers} numbers for a "
            f"sum, which needs a tick of {needed_ms} ms, as measured on an RP2040; tick_ms is "
            f"{tick_ms}. A frame that misses its tick reveals how long the draw took. Ask for "
            f"fewer squares or a larger epsilon, {more}keep this device virtual"
        )


class _Counting:
    """A stream of noise that counts what is drawn from it, for time goes in proportion to that."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.drawn = stream, 0

    def below(self, n: int) -> int:
        self.drawn += 1
        return int(self._stream.below(n))


def _plan(held: BoardFile, own: dict[str, Any]) -> DevicePlan:
    count, limits = held.identity.sensors, held.limits
    plan = needs.plan_device(held.mechanism, own["driver"]["name"], count, limits)
    who: Any = held.identity
    if not hasattr(who, "roster"):
        return plan
    roster = read_roster(who.roster, who.roster_key, topic(who.site, who.name, "roster"))
    return plan._replace(neighbours=roster.k)


def make_board_config(held: BoardFile, own: dict[str, Any]) -> bytes:
    """Return the bytes of a board's file; its tick is long enough, whatever the settings say.

    Raises:
        OperatorFault: the board would refuse it.
    """
    who = held.identity._asdict()
    body: dict[str, Any] = {
        key: item.hex() if isinstance(item, bytes) else item for key, item in who.items()
    }
    asked = {word: said for word, said in held.more.items() if word in ASKED}
    body |= {"link": held.link, **own, **asked}
    if isinstance(driver := body.get("driver"), dict):
        body["driver"] = {key: item for key, item in driver.items() if key != "file"}
    what = "what the board is to be told"
    try:
        told = config.check(body, what)
        body["tick_ms"] = choose_board_tick_ms(held, own)
        config.check(body, what)
    except ValueError as fault:
        raise OperatorFault(str(fault)) from None
    siting.check_driver(told, held)
    return config.pack(body)
