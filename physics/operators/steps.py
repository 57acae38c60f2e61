"""Which moves of one source count as neighbours, on a grid of one to three axes."""

import itertools
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

Step: TypeAlias = tuple[int, ...]
Among: TypeAlias = Literal["ring", "disc", "sides", "corners"]


@lru_cache(maxsize=1024)  # the same moves are asked for at every spread
def steps(counts: tuple[int, ...], cells: int = 1, among: Among = "ring") -> tuple[Step, ...]:
    """Return the steps, x first, one of each pair of a move and its reverse.

    Args:
        counts: how many cells along each axis, x first.
        cells: d, how far a source moves.
        among: "ring" is longer than d - 1 and at most d cells, as in `physics.sensitivity.moves`;
            "disc" is every move of at most d cells; "sides" is d cells along one axis, for d = 1
            the 4 neighbours in a plane and the 6 in a room; "corners" is at most d cells along
            each axis, for d = 1 the 8 neighbours and the 26.

    Raises:
        ValueError: another word, or no two cells are so far apart.

    >>> steps((3, 3), 1, "corners")
    ((0, 1), (1, -1), (1, 0), (1, 1))
    """
    if among not in get_args(Among):
        raise ValueError(
            f"among is {among!r} but must be one of {', '.join(get_args(Among))}, for it says "
            "which moves are hidden. Take 'disc' where people walk obliquely."
        )
    whole = cells >= 1 and cells % 1 == 0  # which neither a NaN nor infinity is
    most = [min(cells, count - 1) for count in counts if whole]
    found = tuple(
        step
        for step in itertools.product(*(range(-int(far), int(far) + 1) for far in most))
        if step > tuple(-move for move in step) and _held(step, int(cells), among)
    )
    if not found:
        raise ValueError(
            f"the move is {cells} cells but {' by '.join(map(str, counts))} cells have no two "
            "that far apart, so there is nothing to hide. Ask for a whole number from 1 to "
            f"{max(counts) - 1}, or make the grid finer."
        )
    return found


def _held(step: Step, cells: int, among: Among) -> bool:
    square = sum(move**2 for move in step)
    if among == "corners":
        return True
    if among == "sides":
        return square == cells**2 == max(map(abs, step)) ** 2
    return (among == "disc" or square > (cells - 1) ** 2) and square <= cells**2
