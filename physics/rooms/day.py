"""Who is in a room, where, and when: one day of it."""

import numpy as np

from .arrivals import visits
from .records import Room
from .traces import walked
from .tracks import Day as Day
from .tracks import Track as Track
from .tracks import track_of


def day(room: Room, world: np.random.Generator) -> Day:
    """Return one day of a room: the people of its file, recorded ones, and visitors by chance.

    The visitors alone are random; without [arrivals] every day is the same.

    Args:
        room: what its file says.
        world: where chance comes from; the same seed gives the same day.
    """
    by_chance = visits(room, room.arrivals, world) if room.arrivals else ()
    return Day((*known(room), *by_chance))


def known(room: Room) -> tuple[Track, ...]:
    """Return the tracks that the room file itself tells of: its people, and recorded ones."""
    told = [
        track_of(person.name, stay, person.power_w)
        for person in room.people
        for stay in person.stays
    ]
    recorded = [track for walker in room.walkers for track in walked(walker)]
    return (*told, *recorded)
