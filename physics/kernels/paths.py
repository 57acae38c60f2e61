"""Where one source went, and how warm it was on its way."""

from dataclasses import dataclass

import numpy as np

from ..places import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """Where one source went, straight and evenly from each place to the next, and its rate.

    Args:
        at_s: (instants,), in order; one that is given twice is a jump of place or rate.
        places_m: (instants,) along a line, (instants, 2) or (instants, 3).
        rates: (instants,), heat a second in the kernels' unit (`physics.air.warmth` of watts),
            changing evenly between instants; before the first and after the last it is off.

    Raises:
        ValueError: shapes that disagree, numbers that are not finite, or time running back.
    """

    at_s: Floats
    places_m: Floats
    rates: Floats

    def __post_init__(self) -> None:
        count = len(self.at_s)
        if count < 2 or {len(self.places_m), len(self.rates)} != {count}:
            raise ValueError(
                f"the path has {count} instants, {len(self.places_m)} places and "
                f"{len(self.rates)} rates but needs two or more of each, as many of all, for it "
                "goes from one to the next. Give a source that stands its place twice."
            )
        parts = (self.at_s, self.places_m, self.rates)
        if not all(np.isfinite(part).all() for part in parts) or (np.diff(self.at_s) < 0).any():
            raise ValueError(
                "the path holds a number that is not finite, or an instant before the one above "
                "it, but must run forward through known places, for its heat has an age. Sort "
                "it by time and leave gaps out."
            )
