"""A promise for any window of so many hours: what a deployment may ask for, and what it costs.

The device keeps the promise (`edge.core.window`); here it is planned with the same rule. What was
spent is counted for up to `bound_span_s` of the device's own uptime, a little more than the
window.
"""

from bisect import bisect_left
from collections.abc import Iterator
from math import ceil, floor
from typing import TYPE_CHECKING, Any

from edge.core.window import RING, pack_first, step_of

from ..faults import OperatorFault
from ..service.operate.schedule import parse_hours

if TYPE_CHECKING:
    from .deployment import Deployment

HOUR_S = 3600
DAY_S = 24 * HOUR_S
DAYS = (("a day", 1), ("a week", 7), ("a year", 365))


def bound_span_s(window_h: int) -> int:
    """Return for how many seconds of uptime an answer is counted at most.

    >>> round(bound_span_s(24) / 3600, 2)
    25.5
    """
    return RING * step_of(HOUR_S * window_h)


def count_answers(window_h: int, every_s: float, hours: str | None = None) -> int:
    """Return how many answers a budget must pay for where one is asked every so many seconds.

    Args:
        hours: in which rounds open alone, as under [rounds]; None for all day. Devices know
            nothing of it: where more opens, as when a clock is set, they refuse what is too much.

    >>> count_answers(24, 3600), count_answers(24, 86_400), count_answers(24, 3600, "08:00-18:00")
    (26, 2, 14)
    """
    span_s = bound_span_s(window_h)
    most = floor(span_s / every_s) + 1
    if hours is None:
        return most
    # One day's hours hold so many; days that begin within them cut them in two, which hold one
    # more together. And when the clock on the wall is set, in spring or in autumn, an hour more.
    daily = _count_daily(every_s, hours)
    days, rest_s = divmod(span_s, DAY_S)
    within = days * daily + (days > 0) + min(floor(rest_s / every_s) + 1, daily + 1)
    return min(most, within + ceil(HOUR_S / every_s))


def _count_daily(every_s: float, hours: str) -> int:
    """Return how many rounds open within these hours of a day."""
    return ceil(parse_hours(hours).length_s / every_s)


def find_least_every_s(window_h: int, readings: int, hours: str | None = None) -> int:
    """Return the seconds from round to round at which so many readings last for ever.

    Args:
        hours: as for `count_answers`.

    >>> find_least_every_s(24, 24), count_answers(24, find_least_every_s(24, 24))
    (3826, 24)
    """
    lasting = range(1, bound_span_s(window_h) // readings + 2)  # the last of them all day long
    return lasting[
        bisect_left(
            lasting, True, key=lambda every_s: count_answers(window_h, every_s, hours) <= readings
        )
    ]


def make_window_record(deployment: "Deployment", limits: Any, *, spent: bool = False) -> bytes:
    """Return what the slots of a new device hold of the window; b"" without one.

    Args:
        spent: all of it, for an earlier key may have given it away within the window.

    Raises:
        OperatorFault: devices cannot keep so large a budget.
    """
    hours = deployment.privacy.window_h
    if not hours:
        return b""
    try:
        return pack_first(HOUR_S * hours, limits.budget, limits.budget if spent else 0)
    except ValueError as fault:
        raise OperatorFault(f"[privacy] epsilon is too large under window_h: {fault}") from fault


def list_cadences(window_h: int) -> Iterator[dict[str, int]]:
    """Yield other windows and cadences, and how many answers share a window: rows of a trade.

    All of rounds at all hours: the queries of those who ask know nothing of `[rounds] hours`.
    """
    for hours in sorted({8, 24, 168, window_h}):
        for every_s in (900, HOUR_S, 4 * HOUR_S):
            if every_s <= HOUR_S * hours:
                readings = count_answers(hours, every_s)
                yield {"window_h": hours, "every_s": every_s, "readings": readings}


def bound_reach_days(deployment: "Deployment") -> float:
    """Return how far back the rounds may reach that one map of a window is drawn from, in days."""
    privacy, rounds = deployment.privacy, deployment.rounds
    before = privacy.readings - 1  # rounds before the newest
    days = before * rounds.every_s / DAY_S
    if rounds.hours:  # nights lie between them, and days where one comes less often than daily
        daily = _count_daily(rounds.every_s, rounds.hours)
        days = ceil(before / daily) * ceil(rounds.every_s / DAY_S)
    return max(days, bound_span_s(privacy.window_h) / DAY_S)


def count_windows(days: int, window_h: int) -> int:
    """Return how many windows cover so many days.

    >>> count_windows(7, 24), count_windows(1, 36)
    (7, 1)
    """
    return -(-24 * days // window_h)


def check_rounds_last(deployment: "Deployment") -> None:
    """Check that the rounds go on for ever under the promise.

    Raises:
        ValueError: a device would run out, or the promise would not be one for a window.
    """
    hours, every_s = deployment.privacy.window_h, deployment.rounds.every_s
    if not hours:
        return
    readings = deployment.privacy.readings
    if every_s > HOUR_S * hours:
        raise ValueError(
            f"[privacy] window_h is {hours} and a round comes every {every_s / HOUR_S:g} h: no "
            "window holds more than one, so a budget for one window would be one for each round. "
            f"Set window_h to {-(-int(every_s) // HOUR_S)} or more"
        )
    open_h = deployment.rounds.hours
    if not every_s or (needed := count_answers(hours, every_s, open_h)) > readings:
        within = f" from {open_h.replace('-', ' to ')}" if open_h else ""
        more = f"readings = {needed}, or " if every_s else ""
        raise ValueError(
            f"[privacy] readings = {readings} share what is promised for {hours} h, and devices "
            f"count an answer for up to {bound_span_s(hours) / HOUR_S:.4g} h of their own uptime: "
            f"asked every {every_s:g} s{within} they would be out of budget part of the time. "
            f"Set {more}[rounds] every_s = {find_least_every_s(hours, readings, open_h)}"
        )
    reach_days = bound_reach_days(deployment)
    if (keep := deployment.store.keep_days) and keep < reach_days:
        raise ValueError(
            f"[store] keep_days = {keep:g} is less than the {reach_days:.4g} days that the rounds "
            "of a window may reach back, and maps are drawn from all of them. Keep for longer"
        )
    if deployment.room.plan is not None:
        raise ValueError(
            f"[privacy] window_h is {hours} in a room with a file: there the warmth of a window "
            "lingers in the next, and what that tells is not counted. Leave window_h out"
        )
    if deployment.sensors is not None and deployment.sensors.background == "following":
        raise ValueError(
            f"[privacy] window_h is {hours} with a background that is following: a level carries "
            'what it has seen into later windows. Set background = "recorded"'
        )
