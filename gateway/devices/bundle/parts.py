"""Which files a board is given: all of edge but what only hosts and computers need."""

from pathlib import Path

import edge
from edge.slots import COUNT

from ...faults import OperatorFault

HOST = ("host", "linux", "manifest.py")  # of edge, and no board loads it
MAIN, BOOT = "main.py", "boot.py"
CONFIG = "heatveil.json"
FOLDER = "heatveil"
SLOTS = tuple(f"heatveil/budget.{i}" for i in range(COUNT))
FOLDERS = ("edge", "edge/board", "edge/board/sensors", "edge/mechanisms")
YOURS = "edge/board/sensors/yours.py"  # where a driver of one's own goes
RELEASED = (".mpy", ".py", ".txt")  # bytecode, what only a board can compile, and sentences


def read_sources() -> dict[str, bytes]:
    """Return the modules of edge by their path on a board."""
    root = Path(str(edge.__file__)).parent
    found = {}
    for file in sorted(root.rglob("*.py")):
        inside = file.relative_to(root)
        if inside.parts[0] not in HOST and inside.as_posix() not in _STARTS:
            found[f"edge/{inside.as_posix()}"] = file.read_bytes()
    return found


def read_compiled(folder: Path) -> dict[str, bytes]:
    """Return what `make edge` made, by its path on a board.

    Raises:
        OperatorFault: there is nothing, or it is of other sources than these.
    """
    found = {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted((folder / "edge").rglob("*"))
        if file.is_file()
    }
    missing = [path for path in read_sources() if not {path, f"{path[:-3]}.mpy"} & set(found)]
    if missing:
        raise OperatorFault(
            f"{folder} has no {missing[0][:-3]}.mpy, and {len(missing)} modules are missing in "
            "all; a board needs every one, or it stops at its start. Make them: make edge"
        )
    return found


def read_starts() -> dict[str, bytes]:
    """Return what a board starts with, to be written last: before, it must not start."""
    root = Path(str(edge.__file__)).parent
    return {
        Path(name).name: (root / name).read_bytes() for name in _STARTS if (root / name).exists()
    }


_STARTS = ("board/boot.py", "board/main.py")
