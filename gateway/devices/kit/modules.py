"""The modules on a board: brought there, those that are stale removed, and all of them checked.

A Python looks for a .py before a .mpy, so what is left of another way of installing would win; and
what no heatveil has any more only takes flash. The folder edge is ours alone, but for a driver of
the owner's own. A check returns sentences with what to do; an empty list is that nothing is wrong.

Which Python is on a board, and whether edge can run on it.
"""

import hashlib
import math
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ...faults import OperatorFault
from .. import bundle
from ..bundle import YOURS
from . import boards
from .boards import Board, BoardFault, copy_files, hash_files, list_files, read_file, remove_files
from .needs import find_least_heap_kb

LEAST = (1, 22)
HEAP = 40 * 1024  # bytes free below which nobody need try; what is needed `figures` says

# Each line by itself, so that a board which lacks one thing can still say the others. A product
# that is too large for one word must come out whole, which integers of 64 bits do not give.
_ASK = """
import sys
print("python", sys.implementation[0])
print("version", ".".join([str(n) for n in sys.implementation[1][:3]]))
try:
    print("whole", (1 << 70) >> 69 == 2 and (1 << 63) * 3 == 27670116110564327424)
except Exception as why:
    print("whole", False)
try:
    import hashlib
    print("sha256", hashlib.sha256(b"abc").digest()[:2] == bytes([0xba, 0x78]))
except Exception as why:
    print("sha256", False)
import gc
gc.collect()
print("heap", gc.mem_free())
import binascii
try:
    import machine
    print("chip", binascii.hexlify(machine.unique_id()).decode())
except Exception as why:
    print("chip")
try:
    import os
    print("entropy", len(os.urandom(16)) == 16)
except Exception as why:
    print("entropy", False)
try:
    import asyncio
    print("asyncio", True)
except Exception as why:
    print("asyncio", False)
try:
    import time
    print("clock", time.gmtime()[0])
except Exception as why:
    print("clock", 0)
try:
    import os, vfs
    try:
        other = [name for name in os.listdir("/rom") if name != "edge"]
    except OSError:
        other = []
    print("rom", 0 if other else len(memoryview(vfs.rom_ioctl(2, 0))))
except Exception as why:
    print("rom", 0)
try:
    import heatveil_frozen
    print("frozen", heatveil_frozen.DIGEST)
except ImportError:
    print("frozen")
print("platform", sys.platform)
print("mpy", getattr(sys.implementation, "_mpy", 0) & 255)
"""


class Interpreter(NamedTuple):
    """What a board says of itself.

    heap in bytes, before edge is loaded. clock: its year. mpy: which .mpy it loads, 0 for none.
    rom: bytes of its ROMFS partition; 0 where there is none, or it holds something of others.
    frozen: digest of the edge that is in its firmware, "" where none is.
    """

    version: str
    platform: str
    chip: str
    heap: int
    entropy: bool
    clock: int
    mpy: int
    rom: int
    frozen: str


def read_interpreter(board: Board) -> Interpreter:
    """Return what a board's Python is.

    Raises:
        OperatorFault: edge cannot run there, and why.
    """
    try:
        printed = board.run(_ASK)
    except BoardFault as fault:
        if fault.raised:
            raise _make_firmware_fault(board, f"it stopped with {fault.raised}") from fault
        raise
    said = boards.parse_lines(printed)
    if said.get("python") != "micropython" or "version" not in said:
        raise _make_firmware_fault(board, f"it is {said.get('python', 'no Python')!r}")
    version = tuple(int(part) for part in said["version"].split(".")[:2])
    if version < LEAST:
        raise _make_firmware_fault(board, f"it is MicroPython {said['version']}")
    if said.get("whole") != "True":
        raise OperatorFault(
            f"the Python on {board.where} has no big integers; exact noise needs them, and "
            "would be wrong now and then without anybody noticing. Flash a firmware that is built "
            "with MICROPY_LONGINT_IMPL_MPZ, as the usual ones are"
        )
    for what, why in (("sha256", "every key and MAC"), ("asyncio", "the link to the broker")):
        if said.get(what) != "True":
            raise _make_firmware_fault(board, f"it has no {what}, on which {why} rests")
    if int(said["heap"]) < HEAP:
        raise OperatorFault(
            f"{board.where} has {int(said['heap']) // 1024} KB of heap free but needs at least "
            f"{HEAP // 1024} KB, or it runs out of memory while it starts. Take a board with "
            "more, or free some: no other main.py, a firmware without parts that you do not use"
        )
    if not said.get("chip"):
        raise _make_firmware_fault(
            board, "it has no machine.unique_id(), by which keys are bound to a board"
        )
    return Interpreter(
        said["version"],
        said["platform"],
        said["chip"],
        int(said["heap"]),
        said.get("entropy") == "True",
        int(said["clock"]),
        int(said["mpy"]),
        int(said["rom"]),
        said.get("frozen", ""),
    )


def _make_firmware_fault(board: Board, what: str) -> OperatorFault:
    return OperatorFault(
        f"{board.where} has the wrong firmware: {what}. MicroPython "
        f"{'.'.join(map(str, LEAST))} or later is needed, or edge does not run. Flash one from "
        "micropython.org/download for exactly this board"
    )


COMPILED, START = f"{YOURS[:-3]}.mpy", "edge/loading.mpy"


ROM = "/rom/"  # where a board has its ROMFS partition, and runs modules in place


def find_edge_root(board: Board) -> str:
    """Return where the edge lies that a board loads: its flash comes before its ROMFS."""
    if not list_files(board, bundle.FOLDERS[0]) and list_files(board, ROM + bundle.FOLDERS[0]):
        return ROM
    return ""


def choose_files(board: Board, files: dict[str, bytes], own: dict[str, Any]) -> dict[str, bytes]:
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
    # Its owner's, and nobody else's; after a cut it may be in ROMFS alone, with edge on the flash.
    for root in ("", ROM):
        if name in list_files(board, root + folder):
            return left | {YOURS: read_file(board, root + YOURS)}
    return files


def choose_modules(
    board: Board, found: Interpreter, own: dict[str, Any]
) -> tuple[dict[str, bytes], str]:
    """Return the modules of edge for a board, compiled or sources, and why these.

    None where these very modules are in its firmware, and its driver is no file of its owner's,
    which a frozen package cannot hold. A board that is bare, or that can run them in place, is
    given what takes the least heap: they are compiled where there is a compiler here of a version
    that the board loads.

    Raises:
        OperatorFault: it has compiled ones, and there is no compiler here.
    """
    if found.frozen == bundle.hash_sources() and own.get("driver", {}).get("name") != "yours":
        return {}, "its firmware has this heatveil's"
    names = list_files(board, find_edge_root(board) + bundle.FOLDERS[0])
    if "loading.mpy" in names and "loading.py" not in names:
        return compile_modules(), "as the board has them"
    if names and not found.rom:
        return (
            read_shrunk_sources(),
            "as the board has them; compiled ones, with --mpy, take less heap",
        )
    try:
        files = compile_modules()
    except OperatorFault as fault:
        return read_shrunk_sources(), f"because {fault}"
    if find_mpy_version(files) == found.mpy:
        kept = own.get("driver", {}).get("name")
        less = {
            path: data
            for path, data in files.items()
            if not bundle.is_driver(path) or Path(path).stem == kept
        }
        if not runs_in_place(found, files) and runs_in_place(found, less):
            files = less  # its partition has no room for drivers of others
        return files, "because a compiler for this MicroPython is installed"
    return read_shrunk_sources(), (
        f"because mpy-cross here makes version {find_mpy_version(files)} of .mpy and this "
        f"MicroPython loads {found.mpy or 'none'}"
    )


@cache
def read_shrunk_sources() -> dict[str, bytes]:
    """Return the sources of edge, made small."""
    return bundle.shrink_sources(bundle.read_sources())


@cache
def compile_modules() -> dict[str, bytes]:
    """Return the modules of edge, compiled now.

    Raises:
        OperatorFault: there is no compiler.
    """
    return bundle.compile_sources(bundle.read_sources())


def find_mpy_version(files: dict[str, bytes]) -> int:
    """Return the version of .mpy of these modules, 0 for sources."""
    return files[START][1] if START in files else 0


def runs_in_place(found: Interpreter, files: dict[str, bytes]) -> bool:
    """Say whether a board would run these modules in its ROMFS partition."""
    fits = START in files and len(bundle.make_romfs_image(files)) <= found.rom
    return fits and not found.frozen  # which is loaded before what is in ROMFS


def describe_module_form(found: Interpreter, files: dict[str, bytes]) -> str:
    """Return how these modules are loaded, and the heap that this needs."""
    how, end = _find_form(found, files)
    return f"{math.ceil(find_least_heap_kb(end))} KB needed ({how})"


def _find_form(found: Interpreter, files: dict[str, bytes]) -> tuple[str, str]:
    """Return how these modules are loaded, and the end of the names of its figures."""
    if not files:
        return "frozen in its firmware", "_frozen"
    if runs_in_place(found, files):
        return "run in place in ROMFS", "_rom"
    return (".mpy", "_mpy") if START in files else ("sources", "")


def install_modules(
    board: Board, found: Interpreter, files: dict[str, bytes], own: dict[str, Any]
) -> list[str]:
    """Bring a board to have these modules and no others of edge; return those that were written.

    Raises:
        BoardFault: its flash is full, or does not hold what was written to it.
    """
    if not files:
        _clear_flash(board)
        return []
    held = choose_files(board, files, own)
    if runs_in_place(found, held):
        return _install_in_place(board, held)
    kept = {*held, *([] if {YOURS, COMPILED} & {*held} else [YOURS])}
    remove_files(board, [path for path in _list_modules(board) if path not in kept])
    return copy_files(board, held)


def _list_modules(board: Board, root: str = "") -> list[str]:
    """Return the paths of all files of edge."""
    return [
        f"{folder}/{name}"
        for folder in bundle.FOLDERS
        for name in list_files(board, root + folder)
        if f"{folder}/{name}" not in bundle.FOLDERS
    ]


def _install_in_place(board: Any, held: dict[str, bytes]) -> list[str]:
    """Write the image where it is another, and leave none of edge on the flash before it."""
    wanted = {ROM + path: hashlib.sha256(data).hexdigest() for path, data in held.items()}
    there = hash_files(board, wanted)
    written = [path for path in held if there.get(ROM + path) != wanted[ROM + path]]
    if written or set(_list_modules(board, ROM)) - {*held}:
        written = list(held)  # an image is written whole
        board.write_romfs(bundle.make_romfs_image(held))
        if hash_files(board, wanted) != wanted:
            raise BoardFault(
                f"the ROMFS partition of {board.where} does not hold what was written there; "
                "every module must come back as it is, or the noise may be another. Run it again; "
                "if it stays so, take another board"
            )
    _clear_flash(board)
    return written


def _clear_flash(board: Board) -> None:
    """Leave no module of edge on the flash, which a board loads before all else."""
    stay = boards.clear_folders(board, _list_modules(board), reversed(bundle.FOLDERS))
    if stay:
        raise BoardFault(
            f"{', '.join(stay)} on the flash of {board.where} cannot be removed, because it "
            "contains files that heatveil did not write; the board would load it instead of the "
            "modules in its ROMFS partition or its firmware. Move your files out of edge/, and "
            "run this again"
        )


def check_board_loads(board: Board, found: Interpreter, files: dict[str, bytes]) -> None:
    """Raise OperatorFault where a board's MicroPython or its memory does not load these files."""
    needed = find_least_heap_kb(_find_form(found, files)[1]) * 1024
    if found.heap < needed:
        less = (
            "Take a board"
            if START in files or not files
            else "Give --mpy, which takes less, or take a board"
        )
        raise OperatorFault(
            f"{board.where} has {found.heap // 1024} KB of heap free and "
            f"{describe_module_form(found, files)}, or it stops in the middle of its start. "
            f"{less} with more, or a firmware without what you do not use or with a ROMFS "
            "partition of 128 KB, from which modules run in place"
        )
    for path, data in files.items():
        if path.endswith(".mpy") and data[1] != found.mpy:
            takes = f"version {found.mpy}" if found.mpy else "none"
            raise OperatorFault(
                f"{board.where} loads .mpy of {takes} and {path} is of version {data[1]}; it "
                "would stop at its first module. Provision it without --mpy, or flash a "
                "MicroPython of this year"
            )


def check_heap_for_releases(board: Board, found: Interpreter) -> None:
    """Raise OperatorFault where a board has no heap for a release over the air.

    That is loaded from the flash, also by a board that has its modules in ROMFS or its firmware.
    """
    needed = find_least_heap_kb("_mpy")
    if found.heap < needed * 1024:
        raise OperatorFault(
            f"{board.where} has {found.heap // 1024} KB of heap free and a release over the air "
            f"takes {math.ceil(needed)}: its modules come to the flash and are loaded from there, "
            "none of them in place, so it would go back each time. Provision it without "
            "--updates, and bring it releases by cable"
        )


LEAST_FREE = 16 * 1024  # bytes of flash: three slots of a budget, a config, and each once more
CONSOLES = ("webrepl_cfg.py", "webrepl_cfg.mpy")  # with it, whoever has the Wi-Fi has the board


def inspect_modules(board: Board, found: Interpreter) -> tuple[dict[str, Any], list[str]]:
    """Return what the board has of edge, and what is wrong with it."""
    root = "" if found.frozen else find_edge_root(board)
    names = {*_list_modules(board, root)}
    compiled = START in names and "edge/loading.py" not in names
    told: dict[str, Any] = {
        "modules": len(names),
        "compiled": compiled,
        "in_place": root == ROM,
        "frozen": False,
        "other": [],
    }
    if not names and found.frozen:
        told["frozen"], told["modules"] = True, len(bundle.read_sources())
        if found.frozen == bundle.hash_sources():
            return told, []
        return told, [
            "the modules in its firmware are not this heatveil's, and then its noise may be "
            "another. Build it anew, in a checkout of heatveil, make firmware, and flash it: "
            "heatveil provision --flash; or heatveil provision puts this heatveil's on its flash, "
            "which are loaded first"
        ]
    if not names:
        return told, ["nothing of heatveil is on it; make it a device: heatveil provision NAME"]
    try:
        ours = compile_modules() if compiled else read_shrunk_sources()
    except OperatorFault as fault:
        told["unchecked"] = str(fault)
        return told, []
    ours = {
        path: data
        for path, data in ours.items()
        if not path.startswith(bundle.YOURS[:-2])
        # In place may be the driver of its sensor alone.
        and not (root == ROM and bundle.is_driver(path) and path not in names)
    }
    right = {root + path: hashlib.sha256(data).hexdigest() for path, data in ours.items()}
    there = hash_files(board, right)
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


def find_start_faults(board: Board, stopped: bool, lost: bool = False) -> list[str]:
    """Return what is wrong with what a board starts with.

    Args:
        stopped: its main.py was there, and was put aside for this look.
        lost: its budget is, so that only new keys can bring it to its end.
    """
    main = boards.ASIDE if stopped else bundle.MAIN
    names, right = list_files(board, "."), bundle.read_start_files()
    wanted = {path: hashlib.sha256(data).hexdigest() for path, data in right.items()}
    there, found = hash_files(board, [bundle.BOOT, main]), []
    if boards.ASIDE in names and not stopped and bundle.MAIN not in names:
        found.append(
            "its main.py had been put aside by a command that was cut off, so it was silent; it "
            "is set going again now. Look once more: heatveil doctor"
        )
    elif main not in names:
        found.append(
            "it has no main.py, so it does not start by itself: its provisioning was cut off, or "
            f"somebody took it. Finish it: heatveil {'rotate --keys' if lost else 'provision'}"
        )
    elif there.get(main) != wanted[bundle.MAIN]:
        found.append(
            "its main.py is not heatveil's, so what it does at its start nobody here knows. Have "
            "yours written over: heatveil provision"
        )
    if there.get(bundle.BOOT) != wanted[bundle.BOOT]:
        how = "is not heatveil's" if bundle.BOOT in names else "is missing"
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


def find_flash_faults(free: int) -> list[str]:
    """Return what is wrong with so many bytes of free flash; -1 for not known."""
    if not 0 <= free < LEAST_FREE:
        return []
    return [
        f"its flash has {free // 1024} KB free and {LEAST_FREE // 1024} KB are needed, or its "
        "budget cannot be written and it answers nothing. Remove what is not heatveil's: "
        "mpremote ls, then mpremote rm"
    ]
