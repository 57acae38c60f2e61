"""What changes over the day: temperatures between times, hours in which something is on."""

from collections.abc import Sequence

import numpy as np

from .records import Course, Span


def mean(course: Course, from_s: float, to_s: float) -> float:
    """Return the mean of a course over a step, exactly; its value where the step is empty.

    >>> mean(((0.0, 10.0), (100.0, 20.0)), 50.0, 150.0)
    18.75
    """
    at_s, values = (np.array(part) for part in zip(*course, strict=True))
    if to_s <= from_s:
        return float(np.interp(from_s, at_s, values))
    inside = at_s[(at_s > from_s) & (at_s < to_s)]
    corners = np.concatenate(([from_s], inside, [to_s]))
    heights = np.interp(corners, at_s, values)
    return float(np.diff(corners) @ (heights[1:] + heights[:-1]) / (2 * (to_s - from_s)))


def share(spans: Sequence[Span], from_s: float, to_s: float) -> float:
    """Return which share of a step lies within the hours, which do not overlap.

    >>> share([(0.0, 60.0), (90.0, 200.0)], 30.0, 130.0)
    0.7
    """
    within = (max(0.0, min(until, to_s) - max(since, from_s)) for since, until in spans)
    return sum(within) / (to_s - from_s)
