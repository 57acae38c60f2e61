"""Which files a board is given: all of edge but what only hosts and computers need."""

from pathlib import Path

import edge

from ..faults import OperatorFault

HOST = ("host", "linux", "manifest.py")  # of edge, and no board loads it
MAIN, BOOT = "main.py", "boot.py"
CONFIG = "heatveil.json"
FOLDER = "heatveil"
SLOTS = ("heatveil/budget.0", "heatveil/budget.1")
RELEASED = (".mpy", ".py", ".txt")  # bytecode, what only a board can compile, and sentences


def sources() -> dict[str, bytes]:
    """Return the modules of edge by their path on a board."""
    root = Path(str(edge.__file__)).parent
    found = {}
    for file in sorted(root.rglob("*.py")):
        inside = file.relative_to(root)
        if inside.parts[0] not in HOST and inside.as_posix() not in _STARTS:
            found[f"edge/{inside.as_posix()}"] = file.read_bytes()
    return found


def compiled(folder: Path) -> dict[str, bytes]:
    """Return what `make edge` compiled, by its path on a board.

    Raises:
        OperatorFault: there is nothing, or it is of other sources than these.
    """
    found = {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*.*"))
        if file.suffix in RELEASED
    }
    found = {path if path.startswith("edge/") else f"edge/{path}": found[path] for path in found}
    missing = sorted(
        path
        for path in sources()
        if not {path, path.replace(".py", ".mpy")} & set(found) and _core(path)
    )
    if missing:
        raise OperatorFault(
            f"{folder} has no {missing[0].replace('.py', '.mpy')}, and {len(missing)} are missing "
            "in all; a board needs every module, or it stops at its start. Make them: make edge"
        )
    return found


def starts() -> dict[str, bytes]:
    """Return what a board starts with, to be written last: before, it must not start."""
    root = Path(str(edge.__file__)).parent
    return {
        Path(name).name: (root / name).read_bytes() for name in _STARTS if (root / name).exists()
    }


_STARTS = ("board/boot.py", "board/main.py")


def _core(path: str) -> bool:
    return path.count("/") == 1 and not path.endswith("__init__.py")
