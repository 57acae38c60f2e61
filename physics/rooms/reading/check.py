"""What the parts of a room file must be beside each other."""

from ..records import Room
from .check_built import (
    check_doors,
    check_things,
    check_times,
    check_walls,
    check_warmth,
    check_windows,
)
from .check_people import (
    check_arrivals,
    check_paths,
    check_shut,
    check_shut_to_visitors,
    check_walkers,
)
from .check_sensors import check_promise, check_sensors
from .check_step import check_step
from .source import Source

# Each group rests on the ones before: what stands in a wrong wall is not told as well.
_GROUPS = (
    (check_walls, check_times),
    (check_doors, check_windows, check_things),
    (check_paths, check_walkers, check_arrivals, check_sensors, check_promise),
    (check_shut, check_shut_to_visitors, check_warmth),
    (check_step,),
)


def check(room: Room, source: Source) -> list[ValueError]:
    """Return why a room cannot be built, walked in or measured; nothing where it can.

    Of each kind of fault the first one, with the file, the line, what was given, what was
    expected and why, and an example of the right thing.
    """
    found: list[ValueError] = []
    for group in _GROUPS:
        for one in group:
            try:
                one(room, source)
            except ValueError as fault:
                found.append(fault)
        if found:
            break
    return found
