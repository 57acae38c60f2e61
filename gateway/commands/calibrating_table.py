"""The table of distances that `heatveil calibrate` prints, and what its rows count."""

import math
from typing import Any

from recovery.maps.guarantee import upward
from recovery.thermal import Query
from recovery.thermal.query import cell_m

SURE = "over 0.9999"


def distances(query: Query, numbers: dict[str, Any]) -> list[str]:
    """Return how well moves up to each distance are hidden, a row each."""
    unit, own = "m" if query.grid.cell_mm else "part", numbers["protect"]["cells"]
    return [
        f"  {'moved by up to':>14}  {unit:>8}  {'epsilon':>10}   the best test is right",
        *(
            f"  {row['cells']:8d} cells  {row['distance']:8.4g}  {upward(row['epsilon'], 4):>10}"
            f"   {share(row['best_test_right'])}"
            + ("   the protected distance" if row["cells"] == own else "")
            + ("   anywhere in the room" if _everywhere(query, row["distance"]) else "")
            for row in numbers["distances"]
        ),
        "  By the exact curve. A blind guess is right half of the time. Further away the same "
        "noise hides less.",
        *_without_end(numbers),
        *_in_room(query),
    ]


def _everywhere(query: Query, distance_m: float) -> bool:
    """Return whether no two places of a modelled room are further apart."""
    return query.response is not None and distance_m >= math.hypot(*query.grid.shape) * cell_m(
        query.grid
    )


def _without_end(numbers: dict[str, Any]) -> list[str]:
    """Return what an infinite epsilon is, where there is one."""
    told = [numbers["presence_epsilon"], *(row["epsilon"] for row in numbers["distances"])]
    return [
        "  inf: of noise from tables nothing is promised so far, for delta does not pay for what "
        "they are off; exact noise still has an epsilon there."
    ] * any(map(math.isinf, told))


def _in_room(query: Query) -> list[str]:
    """Return what the rows of a room with walls count, and how its bound was found."""
    if query.response is None:
        return []
    way = "through walls too" if query.response.through_walls else "by ways through air"
    return [
        f"  Paths of a person, displaced {way} up to each distance. What that changes at the most "
        f"was found of {query.response.proof}."
    ]


def share(chance: float) -> str:
    """Return a chance, never rounded up to certainty nor down.

    >>> share(0.69815), share(0.99999)
    ('0.6982', 'over 0.9999')
    """
    return upward(chance, 4) if chance < 0.9999 else SURE
