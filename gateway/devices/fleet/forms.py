"""Which MicroPython runs the devices of `heatveil fleet --vm`, what of, and in which heap.

in place   pressed and compiled, from an image that is mapped, as a board maps its flash
pressed    the same, from files that are loaded
source     where mpy-cross is not installed
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import edge

from ...faults import OperatorFault
from . import pressed

ROOT = Path(edge.__file__).resolve().parents[1]
# By the bits of a word, for a thermometer: the objects of 64 are twice as large. And so much more
# for a device that answers its place: its weights, and its modules.
HEAP_KB = {
    "in place": {32: 64, 64: 96},
    "pressed": {32: 68, 64: 128},
    "source": {32: 96, 64: 176},
}
MORE_KB = {"in place": {"disk": 0}, "pressed": {"disk": 16}, "source": {"disk": 16}}
MPY = 6  # the version of .mpy that is compiled
SMALL = {"micropython": "micropython-i386"}  # words of 32 bits, as boards have: where it runs
_PROBE = f"""
import sys
maps = 0
try:
    import ffi, uctypes, vfs
    maps = 1 if vfs.VfsRom and ffi.open("{pressed.LIBC}") else 0
except Exception:
    pass
found = sys.implementation
print(found[0], 64 if sys.maxsize >> 32 else 32, getattr(found, "_mpy", 0) & 255, maps)
"""


class Found(NamedTuple):
    """An interpreter that runs here: its path and what it can."""

    path: str
    bits: int
    mpy: int
    maps: bool


class Running(NamedTuple):
    """How each device is run: the command, where it finds modules, and that in a sentence."""

    command: list[str]
    path: str
    said: str


def running(program: str, folder: Path, mechanism: str = "thermal") -> Running:
    """Return how devices are run; what is made for it is in this folder, to be removed after.

    Raises:
        OperatorFault: there is no such MicroPython, or it does not run.
    """
    found, lacking = _suited(program), ""
    form = "in place" if found.maps else "pressed"
    if found.mpy != MPY:
        form, lacking = "source", f"it loads no .mpy of version {MPY}; a newer one takes less heap"
    else:
        try:
            pressed.write(folder)
        except OperatorFault as fault:
            form, lacking = "source", str(fault)
    heap_kb = HEAP_KB[form][found.bits] + MORE_KB[form].get(mechanism, 0)
    start = {"in place": folder / pressed.MAPPED, "pressed": folder / pressed.LOADED}
    path = f"{ROOT}:.frozen" if form == "source" else ".frozen"
    said = {
        "in place": "the .mpy of make edge, run in place",
        "pressed": "the .mpy of make edge",
        "source": f"source ({lacking})",
    }
    return Running(
        [found.path, "-X", f"heapsize={heap_kb}k", str(start.get(form, pressed.INSIDE))],
        path,
        f"each in {heap_kb} KB of heap, words of {found.bits} bits, from {said[form]}",
    )


def _suited(program: str) -> Found:
    """Return the interpreter of that name; of plain MicroPythons rather that with small words."""
    if program in SMALL:
        try:
            return _found(SMALL[program])
        except OperatorFault:
            pass  # not every PC runs it
    return _found(program)


def _found(program: str) -> Found:
    places = os.pathsep.join([os.environ.get("PATH", ""), str(ROOT / ".tools")])
    path = shutil.which(program, path=places)
    if path is None:
        raise OperatorFault(
            f"--vm {program} but no program of that name is on PATH; it must be a MicroPython "
            "1.22 or later, for each device runs in one. Install it (apt install micropython), "
            "make tools in a checkout, or give its path"
        )
    ran = subprocess.run([path, "-c", _PROBE], capture_output=True, text=True, check=False)
    words = ran.stdout.split()
    if ran.returncode or words[:1] != ["micropython"]:
        raise OperatorFault(
            f"--vm {path} is no MicroPython ({ran.stdout.strip() or ran.stderr.strip()[-80:]}); "
            "each device is to run in one, with the memory of a board. Give one, or leave --vm out"
        )
    bits, mpy, maps = [int(word) for word in words[1:]]
    return Found(path, bits, mpy, bool(maps))
