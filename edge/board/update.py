"""Two programs on a board, of which one runs: a new one is tried, and taken back by itself.

Nothing offers it yet: no topic brings an update and no command makes one. This is what a board
does with one, without radio or pins.

A program is a folder with `edge` in it; there are two. Which runs lies in two slots, written by
turns, so that a power cut leaves the other:

    magic 4 | counter 4 | good 1 | tries left 1 | good version 4 | version on trial 4 | MAC 16

good is the folder that is known to work; the other one is on trial while its version is not
nought. Each start of it costs a try before anything of it is loaded, and once it has reached the
broker and its frame has a receipt it is good. Out of tries, the good one runs again. While there
is a trial nothing is written into the folder of the good one, and budget, epoch and keys lie in
neither folder: a program brings files of `edge` alone.

A manifest is signed by who owns the device, under a key that no gateway has: whoever may replace
the program may have it say its readings.

    Manifest {0: 1, 1: version, 2: the firmware it is for, 3: [[path, bytes, SHA-256], ...]}

A version is one whole number. None is taken that is not above the good one, nor below the one
that the enrolment names, so an old manifest that is sent again does nothing.
"""

import hashlib
from collections import namedtuple

from ..core import wire
from ..core.compat import hmac_sha256, same_bytes

MAGIC = b"hvu1"
MAC_BYTES = 16
SIZE = 4 + 4 + 2 + 8 + MAC_BYTES
TRIES = 3  # starts in which a new program must reach the broker and answer
MOST = 262144  # bytes of a program
MANIFEST_BYTES = 16384
UNWRITTEN = "which program runs cannot be written, so no other is taken. Free or mend the flash"

Standing = namedtuple("Standing", ("counter", "good", "tries", "version", "trial"))
Manifest = namedtuple("Manifest", ("version", "firmware", "files"))


class Refused(ValueError):
    """An update that this board does not take; what it has goes on."""


def read_manifest(message, key, topic):
    """Return the Manifest of a signed message; Refused where it is none of the owner's."""
    try:
        body = wire.open_message(message, key, topic, MANIFEST_BYTES)
        version, firmware = body[1], body[2]
        files = [(path, size, digest) for path, size, digest in body[3]]
        total = sum([size for _, size, _ in files])
        whole = min([size for _, size, _ in files] + [version]) >= 0 and 0 < total <= MOST
        for path, _, digest in files:
            whole = whole and len(digest) == 32 and _is_ours(path)
        if not whole or len({path for path, _, _ in files}) < len(files):
            raise ValueError
    except Exception:  # whatever a wrong type raises
        raise Refused(
            "an update came whose manifest is not whole, or not signed by this device's owner; "
            "nothing of it was written. Make it again, with the key of its enrolment"
        ) from None
    return Manifest(version, firmware, files)


def _is_ours(path):
    """Say whether a path is one of edge and of nothing beside it."""
    parts = path.split("/")
    return parts[0] == "edge" and len(parts) > 1 and not {"", ".", ".."} & set(parts)


def pack(standing, key):
    """Return the bytes of a Standing, signed with the state key."""
    body = MAGIC + standing.counter.to_bytes(4, "big") + bytes([standing.good, standing.tries])
    body += standing.version.to_bytes(4, "big") + standing.trial.to_bytes(4, "big")
    return body + hmac_sha256(key, body)[:MAC_BYTES]


def unpack(data, key):
    """Return the Standing in a slot, or None where it is cut short, torn or forged."""
    body = bytes(data[:-MAC_BYTES])
    right = hmac_sha256(key, body)[:MAC_BYTES]
    if len(data) != SIZE or body[:4] != MAGIC or not same_bytes(data[-MAC_BYTES:], right):
        return None
    counter, version, trial = [int.from_bytes(body[i : i + 4], "big") for i in (4, 10, 14)]
    return Standing(counter, body[8], body[9], version, trial)


class Programs:
    """Which of two programs runs.

    slots: of two, with `read(i)` and `write(i, data)` as a budget's. folders: two, with
    `erase()`, `write(path, at, data)` and `read(path, bytes)`, in pieces. least: the version that
    the enrolment names, which folder 0 was provisioned with.
    """

    def __init__(self, slots, state_key, folders, least):
        self._slots = slots
        self._key = state_key
        self._folders = folders
        self._least = least
        self._manifest = None
        found = [self._look(i) for i in (0, 1)]
        known = [one for one in found if one is not None]
        self.standing = Standing(0, 0, 0, least, 0)
        for one in known:
            if one.counter > self.standing.counter:
                self.standing = one
        self.running = self.standing.good

    def start(self):
        """Return the folder to run, 0 or 1; a trial's start is counted before it is loaded."""
        now = self.standing
        if now.trial and now.tries:
            if self._put(now.good, now.tries - 1, now.version, now.trial):
                self.running = 1 - now.good
        elif now.trial:
            self._put(now.good, 0, now.version, 0)  # where that fails it is out of tries still
        return self.running

    def settle(self):
        """Take the program on trial for good: it has reached the broker and has a receipt."""
        now = self.standing
        if now.trial and self.running != now.good:
            self._put(self.running, 0, now.trial, 0)

    def offer(self, manifest, firmware):
        """Make room for a new program; Refused where this board does not take it."""
        now, why = self.standing, ""
        if now.trial:
            why = "another one is on trial, and the only program that is known to work lies there"
        elif manifest.firmware != firmware:
            why = "it is for another firmware, %.20s" % manifest.firmware
        elif manifest.version <= now.version or manifest.version < self._least:
            why = "its version %d is not above %d" % (
                manifest.version,
                max(now.version, self._least - 1),
            )
        if why:
            raise Refused("an update was offered, and %s. What runs goes on" % why)
        self._manifest = None  # until the room is made
        # In both slots before a byte goes: the older one may still call that folder good.
        if not self._put(now.good, 0, now.version, 0):
            raise Refused(UNWRITTEN)
        self._folders[1 - now.good].erase()
        self._manifest = manifest

    def write(self, path, at, data):
        """Write a piece of a file of the program that was offered."""
        sizes = {} if self._manifest is None else {one[0]: one[1] for one in self._manifest.files}
        if path not in sizes or at < 0 or at + len(data) > sizes[path]:
            raise Refused("a piece came that is in no file of the update. Send the manifest first")
        self._folders[1 - self.standing.good].write(path, at, data)

    def finish(self):
        """Put the new program on trial, every byte of it right on the medium; Refused else."""
        if self._manifest is None:
            raise Refused("an update was finished that was never offered. Send it from the start")
        folder = self._folders[1 - self.standing.good]
        for path, size, digest in self._manifest.files:
            held, left = hashlib.sha256(), size
            for piece in folder.read(path, size):
                held.update(piece)
                left -= len(piece)
            if left or not same_bytes(held.digest(), digest):
                raise Refused("%.60s is not what the manifest says. Send it again" % path)
        now, trial = self.standing, self._manifest.version
        self._manifest = None
        if not self._put(now.good, TRIES, now.version, trial):
            raise Refused(UNWRITTEN)

    def _look(self, i):
        try:
            return unpack(self._slots.read(i), self._key)
        except OSError:
            return None

    def _put(self, good, tries, version, trial):
        """Write a Standing and read it back; return whether it is on the medium."""
        standing = Standing(self.standing.counter + 1, good, tries, version, trial)
        i = standing.counter & 1
        try:
            self._slots.write(i, pack(standing, self._key))
        except OSError:
            return False
        if self._look(i) != standing:
            return False
        self.standing = standing
        return True
