"""Where the three slots of a budget are kept. Whatever keeps them has two methods:

    read(i)         the bytes of slot i, b"" where nothing was ever written; may raise OSError
    write(i, data)  returns when the data, at most 254 bytes, is on the medium; or OSError

When the power fails in the middle of a write, slot i may hold anything at all, but the other
slots must be as they were. What was tried, with the power cut within each erasure and each
program of a block (tests/interpreters/test_budget.py):

    Blocks                three erase blocks of their own: safe, and the old chain key is gone
    Files on littlefs2    safe; the old chain key lies in its log until that is compacted, some
                          forty writes later with blocks of 4 KB, for who reads the bare chip
    Files on FAT, where the medium writes a sector whole or not at all: safe
    Files on FAT on bare flash, which erases a sector before it writes: all slots can be lost,
                          for one sector names all the files. Nothing is answered then, ever: the
                          device must be enrolled again. Use littlefs2 or Blocks there

Wear, for each lease: Blocks erases each of its three blocks once, so give it one of 8 answers;
longer ones spare nothing, for the slots are never more than 8 numbers of Rounds behind.
littlefs2 with blocks of 4 KB erases one block in five leases, and takes turns among those
that are free: with leases of 8 and an answer a minute, 13,000 erasures a year among them all.

On a PC, Files are as safe as its file system and disk keep what `fsync` was told.
"""

from .budget import COUNT as COUNT
from .budget import PAGE as PAGE
from .budget import Files as Files  # what a device usually has


class Ram:
    """Slots that are gone with the process: for demonstrations and tests."""

    def __init__(self):
        self._held = [b""] * COUNT

    def read(self, i):
        """Return what slot i holds."""
        return self._held[i]

    def write(self, i, data):
        """Write slot i."""
        self._held[i] = bytes(data)


class Blocks:
    """Three erase blocks of a flash, from `first` on, with no file system on them.

    device: what MicroPython calls an extended block device: `rp2.Flash(start=...)`, or the
    `esp32.Partition` of a partition made for it.
    """

    def __init__(self, device, first=0):
        self._device = device
        self._first = first

    def read(self, i):
        """Return what slot i holds; b"" where the block is erased."""
        page = bytearray(PAGE)
        self._device.readblocks(self._first + i, page, 0)
        return b"" if page[0] == 255 else bytes(page[1 : 1 + page[0]])

    def write(self, i, data):
        """Erase the block of slot i, then program its first page: the length, then the data."""
        if len(data) >= PAGE - 1:
            raise ValueError(
                "%d bytes came for a slot, which holds at most %d: they would be cut short. "
                "Write a smaller record" % (len(data), PAGE - 2)
            )
        self._device.ioctl(6, self._first + i)
        page = bytes([len(data)]) + data + b"\xff" * (PAGE - 1 - len(data))
        self._device.writeblocks(self._first + i, page, 0)
