"""The modules on a board: brought there, and those gone that would be taken in their place.

A Python looks for a .py before a .mpy, so what is left of another way of installing would win; and
what no heatveil has any more only takes flash. The folder edge is ours alone, but for a driver of
the owner's own.
"""

from pathlib import Path
from typing import Any

from ...faults import OperatorFault
from . import parts
from .board import Board, listed, remove
from .copying import copied
from .figures import heap_kb
from .interpreter import Found
from .parts import YOURS

COMPILED = f"{YOURS[:-3]}.mpy"


def wanted(board: Board, files: dict[str, bytes], own: dict[str, Any]) -> dict[str, bytes]:
    """Return the files that a board is to have: with its owner's driver instead of our template.

    Args:
        own: the operator's settings; `file` under driver is the driver, else what the board has.
    """
    driver = own.get("driver", {})
    if driver.get("name") != "yours":
        return files
    left = {path: data for path, data in files.items() if path not in (YOURS, COMPILED)}
    if "file" in driver:
        return left | {YOURS: Path(driver["file"]).read_bytes()}
    folder, _, name = YOURS.rpartition("/")
    if name in listed(board, folder):
        return left  # brought by its owner, and nobody else has it
    return files


def usual(board: Board) -> dict[str, bytes]:
    """Return the modules of edge in the way that a board has them; sources for a bare one.

    Raises:
        OperatorFault: it has compiled ones, and there is no compiler here.
    """
    names = listed(board, parts.FOLDERS[0])
    if "node.mpy" in names and "node.py" not in names:
        return compiled()
    return parts.sources()


def compiled() -> dict[str, bytes]:
    """Return the modules of edge, compiled now.

    Raises:
        OperatorFault: there is no compiler.
    """
    from ..build.release import built

    return built(parts.sources())


def brought(board: Board, files: dict[str, bytes], own: dict[str, Any]) -> list[str]:
    """Bring a board to have these modules and no others of edge; return those that were written.

    Raises:
        BoardFault: its flash is full, or does not hold what was written to it.
    """
    held = wanted(board, files, own)
    kept = {*held, *([] if {YOURS, COMPILED} & {*held} else [YOURS])}
    there = [
        f"{folder}/{name}"
        for folder in parts.FOLDERS
        for name in listed(board, folder)
        if f"{folder}/{name}" not in parts.FOLDERS
    ]
    remove(board, [path for path in there if path not in kept])
    return copied(board, held)


def check_loads(board: Board, found: Found, files: dict[str, bytes]) -> None:
    """Raise OperatorFault where a board's MicroPython or its memory does not load these files."""
    compiled = "edge/node.mpy" in files
    needed = heap_kb(compiled) * 1024
    if found.heap < needed:
        more = "" if compiled else "Provision it with --mpy, which takes less. "
        raise OperatorFault(
            f"{board.where} has {found.heap // 1024} KB of heap free and {needed / 1024:.0f} KB "
            f"are needed, or it stops in the middle of its start. {more}Else take a board with "
            "more, or a firmware without what you do not use"
        )
    for path, data in files.items():
        if path.endswith(".mpy") and data[1] != found.mpy:
            takes = f"version {found.mpy}" if found.mpy else "none"
            raise OperatorFault(
                f"{board.where} loads .mpy of {takes} and {path} is of version {data[1]}; it "
                "would stop at its first module. Provision it without --mpy, or flash a "
                "MicroPython of this year"
            )
