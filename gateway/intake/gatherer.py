"""What a campaign sees of whoever gathers the answers: one writer here, or many workers."""

from typing import Protocol

from ..rounds import OpenRound


class Gatherer(Protocol):
    """Takes the answers to one round at a time."""

    def open(self, round: OpenRound) -> None:
        """Take reports for this round from now on."""

    def begin(self) -> None:
        """Start to decide; until then what comes waits."""

    def wait_complete(self, patience_s: float) -> bool:
        """Wait until every enrolled device has answered; False when patience ended before."""

    def close_round(self) -> OpenRound | None:
        """Return the round as it stands, all of it committed; what comes now is late."""

    def standing(self) -> OpenRound | None:
        """Return the round that was opened last, open or closed, or None before the first."""

    def stop(self) -> None:
        """Commit and let go of what has come so far, and end."""
