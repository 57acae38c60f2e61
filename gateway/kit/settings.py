"""The one file that a board reads at its start: who it is, its keys, its sensor, its Wi-Fi.

Keys and link come from the enrolment; the rest from the operator's own file, TOML:

    tick_ms = 1000
    [driver]
    name = "ds18b20"
    pin = 4
    empty = 336
    [wifi]
    ssid = "..."
    password = "..."

Where the driver is `yours`, file = "mine.py" beside name is the one to be used; its path is taken
from where the settings are. It goes to the board as sensors/yours.py, and is not in its config.

It is held against the same reader that the board has, before anything is written there.
"""

import ast
import json
import tomllib
from pathlib import Path
from typing import Any

from edge.board import config

from ..faults import OperatorFault, suggestion, text_of
from .board import Board, BoardFault, get
from .boardfile import Held
from .parts import CONFIG

OWN = ("driver", "wifi", "tick_ms", "wake_s", "led")


def read(path: Path) -> dict[str, Any]:
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
                f"the settings {path} say {word!r}; who a device is, and its keys, come from its "
                f"enrolment alone, and all else is known by name; {suggestion(word, OWN)}"
            )
    driver = found.get("driver")
    if isinstance(driver, dict) and "file" in driver:
        driver["file"] = str(_driver(path.parent / str(driver["file"]), driver.get("name")))
    return found


def _driver(file: Path, name: Any) -> Path:
    """Return the file of a driver of one's own, known to be one."""
    if name != "yours":
        raise OperatorFault(
            f"the driver {name!r} has a file {file} in the settings; only one of your own has, "
            'and the others are here already. Write name = "yours", or leave file out'
        )
    text = text_of(file, "the driver", "it is what reads your sensor. Mend file under [driver]")
    try:
        tree = ast.parse(text)
    except SyntaxError as fault:
        raise OperatorFault(
            f"the driver {file} is no Python (line {fault.lineno}: {fault.msg}); a board would "
            "stop at it. Mend it"
        ) from None
    if not any(isinstance(node, ast.ClassDef) and node.name == "Sensor" for node in tree.body):
        raise OperatorFault(
            f"the driver {file} has no class Sensor; that is what a board looks for in it. Begin "
            "with a copy of edge/board/sensors/yours.py"
        )
    return file.resolve()


def of_board(board: Board) -> dict[str, Any]:
    """Return what a board has been told of itself, without keys and link.

    Raises:
        OperatorFault: it has nothing that can be read.
    """
    try:
        body = json.loads(get(board, CONFIG))
        return {word: body[word] for word in OWN if word in body}
    except (BoardFault, ValueError, TypeError) as fault:
        if isinstance(fault, BoardFault) and not fault.raised:
            raise
        raise OperatorFault(
            f"{board.where} has no {CONFIG} that can be read; it would say which sensor and which "
            "Wi-Fi it has, and nothing else does. Write both into a file of TOML, [driver] and "
            "[wifi], and name it with --settings"
        ) from None


def made(held: Held, own: dict[str, Any]) -> bytes:
    """Return the bytes of a board's file.

    Raises:
        OperatorFault: the board would refuse it.
    """
    who = held.identity._asdict()
    body: dict[str, Any] = {
        key: item.hex() if isinstance(item, bytes) else item for key, item in who.items()
    }
    body |= {"link": held.link, **own} | ({"tables": True} if held.tables else {})
    if isinstance(driver := body.get("driver"), dict):
        body["driver"] = {key: item for key, item in driver.items() if key != "file"}
    try:
        config.checked(body, "what the board is to be told")
    except ValueError as fault:
        raise OperatorFault(str(fault)) from None
    return config.packed(body)
