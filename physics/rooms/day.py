"""Who is in a room, where, and when: one day of it.

Everybody of it keeps to the room's plan: nobody is ever in a wall, or in a door that is shut.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .plan import Lattice, Mask, lattice
from .records import Floats, Point, Room, Waypoint

# Where one can stand, and go straight.


def may_stand(room: Room, place: Point) -> bool:
    """Return whether one can stand at a place; doors count as open."""
    known = _everywhere(room)
    cell = known.cells(np.array([place]))[0]
    return bool(cell >= 0 and known.free[cell] and known.holds(*np.array([[place], [place]]))[0])


def is_straight(room: Room, start: Point, end: Point) -> bool:
    """Return whether one can go straight from a place to another; doors let all through."""
    return bool(_everywhere(room).holds(np.array([start]), np.array([end]))[0])


def _everywhere(room: Room) -> Lattice:
    return lattice(room, (True,) * len(room.doors))


_PIECE_M = 0.075  # a fifth of what a body warms


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


def trace_track(track: Track, from_s: float, to_s: float) -> tuple[Floats, Floats]:
    """Return where a track is between two moments, (k, 2), and the joules given off there, (k,).

    A leg is cut into pieces of 75 mm at most, each put where its middle is: the mean
    place is exact, and the shape as good as the footprint is smooth.
    """
    since = max(from_s, float(track.at_s[0]))
    until = min(to_s, float(track.at_s[-1]))
    if until <= since:
        return np.zeros((0, 2)), np.zeros(0)
    corners = track.at_s[(track.at_s > since) & (track.at_s < until)]
    places, joules = [], []
    instants = np.concatenate(([since], np.unique(corners), [until]))
    for start, end in pairwise(instants.tolist()):
        leg = int(np.searchsorted(track.at_s, start, side="right")) - 1
        ends = [_on(track, leg, moment) for moment in (start, end)]
        pieces = max(1, int(np.ceil(np.hypot(*(ends[1] - ends[0])) / _PIECE_M)))
        middles = (np.arange(pieces) + 0.5)[:, None] / pieces
        places.append(ends[0] + middles * (ends[1] - ends[0]))
        joules.append(np.full(pieces, (end - start) * track.power_w[leg] / pieces))
    return np.concatenate(places), np.concatenate(joules)


def _on(track: Track, leg: int, moment: float) -> Floats:
    start, end = track.at_s[leg : leg + 2]
    share = (moment - start) / (end - start)
    return np.asarray((1 - share) * track.places_m[leg] + share * track.places_m[leg + 1])


def day(room: Room) -> Day:
    """Return the day that a room file tells of: everybody's stays."""
    return Day(
        tuple(
            track_of(person.name, stay, person.power_w)
            for person in room.people
            for stay in person.stays
        )
    )


def check_route(room: Room, at_s: Floats, places_m: Floats) -> Mask:
    """Return whether each leg of a way is free while it is gone, (k - 1,), with the doors as then.

    Args:
        at_s: (k,), when each corner is reached.
        places_m: (k, 2), the corners; it is straight in between.
    """
    moves = np.unique([moment for door in room.doors for span in door.open_s for moment in span])
    held = np.ones(len(at_s) - 1, dtype=bool)
    # The doors stand as in the middle of each time between two of their moves.
    for since, until in pairwise([-math.inf, *moves.tolist(), math.inf]):
        here = np.flatnonzero((at_s[:-1] < until) & (at_s[1:] > since))
        lasts_s = np.maximum(np.diff(at_s)[here], 1e-9)[:, None]
        begins, leg = places_m[here], (places_m[1:] - places_m[:-1])[here]
        ends = [
            begins + leg * np.clip((moment - at_s[here, None]) / lasts_s, 0, 1)
            for moment in (since, until)
        ]
        doors = room.opened(until - 1e-6 if since == -math.inf else since)
        held[here] &= lattice(room, doors).holds(*ends)
    return held
