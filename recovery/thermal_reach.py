"""Whether heat has come too short or too far for a map, and which spread would do.

Heat that had a spread s has come about sqrt(s) far. Where that is nothing beside the gaps
between sensors no sensor feels it, and where it is more than the room all feel the same.
"""

import math

import numpy as np

from physics.places import length_m

from .spreads import Room

# From a quarter of the gap, where a source between two sensors is felt by both, to a quarter
# of the room, where walls have not yet evened out what it warms.
_PART = 4


def too_long(room: Room) -> bool:
    """Say whether heat has gone further than the room is long."""
    return math.sqrt(room.spread_m2) >= _sizes(room)[0]


def spread_fault(room: Room) -> str:
    """Return what is wrong with the spread of a room where no move of a source is felt."""
    length, gap = _sizes(room)
    unit = " m" if room.grid.cell_mm else ""
    given = f"spread_m2 is {room.spread_m2:g}{unit and ' m2'}"
    far = f"about {math.sqrt(room.spread_m2):.3g}{unit} far"
    low, high = (gap / _PART) ** 2, max((length / _PART) ** 2, (gap / 2) ** 2)
    would = f"a spread_m2 from {low:.2g} to {high:.2g}{unit and ' m2'}"
    if too_long(room):
        side = f"{length:g} m long" if unit else "of length 1, for no length in metres is given"
        return (
            f"{given}, so heat has come {far}, but the room is {side}: the heat has evened out, "
            "and every sensor feels the same wherever its source stands, so there is no map to "
            f"draw. Here {would} would do: it is diffusivity times the time the heat has had"
            + ("." if unit else ", and give the room its length if that is in metres.")
        )
    return (
        f"{given}, so heat has come {far}, but the sensors stand {gap:.3g}{unit} apart: no sensor "
        f"feels any heat, so there is no map to draw. Here {would} would do: wait until heat "
        "has spread so far, or place sensors nearer."
    )


def _sizes(room: Room) -> tuple[float, float]:
    """Return how long the room is, and how far its sensors stand apart, each at the most."""
    lengths = np.atleast_1d(np.asarray(length_m(room.grid), dtype=float))
    return float(lengths.max()), float((lengths / np.asarray(room.sensors)).max())
