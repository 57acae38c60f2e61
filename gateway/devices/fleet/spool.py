"""Frames without a receipt, oldest first, and what has become of all frames of a fleet.

A broker's acknowledgement frees nothing, for it promises memory and not a disk; the gateway's
receipt does, for it comes after the commit. One frame is under way at a time: so a device's
messages reach the gateway in the order of their numbers, whatever a broker loses in between. A
spool is bounded: what is pushed out at its old end is counted, and the gateway sees the gap.
"""

import os
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path

from ...logs import log


@dataclass
class Counts:
    """Of one device, over all its lives in this process; or of many, added up."""

    found: int = 0  # that an earlier process left
    made: int = 0
    sent: int = 0
    acknowledged: int = 0
    received: int = 0
    lost: int = 0
    refused: int = 0

    def __post_init__(self) -> None:
        self._last = {"sent": b"", "acknowledged": b""}

    def once(self, what: str, frame: bytes) -> None:
        """Count a frame as sent or as acknowledged, unless it was the last one that was."""
        if self._last[what] != frame:
            self._last[what] = frame
            setattr(self, what, getattr(self, what) + 1)

    @property
    def waiting(self) -> int:
        """How many frames wait for their receipt."""
        return self.found + self.made - self.received - self.lost


def add_counts(counts: Iterable[Counts]) -> Counts:
    """Return the sums."""
    rows = [astuple(one) for one in counts]
    return Counts(*map(sum, zip(*rows, strict=True))) if rows else Counts()


def summarize(total: Counts, deaths: int, returns: int) -> str:
    """Return what became of the frames, in a sentence.

    >>> summarize(Counts(made=9, sent=9, acknowledged=8, received=7, lost=1), 0, 0)
    '9 frames sent, 8 acknowledged by the broker, 7 received by the gateway, 1 waiting, 1 lost'
    """
    said = (
        f"{total.sent:,} frames sent, {total.acknowledged:,} acknowledged by the broker, "
        f"{total.received:,} received by the gateway, {total.waiting:,} waiting, "
        f"{total.lost:,} lost"
    )
    if total.refused:
        said += f"; {total.refused:,} of those received came too late to count, or were refused"
    if deaths:
        said += (
            f"; devices died without a goodbye {deaths:,} times and came back {returns:,} times"
        )
    return said


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


def keep_in_memory(name: str, key_id: bytes) -> Spool:
    """Return a spool that is gone with the process."""
    return Spool()


def _record(kind: bytes, frame: bytes) -> bytes:
    body = kind + len(frame).to_bytes(4, "big") + frame
    return body + zlib.crc32(body).to_bytes(_SUM_BYTES, "big")


class Shelf:
    """The frames of one device, oldest first, and counted; of any length."""

    size = 1 << 20
    trouble = ""  # what is lost is counted and logged here, and no state of the device

    def __init__(self, spool: Spool, name: str, counts: Counts) -> None:
        self._spool, self._name, self._counts = spool, name, counts

    def __len__(self) -> int:
        return len(self._spool)

    @property
    def overwritten(self) -> int:
        """How many frames are lost, for there was no room for them."""
        return self._counts.lost

    def put(self, frame: bytes) -> None:
        """Keep a frame; where that cannot be it goes out once, and is counted as lost."""
        self._counts.made += 1
        before = self._spool.overwritten
        try:
            self._spool.put(frame)
            lost = self._spool.overwritten - before
        except OSError as fault:
            lost = 1
            log.warning(
                "a frame cannot be written to the spool; it is sent once, without a second try",
                device=self._name,
                why=fault.strerror,
            )
        else:
            if lost:
                log.warning(
                    "spool full: dropped the oldest unacknowledged frame", device=self._name
                )
        self._counts.lost += lost

    def oldest(self) -> bytes | None:
        """Return the frame that waits longest, or None."""
        return self._spool.oldest

    def free(self, frame: bytes | None = None) -> bool:
        """Forget the oldest, if it is this one where one is given; say whether it was."""
        held = self._spool.oldest
        if held is None or (frame is not None and frame != held):
            return False
        self._spool.free()
        self._counts.received += 1
        return True

    def abandon(self) -> None:
        """Count what goes with the process, where nothing outlives it."""
        if type(self._spool) is Spool:
            self._counts.lost += len(self._spool)
            self._spool = Spool()


def keep_in_folder(folder: Path) -> Callable[[str, bytes], Spool]:
    """Return what gives the lasting spool of a device; under a new key it is another one.

    Nobody receipts what an old key signed, so it would block what comes after.
    """
    return lambda name, key_id: Lasting(folder / f"{name}.{key_id.hex()}.spool")
