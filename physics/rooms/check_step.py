"""Whether the step of a room file can follow its people."""

import math
import re

import numpy as np

from ..diffusion.resolve import step_fault
from .day import known
from .model import free, medium
from .raster import shape
from .records import Room
from .source import Source


def check_step(room: Room, source: Source) -> None:
    """Refuse a step in which heat rings, or somebody goes through the whole room and more.

    A way within one step is right as a mean, so shorter ways may take less than a step; visitors
    by chance are not counted.

    Raises:
        ValueError: the step is too long.
    """
    fault = step_fault(
        medium(room, room.day.start_s),
        room.day.step_s,
        _quickest_m_per_s(room),
        math.hypot(*room.size_m),
        free(room).reshape(shape(room)),
    )
    if fault:
        shorter = re.search(r"(\S+) s would do", fault)
        raise source.fault(
            ("room", "step_s"),
            fault,
            "each step must follow where the heat comes from",
            "a map is of one moment",
            f"step_s = {float(shorter[1]):g}" if shorter else "step_s = 10",
        )


def _quickest_m_per_s(room: Room) -> float:
    """Return the furthest way within any one step, over the step."""
    step_s, furthest = room.day.step_s, 0.0
    for track in known(room):
        gone = np.hypot(*np.diff(track.places_m, axis=0, prepend=track.places_m[:1]).T).cumsum()
        # The furthest way begins or ends at a corner.
        after = np.interp(track.at_s + step_s, track.at_s, gone) - gone
        before = gone - np.interp(track.at_s - step_s, track.at_s, gone)
        furthest = max(furthest, float(np.max(after)), float(np.max(before)))
    return furthest / step_s
