"""A release fetched over the air, block by block, into the folder that does not run.

Loaded when a manifest comes. That is retained on SITE/NAME/cmd/update: the CBOR map

    {0: 1, 1: number, 2: SHA-256 of the index, 3: its bytes, 4: version of .mpy, 0 for source,
     5: bytes of flash that the index and all files take}

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
WAIT_MS = 5000  # for a block; then it is asked for again
ASKS = 3  # times in vain, then a release waits for its next manifest
WRONG = 3  # times that a file may come with another digest, or not be kept
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
    """One release on its way. `ready`: it is in force, and the board is to start again.

    least: only a release after this one is taken; it is raised by what was begun, so that who
    repeats manifests cannot have two releases take turns. wrong: times that what came was not
    what the owner signed, or could not be kept.
    """

    def __init__(self, identity, key, least, wrong=0):
        self.ready = False
        self.busy = False  # whether anything is left to fetch
        self.least, self.wrong = least, wrong
        self._who, self._key = identity, key
        self._where = topic(identity.site, identity.name)
        self._asked = None  # the block that is waited for
        self._number = 0  # of the release that comes
        self._path, self._root = "", ""  # of the file that comes, and of the folder it is for
        self._again_ms = self._asks = 0

    @property
    def done(self):
        """Say whether nothing of it is needed any more."""
        return not self.busy and self._asked is None and not self.ready

    def take(self, where, payload):
        """Take a message; return what is to be said of it, or None."""
        if where == self._where:
            try:
                body = wire.open_message(payload, self._key, where, MANIFEST)
            except wire.BROKEN as fault:
                why = "it is not signed by the owner (%s)" % type(fault).__name__
                return _ack(None, why, False)
            return self._take_manifest(*[body.get(i) for i in range(1, 6)])
        if self.busy and where == block_topic(self._who.site, self._asked):
            why = self._guard(self._put, self._asked, payload)
            if why or self.ready:
                return _ack(self._number, why or "it is whole, and is tried now", not why)
        return None

    def poll(self, now_ms):
        """Return what to ask for and to let go of now, and what to say; None for nothing.

        The first two are topics; each may be None.
        """
        before, wanted, said = self._asked, None, None
        if self.busy:
            wanted = (self._at + self._got) // BLOCK
            if wanted == before and now_ms < self._again_ms:
                return None
            self._asks = self._asks + 1 if wanted == before else 1
            if self._asks > ASKS:
                self.busy, wanted = False, None
                said = _ack(self._number, "its blocks do not come; send it again", False)
        elif before is None:
            return None
        self._asked, self._again_ms = wanted, now_ms + WAIT_MS
        site = self._who.site
        return [None if k is None else block_topic(site, k) for k in (wanted, before)] + [said]

    def _guard(self, doing, *what):
        """Do what may end the release that comes; return why it did, or ""."""
        try:
            doing(*what)
            return ""
        except ValueError as fault:
            why = str(fault)
        except MemoryError:
            why = "there is no memory to fetch it"
        except OSError as fault:
            why = "it cannot be kept (%s %s)" % (type(fault).__name__, fault)
            self.wrong += 1
            self._make_room()
        self.busy = False
        return why

    def _make_room(self):
        """Give back what a release took that cannot be kept: frames are to be kept there too."""
        try:
            if release.read().slot != self._slot:
                _clear(self._root)
        except OSError:
            pass

    def _take_manifest(self, number, digest, size, mpy, whole):
        """Take what the owner signed, and go on with what is there of that release.

        What is refused changes nothing of a release that is on its way.
        """
        held = release.read()
        if number == (held.number or self.least):  # as it does with each connection
            return _ack(number, "it is on trial") if held.tries else None
        why, newest = "", max(held.newest, self.least)
        if held.tries:
            why = "release %d is on trial; send it again later" % held.number
        elif number == held.newest:
            why = "it was tried here and went back by itself; sign a newer one"
        elif number <= newest:
            why = "only a release after %d is taken" % newest
        elif mpy and mpy != getattr(sys.implementation, "_mpy", 0) & 255:
            why = "its modules are compiled for another MicroPython"
        if why:
            return _ack(number, why, False)
        self._again_ms = 0  # what was asked for at an earlier connection does not come
        if not self.busy or number != self._number:
            self.least, self._number, self._whole = number - 1, number, whole
            self._slot = 1 if held.slot != 1 else 2  # never the one that runs
            self._root = release.ROOTS[self._slot]
            self._first = (INDEX, size, hexlify(digest).decode())
            why = self._guard(self._next)
        return _ack(number, why or "it comes", not why)

    def _put(self, asked, block):
        """Write what of a block is wanted; a short one only where it holds the rest of a file."""
        start = self._at + self._got - asked * BLOCK
        if len(block) < BLOCK and len(block) < start + self._size - self._got:
            return  # or each byte of it would be a write of its own
        while self.busy and 0 <= start < len(block):
            piece = block[start : start + self._size - self._got]
            add_durably(self._root + "/" + self._path, piece)
            self._got += len(piece)
            start += len(piece)
            if self._got == self._size:
                path, at = self._path, self._at
                self._next(at)
                if self.busy and self._at <= at:
                    self.wrong += 1
                    if self.wrong % WRONG == 0:
                        raise Refused("%s is not what the owner signed" % path)

    def _next(self, begin=0):
        """Go on with the first file from this byte on that is not whole.

        Where all are, and are so once more from the first one on, put the release in force.
        """
        at, self.busy = 0, True
        for path, size, digest in self._list():
            if at >= begin and _digest(self._root + "/" + path) != digest:
                if path == INDEX:
                    self._empty()
                _make(self._root + "/" + path)
                self._path, self._size, self._at, self._got = path, size, at, 0
                write_durably(self._root + "/" + path, b"")
                return
            at += size
        if begin:
            self._next()
        else:
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
        more = {
            "slot": self._slot,
            "number": self._number,
            "newest": max(held.newest, self._number),
        }
        more.update({"tries": release.TRIES, "back": held.slot, "back_number": held.number})
        release.write(release.replace(held, **more))
        self.busy, self.ready = False, True


def _ack(number, why, taken=True):
    return {"verb": "update", "version": number, "taken": taken, "why": why}


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
