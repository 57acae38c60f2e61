"""Paths as a room file writes them: times and places, "stay" and "out"."""

from typing import Any

from ..records import Waypoint
from .kinds import Kind, Wrong
from .times import clock, seconds

EXPECTED = '["HH:MM", x, y] in metres, ["HH:MM", "stay"] or ["HH:MM", "out"]'
EXAMPLE = '[["08:30", 0.3, 3.8], ["08:31", 1.5, 1.6], ["12:00", "stay"], ["12:00", "out"]]'


def _stays(given: Any) -> tuple[tuple[Waypoint, ...], ...]:
    """Return the stays that a path tells of, each from coming in to going out."""
    if not isinstance(given, list) or not given:
        raise Wrong
    stays: list[list[Waypoint]] = []
    inside, last_s = False, 0.0
    for index, step in enumerate(given):
        at_s = _moment(step, index)
        if at_s < last_s:
            raise Wrong(
                f'a step back from "{clock(last_s)}" to "{step[0]}"',
                (index,),
                f'later at every step, as "{clock(at_s + 86400)}" after midnight',
                "nobody walks back in time",
                EXAMPLE,
            )
        last_s = at_s
        if step[1:] in (["stay"], ["out"]):
            if not inside:
                raise Wrong(
                    f"{step!r} of somebody who is not in the room",
                    (index,),
                    '["HH:MM", x, y] first',
                    "a stay begins where one comes in",
                    EXAMPLE,
                )
            stays[-1].append(Waypoint(at_s, *stays[-1][-1][1:]))
            inside = step[1] == "stay"
            continue
        place = _place(step, index)
        if not inside:
            stays.append([])
        stays[-1].append(Waypoint(at_s, *place))
        inside = True
    for stay in stays:
        if stay[-1].at_s == stay[0].at_s:
            raise Wrong(
                f'a stay at "{clock(stay[0].at_s)}" that takes no time',
                (),
                "at least two moments for each stay",
                "somebody who is there for no time gives no heat",
                EXAMPLE,
            )
    return tuple(tuple(stay) for stay in stays)


def _moment(step: Any, index: int) -> float:
    if not isinstance(step, list) or not step:
        raise _odd(step, index)
    try:
        return seconds(step[0])
    except Wrong as wrong:
        raise _odd(step, index) from wrong


def _place(step: list[Any], index: int) -> tuple[float, float]:
    numbers = [value for value in step[1:] if type(value) in (int, float)]
    if len(step) != 3 or len(numbers) != 2:
        raise _odd(step, index)
    return float(numbers[0]), float(numbers[1])


def _odd(step: Any, index: int) -> Wrong:
    return Wrong(f"{step!r}", (index,), EXPECTED, "", EXAMPLE)


PATH = Kind(_stays, f"a list, each {EXPECTED}")
