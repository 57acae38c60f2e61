"""Reading people's points from a file, with the fault of a file named in full."""

import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .lines import each_read, lines_of
from .places import Floats

_HEADERS = (["user", "x", "y"], ["user", "x", "y", "weight"])


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Where people were: a row for each point, and whose it is.

    Where one user has many points they are one person's, in the file's order; a promise for
    each point is none for the person.
    """

    names: tuple[str, ...]  # of the users, in the order in which they first come
    users: NDArray[np.int64]  # (points,), the number of each point's user
    places: Floats  # (points, 2), x and y as the file has them
    weights: Floats  # (points,), finite and not negative; 1 where the file has none


def read_points(path: str | Path) -> Points:
    """Return the points of a CSV with the header `user,x,y` or `user,x,y,weight`.

    Coordinates are any finite numbers: the unit square, metres or degrees, as whoever asked
    for the file knows. Empty lines are passed over.

    Raises:
        ValueError: no such file, another header, no point, a row with too few or too many
            values, no user, a coordinate that is no finite number, a weight that is negative, or
            no weight at all. It names the file, the line, the value and the need.
    """
    try:
        lines = lines_of(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ValueError(
            f"{path} cannot be read ({why}) but a text file of points is needed, for it says "
            "where people were. Check the name and what made the file."
        ) from error
    header = [word.lower() for word in lines[0][1]] if lines else []
    if header not in _HEADERS:
        raise ValueError(
            f"{path} line 1: the header is {','.join(header) or 'missing'!r} but must be "
            "'user,x,y' or 'user,x,y,weight', for the columns have no meaning without it. Write "
            "it above the points."
        )
    numbers = each_read(path, lines[1:], lambda words: _point(words, header))
    names: dict[str, int] = {}
    users = [names.setdefault(words[0], len(names)) for _, words in lines[1:]]
    if not numbers:
        raise ValueError(
            f"{path} has a header and no point but somebody is needed, or there is nothing to "
            "map. Write a row for each person."
        )
    table = np.array(numbers, dtype=float).reshape(len(numbers), 3)
    if not (table[:, 2] > 0).any():  # no sum, which may overflow
        raise ValueError(
            f"{path} has points of no weight in all but somebody is needed, or there is "
            "nothing to map. Give at least one point a positive weight."
        )
    return Points(tuple(names), np.array(users, dtype=np.int64), table[:, :2], table[:, 2])


def _point(words: list[str], header: list[str]) -> list[float]:
    """Return x, y and weight of one row, or raise what is wrong with it."""
    if len(words) != len(header):
        raise ValueError(
            f"there are {len(words)} values but {len(header)} are needed, {','.join(header)}, "
            "or it is not known which is which. Complete the row."
        )
    if not words[0]:
        raise ValueError(
            "the user is missing but each point must be somebody's, for what is promised is "
            "promised to a person. Give each person a name or a number."
        )
    found = []
    for name, word in zip(header[1:], words[1:], strict=True):
        try:
            number = float(word)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or (name == "weight" and number < 0):
            need = "nought or more" if name == "weight" else "of either sign"
            raise ValueError(
                f"{name} is {word!r} but must be a finite number {need}, for everybody counts "
                "somewhere. Correct the value or leave the row out."
            )
        found.append(number)
    return [*found, 1.0][:3]
