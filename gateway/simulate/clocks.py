"""Times of day on the command line, in the words of a room file."""

from physics.rooms.reading import times
from physics.rooms.reading.kinds import Wrong

from ..faults import OperatorFault


def clock(at_s: float) -> str:
    """Return a moment to the minute, from seconds since midnight.

    >>> clock(30660.0), clock(90010.0)
    ('08:31', '25:00')
    """
    return times.clock(60 * round(at_s / 60))


def seconds(text: str) -> float:
    """Return seconds since midnight, from a time of day.

    Raises:
        OperatorFault: it is none.

    >>> seconds("08:31")
    30660.0
    """
    try:
        return times.seconds(text)
    except Wrong as fault:
        raise OperatorFault(
            f"--from {text} came but a time of day is needed, for the scene begins then. Write "
            "--from 08:00"
        ) from fault
