"""What has become of the frames of a fleet: counted by each device, summed for people.

    made          hidden, signed and kept
    sent          on their way to the broker for the first time
    acknowledged  the broker says that it has them
    received      the gateway's receipt has come: they are in its store
    refused       of these: for a round that had closed, or of a device that it does not know; in
                  its store they are among what it would not count
    lost          had to make room, or could not be kept, before that

A frame that is sent again is not counted again, whatever it takes.
"""

from collections.abc import Iterable
from dataclasses import astuple, dataclass


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


def added(counts: Iterable[Counts]) -> Counts:
    """Return the sums."""
    rows = [astuple(one) for one in counts]
    return Counts(*map(sum, zip(*rows, strict=True))) if rows else Counts()


def summary(total: Counts, deaths: int, returns: int) -> str:
    """Return what became of the frames, in a sentence.

    >>> summary(Counts(made=9, sent=9, acknowledged=8, received=7, lost=1), 0, 0)
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
