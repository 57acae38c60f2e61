"""Frames without a receipt, and what has become of all frames of a fleet.

A broker's acknowledgement frees nothing, for it promises memory and not a disk; the gateway's
receipt does, for it comes after the commit. One frame is under way at a time: so a device's
messages reach the gateway in the order of their numbers, whatever a broker loses in between. A
spool is bounded: what is pushed out at its old end is counted, and the gateway sees the gap. On
the disk it has two halves of 64 KB; when both are full, the older one goes with all its frames.
"""

from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from pathlib import Path

from edge.host.post import REPORT_BYTES
from edge.net.ring import File, Ring

from ...logs import log


@dataclass
class FrameCounts:
    """Of one device, over all its lives in this process; or of many, added up."""

    sent: int = 0
    acknowledged: int = 0
    received: int = 0
    waiting: int = 0  # for their receipt; those too that an earlier process left
    lost: int = 0
    refused: int = 0

    def __post_init__(self) -> None:
        self._last = {"sent": b"", "acknowledged": b""}

    def count_once(self, what: str, frame: bytes) -> None:
        """Count a frame as sent or as acknowledged, unless it was the last one that was."""
        if self._last[what] != frame:
            self._last[what] = frame
            setattr(self, what, getattr(self, what) + 1)


def add_counts(counts: Iterable[FrameCounts]) -> FrameCounts:
    """Return the sums."""
    rows = [astuple(one) for one in counts]
    return FrameCounts(*map(sum, zip(*rows, strict=True))) if rows else FrameCounts()


def describe_frame_counts(total: FrameCounts, deaths: int, returns: int) -> str:
    """Return what became of the frames, in a sentence.

    >>> counts = FrameCounts(sent=9, acknowledged=8, received=7, waiting=1, lost=1)
    >>> describe_frame_counts(counts, 0, 0)
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


MEMORY_BYTES = REPORT_BYTES + 2  # whatever a device sends, one frame of it fits
FILE_BYTES = 1 << 17


class Shelf(Ring):
    """The frames of one device as a board keeps them; with a path, on the disk once they are put.

    It outlives the deaths of its device, and so does what it counts. What is receipted may come
    again after the process was killed: the gateway absorbs it.
    """

    def __init__(self, name: str, path: Path | None = None) -> None:
        super().__init__(MEMORY_BYTES, None if path is None else File(str(path), FILE_BYTES))
        self._name, self.received = name, 0

    def put(self, frame: bytes) -> None:
        """Keep a frame; where that cannot be it goes out once, and is counted as lost."""
        before = self.overwritten
        super().put(frame)
        self.save()
        if self.overwritten > before:
            log.warning(
                "frames without a receipt were dropped; the spool is full or cannot be written",
                device=self._name,
                frames=self.overwritten - before,
                why=self.trouble,
            )

    def drop_oldest(self, frame: bytes | None = None) -> bool:
        """Forget the oldest, if it is this one where one is given; say whether it was."""
        freed: bool = super().drop_oldest(frame)
        self.received += freed
        return freed

    def lose_memory(self) -> None:
        """Lose, and count as lost, what is not on the disk: the device's power fails."""
        self.overwritten += self._count
        while self._count:
            self._drop()


def make_memory_spool(name: str, key_id: bytes) -> Shelf:
    """Return a spool that is gone with the process."""
    return Shelf(name)


def make_folder_spools(folder: Path) -> Callable[[str, bytes], Shelf]:
    """Return what gives the lasting spool of a device; under a new key it is another one.

    Nobody receipts what an old key signed, so it would block what comes after.
    """
    return lambda name, key_id: Shelf(name, folder / f"{name}.{key_id.hex()}.spool")
