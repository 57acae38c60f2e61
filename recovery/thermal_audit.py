"""What the audit needs to know of thermal readings: the rooms to look at."""

from collections.abc import Iterator
from fractions import Fraction

from edge.records import Grid

from .thermal_query import Query
from .thermal_scenes import neighbours as neighbours

NAME = "thermal"


def rooms() -> Iterator[tuple[str, Query]]:
    """Yield the rooms that every layer looks at, each with its name.

    Small, so that all moves can be tried, and each there for a fault that the others hide.
    """
    line = Grid((40, 1), 100)
    yield "insulated corridor", Query(line, (12,), 0.05, (1, 1), walls="insulated")
    yield (
        "open line, coarse converter",
        Query(line, (20,), 0.05, (2, 1), step=Fraction(1, 16), protect_distance_m=0.3),
    )
    yield "unit interval of the paper", Query(Grid((100, 1), 0), (50,), 0.05, (1, 1))
    yield (
        "hall with warm sources, three readings",
        Query(
            Grid((8, 6), 500),
            (4, 3),
            0.3,
            (1, 2),
            walls="insulated",
            intensity_max=2.5,
            readings=3,
            protect_distance_m=1.0,
        ),
    )
    yield (
        "few sensors, key holder",
        Query(Grid((30, 1), 100), (2,), 0.01, (1, 1), step=Fraction(1, 10), keyholder=True),
    )
