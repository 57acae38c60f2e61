"""What differs between Pythons, and only what this package needs.

All else is one source for MicroPython and CPython, but for streams (see `net.link`) and what is
CPython's alone (`edge.cpython`).
"""

import errno
import gc
import hashlib
import os
import sys
import time

if (1 << 70) >> 69 != 2:
    # Keys are whole numbers of 512 bits here, and great noise squares more than 64; on a build
    # with 64-bit integers it would overflow at a moment that depends on the noise.
    raise RuntimeError(
        "this Python has no big integers, which exact noise needs; "
        "flash a firmware built with MICROPY_LONGINT_IMPL_MPZ"
    )

BLOCK = 64  # bytes in a SHA-256 block
_INNER, _OUTER = [int.from_bytes(pad * BLOCK, "big") for pad in (b"\x36", b"\x5c")]
ABSENT = (errno.ENOENT, 44)  # no such file; the WebAssembly port has the number of WASI


def sha256(data):
    """Return the 32-byte SHA-256 digest of data."""
    return hashlib.sha256(data).digest()


def hmac_sha256(key, data):
    """Return the 32-byte HMAC-SHA256 of data (RFC 2104); boards have no `hmac` module.

    key: bytes, or what `hmac_pads` made of them, for a key that is used often.
    """
    inner, outer = key if isinstance(key, tuple) else hmac_pads(key)
    hashed = hashlib.sha256(inner)
    hashed.update(data)
    inner = hashed.digest()
    hashed = hashlib.sha256(outer)
    hashed.update(inner)
    return hashed.digest()


def hmac_pads(key):
    """Return the blocks of 64 bytes that the two hashes of an HMAC by this key begin with."""
    if len(key) > BLOCK:
        key = sha256(key)
    block = int.from_bytes(key + bytes(BLOCK - len(key)), "big")  # XOR of all bytes in one go
    return (block ^ _INNER).to_bytes(BLOCK, "big"), (block ^ _OUTER).to_bytes(BLOCK, "big")


def os_entropy(size):
    """Return `size` bytes of the system, often weak ones: see `entropy.sealed`; b"" for none."""
    if not hasattr(os, "urandom"):
        return b""
    return os.urandom(size)


def draw_jitter(most):
    """Return a whole number below `most`, 65536 at most, that is not the neighbour's.

    For waiting, so that not all come back at once, and for nothing else: where the port has no
    source of entropy it is the clock's.
    """
    held = os_entropy(2)
    return (held[0] << 8 | held[1] if held else _ticks()) % most


def free_heap():
    """Return the bytes of heap that are free, or 0 where the system has them to give."""
    if not hasattr(gc, "mem_free"):
        return 0
    gc.collect()
    return gc.mem_free()


def collect_garbage():
    """Collect garbage on a board, so that what comes next lies in one piece."""
    if hasattr(gc, "mem_free"):
        gc.collect()


def forget(name):
    """Give a board back the memory of a module that is not needed again: edge.board.config.

    Nothing that is still in use may have been made in it. Where memory is plenty it stays.
    """
    if hasattr(gc, "mem_free") and name in sys.modules:
        folder, _, leaf = name.rpartition(".")
        if hasattr(sys.modules[folder], leaf):  # not there where its load broke off
            delattr(sys.modules[folder], leaf)
        del sys.modules[name]
        gc.collect()


def same_bytes(a, b):
    """True if a equals b, in a time that does not depend on where they differ."""
    if len(a) != len(b):
        return False
    differing = 0
    for i in range(len(a)):
        differing |= a[i] ^ b[i]
    return differing == 0


class Uptime:
    """Milliseconds since it was made. Nothing from the network sets it, and it never wraps.

    A board's own counter of milliseconds starts again after some days, and everything that
    waits for a moment would then wait for as many more. Look at it once a day at the least.
    """

    EARLY_MS = 0  # how long before its moment a wait leaves the rest to `block_until`

    def __init__(self):
        self._sum = 0
        self._last = _ticks()

    def now_ms(self):
        """Return the milliseconds since this clock was made."""
        now = _ticks()
        self._sum += _ticks_between(now, self._last)
        self._last = now
        return self._sum

    def block_until(self, due_ms):
        """Return at the very beginning of this millisecond: boards wake up then by themselves."""


def _ticks():
    if hasattr(time, "ticks_ms"):
        return time.ticks_ms()
    return time.monotonic_ns() // 1000000


def _ticks_between(later, earlier):
    if hasattr(time, "ticks_diff"):
        return time.ticks_diff(later, earlier)
    return later - earlier


if hasattr(os, "fsync"):
    from ..cpython import add_durably as add_durably
    from ..cpython import write_durably as write_durably
else:

    def write_durably(path, data):
        """Write a whole file and return when it is on the medium, not merely on its way there."""
        _write(path, data, "wb")

    def add_durably(path, data):
        """Add to the end of a file and return when it is on the medium."""
        _write(path, data, "ab")

    def _write(path, data, how):
        with open(path, how) as file:
            file.write(data)
            file.flush()  # which asks the file system to sync the file
        if hasattr(os, "sync"):
            os.sync()  # some ports keep a cache below the file system


def read_whole(path, longest):
    """Return the bytes of a file, its first `longest` at most, or b"" where there is none."""
    try:
        with open(path, "rb") as file:
            return file.read(longest)
    except OSError as why:
        if why.errno in ABSENT:
            return b""
        raise
