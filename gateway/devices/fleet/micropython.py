"""Which MicroPython runs the devices of `heatveil fleet --vm`, what of, and in which heap.

    in place   compiled, from an image that is mapped, as a board maps its flash
    source     where mpy-cross is not installed, or the interpreter maps no image

What `make edge` makes of edge is made of `inside` and `outward` with it, once for all devices, so
no source is compiled in a small heap; a few lines beside the image start the device from it.
"""

import ast
import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import edge

from ...faults import OperatorFault
from ...mechanisms import USUAL, named
from .. import bundle

INSIDE, OUTWARD = [Path(__file__).with_name(f"{name}.py") for name in ("inside", "outward")]
MAPPED = "mapped.py"  # the lines that start it
LIBC = "libc.so.6"

_START = "import gc\n\ngc.threshold(2000)\nfrom edge.inside import main\n\nmain()\n"
# PROT_READ is 1 and MAP_PRIVATE 2 on every Linux; all interpreters share these pages.
_MAP = f"""import os, sys, ffi, uctypes, vfs
image = IMAGE
libc = ffi.open("{LIBC}")
size = os.stat(image)[6]
held = libc.func("i", "open", "si")(image, 0)
at = libc.func("p", "mmap", "piiiii")(0, size, 1, 2, held, 0)
vfs.mount(vfs.VfsRom(uctypes.bytearray_at(at, size)), "/rom")
sys.path[:] = ["/rom", ".frozen"]
del libc, size, held, at, image, os, sys, ffi, uctypes, vfs
"""


def write_image(folder: Path) -> None:
    """Write the image, and the lines that start a device from it, into a folder.

    Raises:
        OperatorFault: there is no compiler, or it refuses a file.
    """
    files = bundle.build(_sources())
    folder.mkdir(parents=True, exist_ok=True)
    image = folder / bundle.IMAGE
    image.write_bytes(bundle.make_image(files))
    (folder / MAPPED).write_text(_MAP.replace("IMAGE", repr(str(image))) + _START)


def _sources() -> dict[str, bytes]:
    """Return what is compiled: a virtual device has no pins."""
    sources = bundle.read_sources().items()
    found = {path: text for path, text in sources if not path.startswith("edge/board/")}
    return found | {f"edge/{path.name}": _as_edge(path) for path in (INSIDE, OUTWARD)}


def _as_edge(path: Path) -> bytes:
    """Return one of our modules as one of edge."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        for package in ("edge", "gateway.devices.fleet"):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{package}."):
                node.module, node.level = (node.module or "")[len(package) + 1 :] or None, 1
    return ast.unparse(tree).encode()


ROOT = Path(edge.__file__).resolve().parents[1]
# By the bits of a word, for a thermometer: the objects of 64 are twice as large. And so much more
# for a device that answers its place: its weights, and its modules.
HEAP_KB = {
    "in place": {32: 72, 64: 112},
    "source": {32: 96, 64: 176},
}
MORE_KB = {"in place": 0, "source": 16}
MPY = 6  # the version of .mpy that is compiled
SMALL = {"micropython": "micropython-i386"}  # words of 32 bits, as boards have: where it runs
_PROBE = f"""
import sys
maps = 0
try:
    import ffi, uctypes, vfs
    maps = 1 if vfs.VfsRom and ffi.open("{LIBC}") else 0
except Exception:
    pass
found = sys.implementation
print(found[0], 64 if sys.maxsize >> 32 else 32, getattr(found, "_mpy", 0) & 255, maps)
"""


class Interpreter(NamedTuple):
    """An interpreter that runs here: its path and what it can."""

    path: str
    bits: int
    mpy: int
    maps: bool


class Invocation(NamedTuple):
    """How each device is run: the command, where it finds modules, and that in a sentence."""

    command: list[str]
    path: str
    said: str


def prepare(program: str, folder: Path, mechanism: str = USUAL) -> Invocation:
    """Return how devices are run; what is made for it is in this folder, to be removed after.

    Raises:
        OperatorFault: there is no such MicroPython, or it does not run.
    """
    found, lacking = _choose(program), ""
    form = "source"
    if found.mpy != MPY or not found.maps:
        lacking = f"it runs no .mpy of version {MPY} in place; a newer one takes less heap"
    else:
        form = "in place"
        try:
            write_image(folder)
        except OperatorFault as fault:
            form, lacking = "source", str(fault)
    heap_kb = HEAP_KB[form][found.bits] + MORE_KB[form] * (named(mechanism).reads == "place")
    start, path, said = folder / MAPPED, ".frozen", "the .mpy of make edge, run in place"
    if form == "source":
        start, path, said = INSIDE, f"{ROOT}:.frozen", f"source ({lacking})"
    return Invocation(
        [found.path, "-X", f"heapsize={heap_kb}k", str(start)],
        path,
        f"each in {heap_kb} KB of heap, words of {found.bits} bits, from {said}",
    )


def _choose(program: str) -> Interpreter:
    """Return the interpreter of that name; of plain MicroPythons rather that with small words."""
    if program in SMALL:
        try:
            return _find(SMALL[program])
        except OperatorFault:
            pass  # not every PC runs it
    return _find(program)


def _find(program: str) -> Interpreter:
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
    return Interpreter(path, bits, mpy, bool(maps))
