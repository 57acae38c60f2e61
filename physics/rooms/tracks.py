"""Where people are over a day: one track for each stay in the room."""

from dataclasses import dataclass

import numpy as np

from .records import Floats, Waypoint


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """One stay of one person: in the room from the first instant to the last.

    Args:
        name: whose; the same for all stays of one person.
        at_s: (k,), seconds since midnight, never going back.
        places_m: (k, 2), x and y at those instants; linear in between.
        power_w: (k,), what heats the air at once, from each instant on.
    """

    name: str
    at_s: Floats
    places_m: Floats
    power_w: Floats

    def place(self, at_s: float) -> Floats | None:
        """Return x and y at a moment, (2,), or None while the person is not in the room."""
        if not self.at_s[0] <= at_s <= self.at_s[-1]:
            return None
        return np.array([np.interp(at_s, self.at_s, axis) for axis in self.places_m.T])

    @property
    def joules(self) -> float:
        """What the person gives to the air over the whole stay."""
        return float(np.diff(self.at_s) @ self.power_w[:-1])


@dataclass(frozen=True, slots=True, eq=False)
class Day:
    """Everybody who is in the room on one day."""

    tracks: tuple[Track, ...]

    def present(self, at_s: float) -> tuple[Track, ...]:
        """Return the tracks of those who are in the room at a moment."""
        return tuple(track for track in self.tracks if track.at_s[0] <= at_s <= track.at_s[-1])


def track_of(name: str, path: tuple[Waypoint, ...], power_w: float) -> Track:
    """Return the track of somebody whose power is the same all the way."""
    points = np.array(path, dtype=float)
    return Track(name, points[:, 0], points[:, 1:], np.full(len(points), power_w))
