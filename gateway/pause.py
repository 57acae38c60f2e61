"""What lies between two rounds: the pause, the hours of the day, and what stands in the way."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from queue import Empty, SimpleQueue

from .operate import schedule
from .operating import Rounds

GLANCE_S = 0.5  # how often what stands in the way is looked at


class Pause:
    """Knows when the last round opened, by a clock that nobody sets."""

    def __init__(self, opened_s: float | None) -> None:
        """Begin with the last round of all, whoever opened it.

        Args:
            opened_s: when, by the wall's clock; None for never. That clock alone outlives a
                start: where it was set back meanwhile, the whole pause is kept once more.
        """
        self._opened_s: float | None = None
        if opened_s is not None:
            self._opened_s = time.monotonic() - max(time.time() - opened_s, 0)

    def begin(self, out_s: float) -> None:
        """Count from the moment at which the broker had a round, by the monotonic clock.

        By that devices reckon when they may be asked again, however long it waited before.
        """
        self._opened_s = out_s

    def wait_s(self, rounds: Rounds) -> float:
        """Return after how long to ask again; 0 when a round may open now."""
        rest_s = 0.0
        if self._opened_s is not None:
            rest_s = self._opened_s + rounds.every_s - time.monotonic()
        left_s = schedule.wait_s(rest_s, rounds.hours, _wall())
        return min(left_s, GLANCE_S)  # what is waited for may change meanwhile

    def why(self, rounds: Rounds) -> str:
        """Return why no round may open at this hour, or nothing."""
        return schedule.refusal(rounds.hours, _wall())


def _wall() -> datetime:
    """Return what the clock on the wall shows here."""
    return datetime.now().astimezone()


class Changes:
    """What is to change between two rounds; any thread asks, and nothing asked for is lost."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def ask(self, change: Callable[[], None]) -> None:
        """Have this called by whoever makes the changes."""
        self._asked.put(change)

    def made(self) -> bool:
        """Make the changes, in the order of asking; return whether there were any."""
        made = 0
        with suppress(Empty):
            while True:
                self._asked.get_nowait()()
                made += 1
        return made > 0
