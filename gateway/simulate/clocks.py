"""Times of day, written and read."""

from ..faults import OperatorFault


def clock(at_s: float) -> str:
    """Return a time of day, from seconds since midnight.

    >>> clock(30660.0), clock(90000.0)
    ('08:31', '01:00')
    """
    minutes = round(at_s / 60) % (24 * 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def seconds(text: str) -> float:
    """Return seconds since midnight, from a time of day.

    Raises:
        OperatorFault: it is none.

    >>> seconds("08:31")
    30660.0
    """
    hour, colon, minute = text.partition(":")
    if not (colon and hour.isdecimal() and minute.isdecimal() and len(minute) == 2):
        raise OperatorFault(
            f"--from {text} came but a time of day is needed, for the scene begins then. Write "
            "--from 08:00"
        )
    return 3600.0 * int(hour) + 60.0 * int(minute)
