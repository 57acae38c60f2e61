"""What is wrong with the files of a board: those of edge, those that it starts with, and others.

Each is a sentence with what to do. That nothing is wrong is an empty list.
"""

import hashlib
from typing import Any

from ...faults import OperatorFault
from . import modules, parts, still
from .board import Board, digests, listed

LEAST_FREE = 16 * 1024  # bytes of flash: three slots of a budget, a config, and each once more
CONSOLES = ("webrepl_cfg.py", "webrepl_cfg.mpy")  # with it, whoever has the Wi-Fi has the board


def of_modules(board: Board) -> tuple[dict[str, Any], list[str]]:
    """Return what the board has of edge, and what is wrong with it."""
    names = {
        f"{folder}/{name}" for folder in parts.FOLDERS for name in listed(board, folder)
    } - set(parts.FOLDERS)
    compiled = "edge/node.mpy" in names and "edge/node.py" not in names
    told: dict[str, Any] = {"modules": len(names), "compiled": compiled, "other": []}
    if not names:
        return told, ["nothing of heatveil is on it; make it a device: heatveil provision NAME"]
    try:
        ours = modules.compiled() if compiled else parts.sources()
    except OperatorFault as fault:
        told["unchecked"] = str(fault)
        return told, []
    ours = {path: data for path, data in ours.items() if not path.startswith(parts.YOURS[:-2])}
    right = {path: hashlib.sha256(data).hexdigest() for path, data in ours.items()}
    there = digests(board, right)
    told["other"] = sorted(path for path in right if there.get(path) != right[path])
    if not told["other"]:
        return told, []
    missing = [path for path in told["other"] if path not in there]
    how = f"{len(missing)} of them missing" if missing else "none is missing"
    return told, [
        f"{len(told['other'])} of its files are not this heatveil's ({told['other'][0]}, ...; "
        f"{how}): older, or spoilt, and then its noise may be another. heatveil provision "
        "renews them, and touches no budget"
    ]


def of_start(board: Board, stopped: bool, lost: bool = False) -> list[str]:
    """Return what is wrong with what a board starts with.

    Args:
        stopped: its main.py was there, and was put aside for this look.
        lost: its budget is, so that only new keys can bring it to its end.
    """
    main = still.ASIDE if stopped else parts.MAIN
    names, right = listed(board, "."), parts.starts()
    wanted = {path: hashlib.sha256(data).hexdigest() for path, data in right.items()}
    there, found = digests(board, [parts.BOOT, main]), []
    if still.ASIDE in names and not stopped and parts.MAIN not in names:
        found.append(
            "its main.py had been put aside by a command that was cut off, so it was silent; it "
            "is set going again now. Look once more: heatveil doctor"
        )
    elif main not in names:
        found.append(
            "it has no main.py, so it does not start by itself: its provisioning was cut off, or "
            f"somebody took it. Finish it: heatveil {'rotate --keys' if lost else 'provision'}"
        )
    elif there.get(main) != wanted[parts.MAIN]:
        found.append(
            "its main.py is not heatveil's, so what it does at its start nobody here knows. Have "
            "yours written over: heatveil provision"
        )
    if there.get(parts.BOOT) != wanted[parts.BOOT]:
        how = "is not heatveil's" if parts.BOOT in names else "is missing"
        found.append(
            f"its boot.py {how}; ours keeps the heap whole and the vendor's console quiet, and "
            "starts nothing on the network. heatveil provision writes it"
        )
    if open_to := [name for name in CONSOLES if name in names]:
        found.append(
            f"it has {open_to[0]}: a console over the network, by which whoever knows its "
            "password reads the sensor itself. Remove it: mpremote rm :" + open_to[0]
        )
    return found


def of_flash(free: int) -> list[str]:
    """Return what is wrong with so many bytes of free flash; -1 for not known."""
    if not 0 <= free < LEAST_FREE:
        return []
    return [
        f"its flash has {free // 1024} KB free and {LEAST_FREE // 1024} KB are needed, or its "
        "budget cannot be written and it answers nothing. Remove what is not heatveil's: "
        "mpremote ls, then mpremote rm"
    ]
