"""The device as boards are given it, and what is around it in a fleet's interpreter: made once.

What `make edge` makes of edge is made of `inside` with it, so no source is compiled in a small
heap. It is one image, which an interpreter maps into its memory, as a board does its flash, and
the same as files, for one that cannot; a few lines beside each start the device from it.
"""

import ast
from pathlib import Path

from ..build import parts, release

INSIDE, OUTWARD = [Path(__file__).with_name(f"{name}.py") for name in ("inside", "outward")]
MAPPED, LOADED = "mapped.py", "loaded.py"  # the lines that start it
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


def write(folder: Path) -> None:
    """Write both into a folder.

    Raises:
        OperatorFault: there is no compiler, or it refuses a file.
    """
    files = release.build(_sources())
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    image = folder / release.IMAGE
    image.write_bytes(release.make_image(files))
    (folder / LOADED).write_text(_START)
    (folder / MAPPED).write_text(_MAP.replace("IMAGE", repr(str(image))) + _START)


def _sources() -> dict[str, bytes]:
    """Return what is pressed: a virtual device has no pins."""
    found = {path: text for path, text in parts.read_sources().items() if path.count("/") == 1}
    return found | {f"edge/{path.name}": _moved(path) for path in (INSIDE, OUTWARD)}


def _moved(path: Path) -> bytes:
    """Return one of our modules as one of edge."""
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        for package in ("edge", "gateway.devices.fleet"):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{package}."):
                node.module, node.level = (node.module or "")[len(package) + 1 :] or None, 1
    return ast.unparse(tree).encode()
