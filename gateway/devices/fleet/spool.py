"""What a device has answered and has no receipt for: noised frames, oldest first.

A broker's acknowledgement frees nothing, for it promises memory and not a disk; the gateway's
receipt does, for it comes after the commit. One frame is under way at a time: so a device's
messages reach the gateway in the order of their numbers, whatever a broker loses in between.

The spool is bounded. What is pushed out at its old end is counted, and the gateway sees the gap
in the numbers.
"""

import os
import zlib
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ROOM = 256  # frames of one device: ten days of hourly rounds
LONGEST_BYTES = 1 << 16  # of the file before it is written anew
_PUT, _FREE = b"+", b"-"
_HEAD_BYTES, _SUM_BYTES = 5, 4


class Spool:
    """The frames of one device, in memory."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._frames: deque[bytes] = deque()
        self.overwritten = 0  # frames that were pushed out before a receipt came

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def oldest(self) -> bytes | None:
        """The frame whose turn it is; None when all are receipted."""
        return self._frames[0] if self._frames else None

    def frames(self) -> list[bytes]:
        """Return all of them, oldest first."""
        return list(self._frames)

    def put(self, frame: bytes) -> None:
        """Keep a frame; it is kept when this returns."""
        if len(self._frames) >= self._room:
            self._frames.popleft()
            self.overwritten += 1
        self._frames.append(frame)

    def free(self) -> None:
        """Forget the oldest: its receipt has come."""
        self._frames.popleft()


class Lasting(Spool):
    """The frames of one device, in a file that outlives the process and a power cut.

        record = + or - || length, 4 bytes || frame || CRC-32 of all before, 4 bytes

    A frame is appended and flushed, what frees it is appended and not flushed: when that is lost
    the frame is sent once more, and the gateway absorbs it. What a power cut left half written at
    the end is cut off: nobody was told that it was kept.
    """

    def __init__(self, path: Path, room: int = ROOM) -> None:
        """Take what an earlier process left in the file; an OSError where that cannot be read."""
        super().__init__(room)
        self._path, self._bytes = path, 0
        with suppress(FileNotFoundError):
            self._replay(path.read_bytes())

    def put(self, frame: bytes) -> None:
        """Keep a frame; it is on the disk when this returns."""
        self._append(_PUT, frame, durably=True)
        super().put(frame)
        if self._bytes > LONGEST_BYTES:
            with suppress(OSError):  # it is kept as it is, and the next one tries again
                self._rewrite()

    def free(self) -> None:
        """Forget the oldest: its receipt has come."""
        super().free()
        if self._frames:
            self._append(_FREE, b"", durably=False)
        else:
            os.truncate(self._path, 0)
            self._bytes = 0

    def _append(self, kind: bytes, frame: bytes, *, durably: bool) -> None:
        record = _record(kind, frame)
        opened = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            if os.write(opened, record) < len(record):
                raise OSError(28, "No space left for a frame")
            if durably:
                os.fsync(opened)
        except OSError:  # nobody is told that it was kept: cut off what is there of it
            os.ftruncate(opened, self._bytes)
            raise
        finally:
            os.close(opened)
        self._bytes += len(record)

    def _replay(self, found: bytes) -> None:
        at = 0
        while len(found) - at >= _HEAD_BYTES + _SUM_BYTES:
            kind, size = (
                found[at : at + 1],
                int.from_bytes(found[at + 1 : at + _HEAD_BYTES], "big"),
            )
            end = at + _HEAD_BYTES + size
            if found[at : end + _SUM_BYTES] != _record(kind, found[at + _HEAD_BYTES : end]):
                break
            if kind == _PUT:
                super().put(found[at + _HEAD_BYTES : end])
            elif self._frames:
                super().free()
            at = end + _SUM_BYTES
        self._bytes, self.overwritten = at, 0  # what was pushed out before was counted before
        if at < len(found):
            os.truncate(self._path, at)

    def _rewrite(self) -> None:
        beside = self._path.with_name(self._path.name + ".new")
        kept = b"".join(_record(_PUT, frame) for frame in self._frames)
        with beside.open("wb") as file:
            file.write(kept)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)
        self._bytes = len(kept)


def in_folder(folder: Path) -> Callable[[str, bytes], Spool]:
    """Return what gives the lasting spool of a device in this folder, by its name and key id.

    Under a new key a device begins anew: what an old key signed nobody would give a receipt for.
    """
    return lambda name, key_id: Lasting(folder / f"{name}.{key_id.hex()}.spool")


def in_memory(name: str, key_id: bytes) -> Spool:
    """Return a spool that is gone with the process."""
    return Spool()


def _record(kind: bytes, frame: bytes) -> bytes:
    body = kind + len(frame).to_bytes(4, "big") + frame
    return body + zlib.crc32(body).to_bytes(_SUM_BYTES, "big")
