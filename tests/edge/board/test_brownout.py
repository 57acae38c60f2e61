"""Power that fails while a device is told its config, at every block: old, new, or named.

MicroPython's unix port mounts the file systems of the boards on a block device written in Python.
What is written is what mpremote writes: the file opened anew, in pieces of 256 bytes, closed.
"""

import ast
import json
from collections.abc import Callable

import pytest

from tests import processes
from tests.edge.board.test_config import RIGHT

SCRIPT = r"""
import json, os
from edge.board import config

class Cut(Exception):
    pass

class Disk:
    def __init__(self, count, blocks):
        self.count, self.blocks = count, {n: bytes(blocks[n]) for n in blocks}
        self.done, self.fuse, self.half = 0, -1, 0

    def _do(self, n, at, new):
        old = self.blocks.get(n, b"\xff" * SIZE)
        keep = len(new) * self.half // 2 if self.fuse == self.done else len(new)
        self.blocks[n] = old[:at] + new[:keep] + old[at + keep :]
        self.done += 1
        if self.fuse == self.done - 1:
            self.dead = True
            raise Cut

    dead = False

    def readblocks(self, n, buffer, at=0):
        if self.dead:
            return 5
        for start in range(0, len(buffer), SIZE):
            piece = self.blocks.get(n, b"\xff" * SIZE)[at : at + len(buffer) - start]
            buffer[start : start + len(piece)] = piece
            n += 1

    def writeblocks(self, n, buffer, at=None):
        if self.dead:
            return 5
        if at is not None:
            return self._do(n, at, bytes(buffer))
        for start in range(0, len(buffer), SIZE):
            self._do(n, 0, bytes(buffer[start : start + SIZE]))
            n += 1

    def ioctl(self, what, n):
        if what == 4:
            return self.count
        if what == 5:
            return SIZE
        if what == 6 and VFS is not os.VfsFat and not self.dead:
            self._do(n, 0, b"\xff" * SIZE)
        return 0

def put(data):
    with open("/flash/heatveil.json", "wb") as file:
        for at in range(0, len(data), 256):
            file.write(data[at : at + 256])

def unmounted():
    try:
        os.umount("/flash")
    except (OSError, Cut):
        pass

def mounted(disk):
    os.mount(VFS(disk), "/flash")

OLD, NEW = json.loads(TEXT), json.loads(TEXT)
NEW["mac_key"], NEW["state_key"] = "a2" * 32, "58" * 32
write = config.pack if CRC else lambda body: json.dumps(body).encode()

disk = Disk(COUNT, {})
VFS.mkfs(disk)
mounted(disk)
put(write(OLD))
unmounted()
image = disk.blocks
disk = Disk(COUNT, image)
mounted(disk)
put(write(NEW))
unmounted()
total, seen = disk.done, {}
for operation in range(total):
    for half in (0, 1, 2):
        disk = Disk(COUNT, image)
        disk.fuse, disk.half = operation, half
        try:
            mounted(disk)
            put(write(NEW))
        except (Cut, OSError):
            pass
        unmounted()
        again = Disk(COUNT, disk.blocks)
        try:
            mounted(again)
            who = config.load("/flash/heatveil.json").identity
            keys = (who.mac_key[0], who.state_key[0])
            what = {(161, 87): "old", (162, 88): "new"}.get(keys, "mixed")
        except ValueError as why:
            what = "named" if "heatveil provision" in str(why) else "not named"
        except OSError:
            what = "no file system"
        unmounted()
        seen[what] = seen.get(what, 0) + 1
print(total, sorted(seen.items()))
"""


def cuts(need: Callable[[str], str], vfs: str, size: int, crc: bool) -> dict[str, int]:
    """Return how often each came out of it, over all cuts."""

    body = {**RIGHT, "link": {**RIGHT["link"], "ca": "MIIB" * 300}}
    values = {"TEXT": json.dumps(body), "SIZE": size, "COUNT": 65536 // size, "CRC": crc}
    head = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    script = f"{head}import os\nVFS = os.{vfs}\n{SCRIPT}"
    ran = processes.run(
        [need("micropython"), "-X", "heapsize=4m", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    # The last line: a file that was cut off is closed when it is collected, and complains then.
    total, _, said = ran.stdout.strip().splitlines()[-1].partition(" ")
    found = dict(ast.literal_eval(said))
    assert int(total) > 3
    assert sum(found.values()) == 3 * int(total)
    return found


def test_on_littlefs_it_is_the_old_or_the_new_one(need: Callable[[str], str]) -> None:
    """The file system of the boards that we name: a file changes when it is closed, whole."""
    found = cuts(need, "VfsLfs2", 4096, True)

    assert found.keys() == {"old", "new"}


def test_on_fat_what_is_no_whole_file_is_named(need: Callable[[str], str]) -> None:
    """Some ESP32 and the Raspberry Pi's card: nothing half is taken for a device."""
    found = cuts(need, "VfsFat", 512, True)

    assert "mixed" not in found
    assert "not named" not in found
    assert found["named"] > 0


@pytest.mark.parametrize("vfs", ["VfsLfs2", "VfsFat"])
def test_each_file_system_is_cut_everywhere(need: Callable[[str], str], vfs: str) -> None:
    """A cut that nothing can tell from the end of it would prove nothing."""
    found = cuts(need, vfs, {"VfsLfs2": 4096, "VfsFat": 512}[vfs], False)

    assert found.get("old", 0) + found.get("named", 0) > 0
