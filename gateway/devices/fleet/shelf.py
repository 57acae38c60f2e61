"""A spool as `edge.device` wants its ring: frames without a receipt, counted.

A board keeps frames in memory and spills them to flash; a process that may be killed at any moment
has each of them on the disk before it goes out.
"""

import structlog

from .counts import Counts
from .spool import Spool

log = structlog.get_logger()


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
            log.warning("a frame cannot be kept", device=self._name, why=fault.strerror)
        else:
            if lost:
                log.warning("a frame without a receipt made room", device=self._name)
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
