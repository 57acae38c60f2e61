"""When the next round may open: by the pause since the last one, and by the hours of the day.

Two clocks, and each has its own say. The pause between rounds is of the monotonic clock, which
nobody sets; the hours are of the machine's clock on the wall, which people set, and which jumps
twice a year. So a step of the wall clock, however far, moves no round nearer to the last one, and
because the wall is looked at again every minute it holds none back for longer than the new time
asks. There is no I/O in here: both clocks come in.
"""

from datetime import datetime, time
from typing import NamedTuple

from recovery.maps.sentence import Wording

LOOK_S = 60.0  # how long the wall clock is believed: it may be set meanwhile


class Hours(NamedTuple):
    """When rounds may open, from the one to the other; over midnight where they are so."""

    first: time
    last: time

    def contains(self, now: datetime) -> bool:
        """Return whether it is that time of day on this clock.

        >>> night = parse_hours("22:00-06:00")
        >>> night.contains(datetime(2026, 1, 1, 23)), night.contains(datetime(2026, 1, 1, 6))
        (True, False)
        """
        at = now.time()
        if self.first < self.last:
            return self.first <= at < self.last
        return at >= self.first or at < self.last

    @property
    def length_s(self) -> int:
        """For how many seconds of a day rounds may open."""
        first, last = (3600 * one.hour + 60 * one.minute for one in self)
        return (last - first) % 86_400


def parse_hours(text: str) -> Hours:
    """Return the hours that `[rounds] hours` names, as in "08:00-18:00"."""
    first, last = (time.fromisoformat(part) for part in text.split("-"))
    return Hours(first, last)


def compute_wait_s(rest_s: float, hours: str | None, now: datetime) -> float:
    """Return after how long to ask again; 0 when a round may open now.

    Args:
        rest_s: what is left of the pause after the last round, by the monotonic clock.
        hours: as in the deployment file; None for always.
        now: what the clock on the wall shows, in the zone that the hours are of.

    >>> noon = datetime(2026, 1, 1, 12)
    >>> compute_wait_s(0, "08:00-18:00", noon), compute_wait_s(5, None, noon)
    (0.0, 5)
    """
    if rest_s > 0:
        return rest_s
    if hours is None or parse_hours(hours).contains(now):
        return 0.0
    # To the opening or to the next look, whichever is first. What the wall shows then counts,
    # so an hour that a change to summer time leaves out, or has twice, needs no reckoning.
    opens = datetime.combine(now.date(), parse_hours(hours).first)
    left_s = (opens - now.replace(tzinfo=None)).total_seconds()
    return min(left_s, LOOK_S) if left_s > 0 else LOOK_S


def explain_closed_hours(hours: str | None, now: datetime) -> str:
    """Return why no round may open at this time of day, or nothing."""
    if hours is None or parse_hours(hours).contains(now):
        return ""
    first, last = hours.split("-")
    return _OUTSIDE(first=first, last=last, now=f"{now:%H:%M}")


_OUTSIDE = Wording("rounds.hours", "rounds open from {first} to {last}, and it is {now}")
