"""A folder as a ROMFS image, from whose flash a board runs .mpy files without loading them.

Each record is [kind][length][payload], numbers in groups of seven bits, the highest first, and
the whole image is one of them. For firmware with a ROMFS partition (MicroPython 1.25 or later):

    mpremote romfs deploy edge.romfs

Source: MicroPython's `extmod/vfs_rom.c`, whose comment is the specification.
"""

from collections.abc import Mapping
from typing import Any

MAGIC = b"\xd2\xcd\x31"
DATA, FOLDER, FILE = 2, 4, 5  # kinds of record


def image(files: Mapping[str, bytes]) -> bytes:
    """Return the image of files by their paths, such as edge/node.mpy."""
    tree: dict[str, Any] = {}
    for path, data in files.items():
        *folders, name = path.split("/")
        there = tree
        for folder in folders:
            there = there.setdefault(folder, {})
        there[name] = data
    body = _records(tree)
    return MAGIC + _number(len(body)) + body


def _records(tree: dict[str, Any]) -> bytes:
    whole = b""
    for name, held in sorted(tree.items()):
        head = _number(len(name.encode())) + name.encode()
        if isinstance(held, bytes):
            whole += _record(FILE, head + _record(DATA, held))
        else:
            whole += _record(FOLDER, head + _records(held))
    return whole


def _record(kind: int, payload: bytes) -> bytes:
    return _number(kind) + _number(len(payload)) + payload


def _number(value: int) -> bytes:
    groups = [value & 127]
    while value := value >> 7:
        groups.append(value & 127 | 128)
    return bytes(reversed(groups))
