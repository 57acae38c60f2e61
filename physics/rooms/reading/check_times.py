"""Whether the times of a room file are within its day."""

from collections.abc import Iterator
from typing import Any

from ..records import Room
from .kinds import Wrong
from .lines import Where
from .source import Source
from .times import clock, seconds

_MIDNIGHT_S = 86400.0


def check_times(room: Room, source: Source) -> None:
    """Refuse times after "24:00" that the simulation does not last to.

    Those of weather may be later: it is linear in between.

    Raises:
        ValueError: there is one.
    """
    if room.day.start_s > _MIDNIGHT_S:
        raise source.fault(
            ("room", "start"),
            f'start is "{clock(room.day.start_s)}"',
            'it must be "24:00" at the latest',
            "the simulation begins on the first day",
            f'start = "{clock(room.day.start_s % _MIDNIGHT_S)}"',
        )
    last_s = max(_MIDNIGHT_S, room.day.until_s)
    for where, at_s in _times(source.document, ()):
        if at_s <= last_s or "outside_c" in where or "supply_c" in where:
            continue
        ends = clock(last_s)
        raise source.fault(
            where,
            f'there is a time "{clock(at_s)}"',
            'times of a day run to "24:00", later ones are of the next day, and this room is '
            f'simulated to "{clock(room.day.until_s)}" (start and duration_h)',
            "what comes later would be left out",
            f'duration_h = {-(-(at_s - room.day.start_s) // 3600):g}  # or a time to "{ends}"',
        )


def _times(value: Any, where: Where) -> Iterator[tuple[Where, float]]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in ("name", "trace", "sequence", "start"):
                yield from _times(part, (*where, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _times(part, (*where, index))
    elif isinstance(value, str):
        try:
            yield where, seconds(value)
        except Wrong:
            return  # a word
