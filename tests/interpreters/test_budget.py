"""The budget on real interpreters, and on real file systems whose power is cut at every block.

MicroPython's unix port brings littlefs2 and FAT, the ones of the boards, and mounts them on a
block device written in Python: so what a power cut leaves behind is shown, not hoped for.
"""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from edge.host.enrol import Ram

LIFE = """
import os
from edge.host import rootkeys
from edge.core.budget import Budget, Files, Limits, Lost
from edge.host.enrol import Ram, provision
from edge.core.compat import sha256
from edge.host.post import pack_limits
from edge.core.tightening import unpack_limits

ROOT, KEY = bytes(range(32)), rootkeys.state_key(bytes(range(32)))
LIMITS = Limits(1, -3, 4000, 1 << 40, (1 << 63) - 1, 1000)
TIGHT = Limits(2, 8, 4000 << 22, 1 << 62, 70, 1000)

def life(slots):
    provision(slots, KEY, rootkeys.first_chain(ROOT), LIMITS)
    for lease in (1, 3):
        budget = Budget(slots, KEY, lease)
        budget.boot()
        for round in range(5):
            budget.charge(7, round)
    limits = unpack_limits(pack_limits(TIGHT, KEY, "t"), KEY, "t")
    budget.tighten(limits)
    while budget.charge(9, 77):
        pass
    state = slots.read(0) + slots.read(1) + slots.read(2)
    slots.write(0, b"?")
    budget = Budget(slots, KEY)
    budget.boot()
    mended, exhausted = budget.mended, budget.exhausted
    slots.write(2, b"?")
    slots.write(1, state[:50])
    try:
        Budget(slots, KEY).boot()
    except Lost as why:
        return sha256(state), budget.spent, budget.chain, mended, exhausted, str(why)
"""

FILES = """
made = ""
for part in FOLDER.split("/")[1:]:
    made += "/" + part
    try:
        os.mkdir(made)
    except OSError:
        pass
print(life(Ram()) == life(Files(FOLDER, "n007")))
"""


def test_a_device_s_life_is_the_same_everywhere(interpreter) -> None:
    """The bytes of the slots too: a board's files must be readable on the owner's PC."""
    scope: dict = {}
    exec(LIFE, scope)
    expected = scope["life"](Ram())

    assert expected[3] == "slot 0 holds 1 bytes that do not verify, and is written again"
    assert expected[4] is True
    assert ast.literal_eval(interpreter.run(LIFE + "print(life(Ram()))")) == expected


def test_files_keep_the_same_as_memory(interpreter, tmp_path: Path) -> None:
    """With flush, sync and read-back in whatever form the port has them."""
    printed = interpreter.run(f"{LIFE}\nFOLDER = {str(tmp_path)!r}\n{FILES}")

    assert printed == "True\n"


# Each erasure and each program of a block is one operation; the power fails in the middle of one,
# with none, a quarter, half, three quarters or all of it done.
POWER = r"""
import gc, os
from edge.host import rootkeys
from edge.core.budget import Budget, Files, Limits, Lost
from edge.host.enrol import provision

ROOT, KEY = bytes(range(32)), rootkeys.state_key(bytes(range(32)))
LIMITS = Limits(1, 8, 4000, 200000, 1000, 0)
TIGHT = Limits(2, 8, 4000, 200001, 1000, 0)
SIZE = 512

class Cut(Exception):
    pass

class Disk:
    '''Blocks in memory, erased ones not kept. bare: a whole block is erased, then written.'''

    def __init__(self, count, bare, whole, blocks):
        self.count, self.bare, self.whole = count, bare, whole
        self.blocks = {n: bytearray(blocks[n]) for n in blocks}
        self.done, self.fuse, self.part, self.dead = 0, -1, 0, False

    def _do(self, n, at, new):
        size = len(new)
        self.done += 1
        if self.fuse == 0:
            size = size * self.part // 4
            if self.whole and self.part < 4:
                size = 0
            self.dead = True
        self.fuse -= 1
        if n not in self.blocks:
            self.blocks[n] = bytearray(b"\xff" * SIZE)
        self.blocks[n][at : at + size] = new[:size]
        if self.dead:
            raise Cut

    def readblocks(self, n, buffer, at=0):
        if self.dead:  # what is closed after the cut must not reach the medium
            return 5
        for i in range(len(buffer)):
            buffer[i] = 255
        for start in range(0, len(buffer), SIZE):
            if n in self.blocks:
                size = min(SIZE, len(buffer) - start)
                buffer[start : start + size] = self.blocks[n][at : at + size]
            n += 1

    def writeblocks(self, n, buffer, at=None):
        if self.dead:
            return 5
        if at is not None:
            return self._do(n, at, bytes(buffer))
        for start in range(0, len(buffer), SIZE):
            if self.bare:
                self._do(n, 0, b"\xff" * SIZE)
            self._do(n, 0, bytes(buffer[start : start + SIZE]))
            n += 1

    def ioctl(self, what, n):
        if what == 4:
            return self.count
        if what == 5:
            return SIZE
        if what == 6 and self.dead:
            return 5
        if what == 6 and VFS is not os.VfsFat:
            self._do(n, 0, b"\xff" * SIZE)
        return 0

def mounted(disk):
    os.mount(VFS(disk), "/flash")
    return Files("/flash", "n007")

def unmounted():
    try:
        os.umount("/flash")
    except (OSError, Cut):
        pass

def day(slots, said):
    budget = Budget(slots, KEY, 2)
    budget.boot()
    said["epoch"] = budget.epoch
    for round in (1, 2, 3):
        budget.charge(40, round)
        said["spent"] += 40
    budget.tighten(TIGHT)
    said["limits"] = TIGHT
    budget.charge(40, 4)
    budget.charge(40, 5)
    said["spent"] += 80

def wrong(slots, said):
    '''Return what is wrong after a cut, or nothing.'''
    budget = Budget(slots, KEY, 2)
    try:
        budget.boot()
    except Lost as why:
        return "lost" if "new key" in str(why) else "not writable"
    except OSError:
        return "not mounted"
    if budget.epoch <= said["epoch"] or budget.chain != rootkeys.chain_at(ROOT, budget.epoch):
        return "epoch again"
    if budget.spent < said["spent"]:
        return "counts too little"
    if said["limits"] == TIGHT and budget.limits != TIGHT:
        return "looser"
    said["epoch"] = budget.epoch
    return ""

disk = Disk(COUNT, BARE, WHOLE, {})
VFS.mkfs(disk)
slots = mounted(disk)
provision(slots, KEY, rootkeys.first_chain(ROOT), LIMITS)
Budget(slots, KEY).boot()
unmounted()
image = disk.blocks
disk = Disk(COUNT, BARE, WHOLE, image)
day(mounted(disk), {"epoch": 0, "spent": 0})
unmounted()
total, faults = disk.done, {}
for operation in range(total):
    for part in range(5):
        said = {"epoch": 1, "spent": 0, "limits": LIMITS}
        blocks = image
        # The power fails a second time while the device starts again.
        for fuse in (operation, (operation * 5 + part) % 7):
            disk = Disk(COUNT, BARE, WHOLE, blocks)
            disk.fuse, disk.part = fuse, part
            try:
                slots = mounted(disk)
                if blocks is image:
                    day(slots, said)
                else:
                    why = wrong(slots, said)
            except (Cut, ValueError, OSError):
                if not disk.dead:
                    raise
            unmounted()
            blocks = disk.blocks
        disk = Disk(COUNT, BARE, WHOLE, blocks)
        try:
            why = wrong(mounted(disk), said)
        except OSError:
            why = "not mounted"
        unmounted()
        if why:
            faults[why] = faults.get(why, 0) + 1
        del slots, disk, blocks
        gc.collect()
print(total, sorted(faults.items()))
"""


def roomy(interpreter):
    """Return it with a heap that holds a chip too, which on a board is beside the heap."""
    command = ["heapsize=512k" if "heapsize" in word else word for word in interpreter.command]
    return replace(interpreter, command=tuple(command))


def cut(interpreter, system: str, count: int, bare: bool, whole: bool) -> tuple[int, dict]:
    """Return how many operations a day takes, and what was wrong how often after a cut."""
    given = f"import os\nVFS, COUNT, BARE, WHOLE = {system}, {count}, {bare}, {whole}\n"
    # Before the last line stand errors of files that were closed after the power was gone.
    printed = roomy(interpreter).run(given + POWER).splitlines()
    total, _, faults = printed[-1].partition(" ")
    return int(total), dict(ast.literal_eval(faults))


OLD_KEY = """
disk = Disk(COUNT, BARE, WHOLE, {})
VFS.mkfs(disk)
slots = mounted(disk)
provision(slots, KEY, rootkeys.first_chain(ROOT), LIMITS)
Budget(slots, KEY).boot()
budget = Budget(slots, KEY, 1)
budget.boot()
old, leases = rootkeys.first_chain(ROOT), 0
while any([bytes(disk.blocks[n]).find(old) >= 0 for n in disk.blocks]):
    budget.charge(1, leases)
    leases += 1
print(leases)
"""


@pytest.mark.long
@pytest.mark.parametrize("interpreter", ["unix", "i386"], indirect=True)
def test_on_littlefs_no_power_cut_loses_anything(interpreter) -> None:
    """What most boards have; every operation of a boot, of leases and of a tightening is cut."""
    total, faults = cut(interpreter, "os.VfsLfs2", 16, False, False)

    assert faults == {}
    assert total > 20


@pytest.mark.parametrize("interpreter", ["unix"], indirect=True)
def test_where_an_old_chain_key_lies_on(interpreter) -> None:
    """For a thief who reads the bare chip: on littlefs a few starts back."""
    tools = POWER[: POWER.index("disk = Disk(")]
    given = "import os\nVFS, COUNT, BARE, WHOLE = os.VfsLfs2, 16, False, False\n"
    leases = int(roomy(interpreter).run(given + tools + OLD_KEY))

    assert 0 < leases < 30


@pytest.mark.long
@pytest.mark.parametrize("interpreter", ["unix"], indirect=True)
def test_on_fat_it_depends_on_what_lies_below(interpreter) -> None:
    """Whole sectors: safe. Bare flash: keys can be lost, but nothing is ever forgotten."""
    _, card = cut(interpreter, "os.VfsFat", 64, False, True)
    _, bare = cut(interpreter, "os.VfsFat", 64, True, False)

    assert card == {}
    assert bare["lost"] > 0
    assert set(bare) <= {"lost", "not writable", "not mounted"}


@pytest.mark.parametrize("interpreter", ["unix"], indirect=True)
def test_a_device_that_keeps_one_slot_is_caught(interpreter) -> None:
    """The cuts must bite: with all slots in one file, one cut is enough to lose all."""
    careless = POWER.replace("    return Files(", "    return One(").replace(
        "def mounted",
        "class One(Files):\n    def read(self, i):\n        return Files.read(self, 0)\n"
        "    def write(self, i, data):\n        Files.write(self, 0, data)\n\ndef mounted",
    )
    given = "import os\nVFS, COUNT, BARE, WHOLE = os.VfsLfs2, 16, False, False\n"
    with pytest.raises(RuntimeError, match="Lost"):
        roomy(interpreter).run(given + careless)
