"""The weather that a file tells: what an outdoor thermometer said, or somebody's records of it."""

import math
from bisect import bisect_right
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

GAP_S = 3 * 3600.0  # readings that are further apart tell nothing of the time in between
_TAIL = 4_000_000  # bytes that are read, from the end
_LOOK_S = 600.0


def outdoors(
    path: Path | None, from_s: float, until_s: float
) -> tuple[Callable[[float], float | None], list[str]]:
    """Return how warm it was at a time, None where nobody knows, and what is wrong with that.

    A line is a time, in seconds of the epoch or as 2026-11-23T08:00:00+01:00, a comma and degrees
    Celsius. What is no such line is passed over, so that a header may stand there, and one that
    is only half written.

    Args:
        path: None for no weather, which is nothing wrong.
        from_s: the time that matters, from here on.
    """
    if path is None:
        return lambda at_s: None, []
    try:
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - _TAIL, 0))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError as fault:
        why = (
            f"the weather file {path} cannot be read ({fault.strerror}), so it is the room file's"
        )
        return lambda at_s: None, [why]
    told = dict(filter(None, map(_told, lines)))
    times = sorted(told)

    def at(at_s: float) -> float | None:
        after = bisect_right(times, at_s)
        near = times[max(after - 1, 0) : after + 1]
        if not near or not near[0] - GAP_S <= at_s <= near[-1] + GAP_S:
            return None
        if len(near) == 1 or at_s == near[0]:
            return told[near[0]]
        before_s, after_s = near
        if after_s - before_s > GAP_S:
            return None
        share = (at_s - before_s) / (after_s - before_s)
        return told[before_s] + share * (told[after_s] - told[before_s])

    steps = range(max(round((until_s - from_s) / _LOOK_S), 1))
    gone = sum(at(until_s - _LOOK_S * step) is None for step in steps)
    if not gone:
        return at, []
    return at, [
        f"the weather file {path.name} tells nothing of {gone * _LOOK_S / 3600:.1f} of the last "
        f"{(until_s - from_s) / 3600:.0f} h (gaps of over {GAP_S / 3600:.0f} h, or no numbers), "
        "so there it is the room file's"
    ]


def _told(line: str) -> tuple[float, float] | None:
    """Return the time and the degrees of a line, None where it tells no such things."""
    at, _, degrees = line.partition(",")
    try:
        at_s = datetime.fromisoformat(at).timestamp() if "-" in at[1:] else float(at)
        told = at_s, float(degrees)
    except (ValueError, OverflowError, OSError):
        return None
    return told if all(map(math.isfinite, told)) else None
