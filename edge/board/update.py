"""A release fetched over the air, block by block, into the folder that does not run.

Loaded when a manifest comes. That is retained on SITE/NAME/cmd/update: the CBOR map

    {0: 1, 1: number, 2: SHA-256 of the index, 3: its bytes, 4: version of .mpy, 0 for source,
     5: bytes of the index and all files}

with its MAC, as in `wire`, under the device's update key, which its owner has and no gateway.
SITE/update/K holds block K of the index and the files, one after the other; a line of the index
is "size sha256 path". So what is believed follows from the MAC, digest by digest, whoever can
write the blocks.

A file is on the medium when the next is begun, and each digest is taken again from there before
the release is put in force. Cut off, it goes on with the first file that is not whole.
"""

import errno
import hashlib
import os
import sys
from binascii import hexlify

from ..core import wire
from ..core.compat import ABSENT, add_durably, write_durably
from . import release

BLOCK = 1024
MANIFEST = 128  # bytes of it, at most
WAIT_MS = 20000  # for a block; then it is asked for again
WRONG = 3  # times that a file may come with another digest
SPARE = 98304  # bytes of flash that stay free: frames that wait, the budget, the config
INDEX = "edge.index"
ROMFS = ("/rom",)
OWN = "/edge/board/sensors/yours.py"  # a driver of the owner's, which no release holds


def topic(site, node):
    """Return the topic on which a device takes a release."""
    return wire.topic(site, node, "cmd/update")


def block_topic(site, number):
    """Return the topic of a block."""
    return wire.topic(site, "update", str(number))


class Refused(ValueError):
    """A release that is not taken, and why."""


class Update:
    """One release on its way. `ready`: it is in force, and the board is to start again."""

    def __init__(self, identity, key, least):
        self.ready = False
        self.busy = False  # whether anything is left to fetch
        self._who, self._key, self._least = identity, key, least
        self._where = topic(identity.site, identity.name)
        self._asked = None  # type: ignore[assignment]  # the block that is waited for
        self._path, self._number = "", None  # of the file that comes, and of its release
        self._again_ms = self._wrong = 0

    @property
    def done(self):
        """Say whether nothing of it is needed any more."""
        return not self.busy and self._asked is None and not self.ready

    def take(self, where, payload):
        """Take a message; return what is to be said of it, or None."""
        try:
            if where == self._where:
                return self._begin(payload)
            if self.busy and where == block_topic(self._who.site, self._asked):
                self._put(payload)
                if self.ready:
                    return self._ack("it is whole, and is tried now")
            return None
        except ValueError as fault:
            why = str(fault)
        except (OSError, MemoryError) as fault:
            why = "it cannot be kept (%s %s)" % (type(fault).__name__, fault)
        self.busy = False
        return self._ack(why, False)

    def due(self, now_ms):
        """Return the topics to ask for and to let go of now, each or None; None for nothing."""
        before, wanted = self._asked, None
        if self.busy:
            wanted = (self._at + self._got) // BLOCK
            if wanted == before and now_ms < self._again_ms:
                return None
        elif before is None:
            return None
        self._asked, self._again_ms = wanted, now_ms + WAIT_MS
        return [None if k is None else block_topic(self._who.site, k) for k in (wanted, before)]

    def _ack(self, why="", taken=True):
        return {"verb": "update", "version": self._number, "taken": taken, "why": why}

    def _begin(self, message):
        """Take a manifest, and go on with what is there of its release."""
        self._number = None
        try:
            body = wire.open_message(message, self._key, self._where, MANIFEST)
        except wire.BROKEN as fault:
            raise Refused("it is not signed by the owner (%s)" % type(fault).__name__) from None
        self._number, digest, size, mpy, whole = [body.get(i) for i in range(1, 6)]
        held = release.read()
        if self._number == held.number:
            return self._ack("it is on trial" if held.tries else "it runs")
        if held.tries:
            raise Refused("release %d is on trial; send it again later" % held.number)
        if self._number == held.newest:
            raise Refused("it was tried here and went back by itself; sign a newer one")
        newest = max(held.newest, self._least)
        if self._number <= newest:
            raise Refused("release %d was had already; only a newer one is taken" % newest)
        if mpy and mpy != getattr(sys.implementation, "_mpy", 0) & 255:
            raise Refused("its modules are compiled for another MicroPython")
        self._slot = 1 if held.slot != 1 else 2  # never the one that runs
        self._root = release.ROOTS[self._slot]
        self._whole = whole
        self._first = (INDEX, size, hexlify(digest).decode())
        self._again_ms = self._wrong = 0
        self._next()
        return self._ack("it comes")

    def _put(self, block):
        """Write what of a block is wanted."""
        start = self._at + self._got - self._asked * BLOCK
        while self.busy and 0 <= start < len(block):
            piece = block[start : start + self._size - self._got]
            add_durably(self._root + "/" + self._path, piece)
            self._got += len(piece)
            start += len(piece)
            if self._got == self._size:
                path = self._path
                self._next()
                self._wrong += self.busy and path == self._path
                if self._wrong >= WRONG:
                    raise Refused("%s is not what the owner signed" % path)

    def _next(self):
        """Go on with the first file that is not whole; where all are, put the release in force."""
        at, self.busy = 0, True
        for path, size, digest in self._list():
            if _digest(self._root + "/" + path) != digest:
                if path == INDEX:
                    self._empty()
                _make(self._root + "/" + path)
                self._path, self._size, self._at, self._got = path, size, at, 0
                write_durably(self._root + "/" + path, b"")
                return
            at += size
        self._switch()

    def _list(self):
        """Yield (path, bytes, digest) of all files, the index first."""
        yield self._first
        with open(self._root + "/" + INDEX) as index:
            for line in index:
                size, digest, path = line.split()
                if path[:5] != "edge/" or ".." in path:
                    raise Refused("it holds a file that is none of a release")
                yield path, int(size), digest

    def _empty(self):
        """Make room for another release, and see that there is enough."""
        _clear(self._root)
        if hasattr(os, "statvfs"):
            found = os.statvfs("/")
            free = found[0] * found[3]
            if free < self._whole + SPARE:
                raise Refused("it takes %d bytes of flash and %d are free" % (self._whole, free))

    def _switch(self):
        held = release.read()
        for root in (release.ROOTS[held.slot],) if held.slot else ROMFS + release.ROOTS[:1]:
            _copy(root + OWN, self._root + OWN)
        more = {"slot": self._slot, "number": self._number, "newest": self._number}
        more.update({"tries": release.TRIES, "back": held.slot, "back_number": held.number})
        release.write(release.change(held, **more))
        self.busy, self.ready = False, True


def _digest(path):
    """Return the SHA-256 of a file in hexadecimal, "" where there is none."""
    found = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            part = file.read(512)
            while part:
                found.update(part)
                part = file.read(512)
    except OSError:
        return ""
    return hexlify(found.digest()).decode()


def _make(path):
    """Make the folders that a file lies in."""
    folder = path[: path.rfind("/")]
    try:
        os.mkdir(folder)
    except OSError as why:
        if why.errno in ABSENT:
            _make(folder)
            os.mkdir(folder)
        elif why.errno != errno.EEXIST:
            raise


def _clear(path):
    """Remove a folder with all that is in it; the index first, by which it would be believed."""
    try:
        os.remove(path + "/" + INDEX)
    except OSError:
        pass
    try:
        names = os.listdir(path)
    except OSError:
        return
    for name in names:
        try:
            os.remove(path + "/" + name)
        except OSError:
            _clear(path + "/" + name)
    os.rmdir(path)


def _copy(old, new):
    """Copy a file that may not be there."""
    if not _digest(old):
        return
    _make(new)
    write_durably(new, b"")
    with open(old, "rb") as file:
        part = file.read(512)
        while part:
            add_durably(new, part)
            part = file.read(512)
