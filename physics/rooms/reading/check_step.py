"""Whether the step of a room file can follow its people."""

import math
import re

import numpy as np

from ...diffusion.resolve import step_fault
from ..day import known
from ..model import medium
from ..records import Room
from .source import Source

_DO = re.compile(r"(\S+) s would do")


def check_step(room: Room, source: Source) -> None:
    """Refuse a step in which somebody goes through the whole room and more.

    A way within one step is right as a mean, so shorter ways may take less than a step; visitors
    by chance are not counted.

    Raises:
        ValueError: the step is too long.
    """
    fault = _fault(room, room.day.step_s)
    if fault:
        shorter, again = room.day.step_s, fault
        while again:  # what moves in a part of a step goes as far in a shorter one
            shorter = float(_DO.search(again)[1])  # type: ignore[index]
            again = _fault(room, shorter)
        raise source.fault(
            ("room", "step_s"),
            _DO.sub(f"{shorter:g} s would do", fault),
            "each step must follow where the heat comes from",
            "a map is of one moment",
            f"step_s = {shorter:g}",
        )


def _fault(room: Room, step_s: float) -> str:
    return step_fault(
        medium(room, room.day.start_s),
        step_s,
        _quickest_m_per_s(room, step_s),
        math.hypot(*room.size_m),
        always_damped=True,
    )


def _quickest_m_per_s(room: Room, step_s: float) -> float:
    """Return the furthest way within any one step, over the step."""
    furthest = 0.0
    for track in known(room):
        gone = np.hypot(*np.diff(track.places_m, axis=0, prepend=track.places_m[:1]).T).cumsum()
        # The furthest way begins or ends at a corner.
        after = np.interp(track.at_s + step_s, track.at_s, gone) - gone
        before = gone - np.interp(track.at_s - step_s, track.at_s, gone)
        furthest = max(furthest, float(np.max(after)), float(np.max(before)))
    return furthest / step_s
