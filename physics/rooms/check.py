"""What the parts of a room file must be beside each other."""

from .check_openings import check_doors, check_windows
from .check_people import check_paths
from .check_sensors import check_promise, check_sensors
from .check_step import check_step
from .check_visitors import check_arrivals, check_walkers
from .check_walls import check_things, check_walls
from .records import Room
from .source import Source


def check(room: Room, source: Source) -> None:
    """Refuse a room that cannot be built, walked in or measured.

    Raises:
        ValueError: the first thing that cannot be, with the file, the line, what was given,
            what was expected and why, and an example of the right thing.
    """
    for one in (
        *(check_walls, check_doors, check_windows, check_things),
        *(check_paths, check_walkers, check_arrivals),
        *(check_sensors, check_step, check_promise),
    ):
        one(room, source)
