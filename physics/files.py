"""Reading sources, recorded frames and people's points from files; faults are named in full."""

import csv
import itertools
import math
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .places import Floats

# Lines of a text file with a header, each read by itself, and their faults told together.

T = TypeVar("T")
Line = tuple[int, list[str]]  # its number in the file, from 1, and its words
_AT_ONCE = 500  # lines; with more the collector of garbage looks at all of them again and again


@contextmanager
def open_csv(path: str | Path) -> Iterator[Iterator[Line]]:
    """Give the lines of a CSV that are not empty, one after the other.

    Words are parted by commas; by semicolons where the first line has these and no comma, and
    numbers may have a decimal comma then.

    Raises:
        OSError, UnicodeDecodeError, csv.Error: it cannot be read, or is no such text.
    """
    with open(path, encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        file.seek(0)
        if ";" not in first or "," in first:
            reader = csv.reader(file)
            yield ((reader.line_num, row) for row in reader if row)
            return
        parted = csv.reader(file, delimiter=";")
        yield (
            (parted.line_num, [word.replace(",", ".") for word in row]) for row in parted if row
        )


def parse_lines(
    path: str | Path, lines: Iterable[Line], read: Callable[[list[str]], T]
) -> list[T]:
    """Return what each line says.

    Args:
        read: what a line's words say, or a ValueError that says what is wrong with them.

    Raises:
        ValueError: the first fault with its line, and in which five others there are more.
    """
    found, faults = [], list[tuple[int, ValueError]]()
    for line, words in lines:
        try:
            found.append(read([word.strip() for word in words]))
        except ValueError as error:
            faults.append((line, error))
            if len(faults) > 5:
                break
    if faults:
        line, fault = faults[0]
        others = ", ".join(str(other) for other, _ in faults[1:])
        more = f" (more faults in line {others})" if others else ""
        raise ValueError(f"{path} line {line}: {fault}{more}") from fault
    return found


_HEADERS = (["position", "intensity"], ["x", "y", "intensity"])


def read_sources(
    path: str | Path, length_m: float | tuple[float, float] = 1.0
) -> tuple[Floats, Floats]:
    """Return the places, (sources,) or (sources, 2), and the intensities, (sources,), of a CSV.

    Args:
        path: a text file with the header `position,intensity` or `x,y,intensity` and a row for
            each source. Empty lines are passed over.
        length_m: positions go from 0 to here; a pair for x and y.

    Raises:
        ValueError: no such file, no source in it, another header, a row with too few or too
            many values, a value that is no number, a position outside, an intensity that is
            negative, or no heat at all. It names the file, the line, the value and the need.
    """
    with _open_table(path, _HEADERS, "sources") as (header, lines):
        lengths = np.broadcast_to(np.asarray(length_m, dtype=float), len(header) - 1).tolist()
        rows = parse_lines(path, lines, lambda words: _parse_source(words, header, lengths))
    table = np.array(rows, dtype=float).reshape(len(rows), len(header))
    if not (table[:, -1] > 0).any():  # no sum, which may overflow
        raise ValueError(
            f"{path} has {len(rows)} source(s) with no heat in all but some heat is needed, or "
            "there is nothing to find. Give at least one source a positive intensity."
        )
    places = table[:, :-1]
    return (places if len(lengths) == 2 else places[:, 0]), table[:, -1]


@contextmanager
def _open_table(
    path: str | Path, headers: Sequence[list[str]], what: str
) -> Iterator[tuple[list[str], Iterator[Line]]]:
    """Give the header of a CSV, one of these, and the lines below it."""
    try:
        with open_csv(path) as lines:
            header = [word.strip().lower() for word in next(lines, (1, list[str]()))[1]]
            if header not in headers:
                wanted = " or ".join(repr(",".join(one)) for one in headers)
                found = f"is {','.join(header)!r}" if header else "is missing"
                raise ValueError(
                    f"{path} line 1: the header {found} but must be "
                    f"{wanted}, for the columns have no meaning without it. Write it above the "
                    f"{what}."
                )
            yield header, lines
    except UnicodeDecodeError as error:  # which is a ValueError, too
        raise _make_unreadable_fault(path, error, f"a text file of {what}") from error
    except (OSError, csv.Error) as error:
        raise _make_unreadable_fault(path, error, f"a text file of {what}") from error


def read_frames(path: str | Path, clip: str | None = None) -> NDArray[np.int64]:
    """Return the frames, (frames, rows, columns) of whole numbers, of one clip of an .npz file.

    Args:
        path: an .npz archive with an array of whole numbers for each clip; its unit is the
            recorder's and written beside the data, as 1/4 degree for a Grid-EYE.
        clip: the name of the array; may be left out where there is only one.

    Raises:
        ValueError: no such file, no .npz archive, no such clip, or not frames of whole numbers.
    """
    try:
        with open(path, "rb") as file:
            if not zipfile.is_zipfile(file):
                raise ValueError("it is no archive, or was cut short")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                names = list(archive.files)
                name = names[0] if clip is None and len(names) == 1 else clip
                frames = archive[name] if name in names else None
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise _make_unreadable_fault(
            path, error, "an .npz archive of whole-number arrays"
        ) from error
    if frames is None:
        asked = "is to be played without a clip" if clip is None else f"has no clip {clip!r}"
        raise ValueError(
            f"{path} {asked} but holds {', '.join(names) or 'none at all'}, and one has "
            "to be chosen. Name one of these."
        )
    if frames.ndim != 3 or not frames.size or frames.dtype.kind not in "iu":
        raise ValueError(
            f"{path} clip {name!r} has shape {frames.shape} of {frames.dtype} but must be "
            "(frames, rows, columns) of whole numbers, as a thermal array counts them. Round "
            "to its steps first, or choose another clip."
        )
    return np.asarray(frames, dtype=np.int64)


def _parse_source(words: list[str], header: list[str], lengths: list[float]) -> list[float]:
    """Return the numbers of one row, or raise what is wrong with it."""
    _check_row_length(words, header)
    numbers = []
    for name, word, most in zip(header, words, [*lengths, math.inf], strict=True):
        number = _parse_number(word)
        if not (0 <= number <= most and number < math.inf):
            need = "nought or more" if name == "intensity" else f"from 0 to {most:g}"
            why = "a source only warms" if name == "intensity" else "the room ends there"
            raise ValueError(
                f"{name} is {word!r} but must be a finite number {need}, for {why}. Correct "
                "the value or leave the row out."
            )
        numbers.append(number)
    return numbers


def _check_row_length(words: list[str], header: list[str]) -> None:
    if len(words) != len(header):
        mend = "Complete the row"
        if len(words) > len(header):
            mend = "Leave out some; where numbers have decimal commas, part them by semicolons"
        raise ValueError(
            f"there are {len(words)} values but {len(header)} are needed, {','.join(header)}, "
            f"or it is not known which is which. {mend}."
        )


def _parse_number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return math.nan


def _make_unreadable_fault(path: str | Path, error: Exception, need: str) -> ValueError:
    why = getattr(error, "strerror", None) or str(error)
    return ValueError(
        f"{path} cannot be read ({why}) but {need} is needed, for it says what there is to "
        "see. Check the name and what made the file."
    )


# Reading people's points from a file, with the fault of a file named in full.

_EARTH = ["user", "longitude", "latitude"]
_FLAT_M = 500_000  # how wide a map may be that takes the earth for flat: a metre in a thousand
_POINTS_HEADERS = (
    *(["user", "x", "y"], ["user", "x", "y", "weight"]),
    *(_EARTH, [*_EARTH, "weight"]),
)


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Where people were: a row for each point, and whose it is.

    Where one user has many points they are one person's, in the file's order; a promise for
    each point is none for the person.
    """

    users: NDArray[np.int64]  # (points,), the number of each point's user, from 0 as they come
    places: Floats  # (points, 2), x and y as the file has them, or metres where it has degrees
    weights: Floats  # (points,), finite and not negative; 1 where the file has none


def read_points(path: str | Path) -> Points:
    """Return the points of a CSV with the header `user,x,y` or `user,x,y,weight`.

    Coordinates are any finite numbers: the unit square or metres, as whoever asked for the file
    knows. With `user,longitude,latitude` they are degrees on WGS 84, and what comes back are
    metres east and south of the corner that lies west and north of all points. Empty lines are
    passed over.

    Raises:
        ValueError: no such file, another header, no point, a row with too few or too many
            values, no user, a coordinate that is no finite number, a weight that is negative, or
            no weight at all. It names the file, the line, the value and the need.
    """
    try:
        found = _read_columns(path)
    except _NotFlat:
        raise
    except (ValueError, OverflowError):
        # Once more, line by line, to say what is wrong with which.
        with _open_table(path, _POINTS_HEADERS, "points") as (header, lines):
            parse_lines(path, lines, lambda words: _parse_point(words, header))
        raise
    if not len(found.users):
        raise ValueError(
            f"{path} has a header and no point but somebody is needed, or there is nothing to "
            "map. Write a row for each person."
        )
    if not (found.weights > 0).any():  # no sum, which may overflow
        raise ValueError(
            f"{path} has points of no weight in all but somebody is needed, or there is "
            "nothing to map. Give at least one point a positive weight."
        )
    return found


def has_degrees(path: str | Path) -> bool:
    """Return whether a file of points has longitude and latitude.

    Raises:
        ValueError: no such file, or another header.
    """
    with _open_table(path, _POINTS_HEADERS, "points") as (header, _):
        return header[1] == _EARTH[1]


def _read_columns(path: str | Path) -> Points:
    """Return the points, column by column, which is quicker and holds less.

    Raises:
        ValueError: something is wrong, and it is not said what.
    """
    users, numbers = array("q"), array("d")  # which grow without a copy beside them
    with _open_table(path, _POINTS_HEADERS, "points") as (header, lines):
        while rows := [words for _, words in itertools.islice(lines, _AT_ONCE)]:
            who, *columns = zip(*rows, strict=True)
            if len(columns) != len(header) - 1:
                raise ValueError("a row has more values than the header, or fewer")
            names = list(map(str.strip, who))
            part = np.array([list(map(float, column)) for column in columns]).T
            if "" in names or not np.isfinite(part).all() or (part[:, 2:] < 0).any():
                raise ValueError("somebody has no name, or a number is none")
            # A name may be long; of two of ten million different ones that the hashes are equal
            # has a chance of one in 300,000.
            users.extend(map(hash, names))
            numbers.frombytes(part.tobytes())
    whose = np.frombuffer(users, dtype=np.int64)
    table = np.frombuffer(numbers).reshape(len(whose), -1 if len(whose) else 2)
    weights = table[:, 2] if table.shape[1] > 2 else np.broadcast_to(1.0, len(table))
    places = _project_degrees(path, table[:, :2]) if header[1] == _EARTH[1] else table[:, :2]
    return Points(_number_users(whose), places, weights)


def _project_degrees(path: str | Path, degrees: Floats) -> Floats:
    """Return metres east and south of the corner of all points, by a Mercator between them.

    Raises:
        _NotFlat: pyproj is not installed, or the points lie too far apart, or nowhere.
    """
    try:
        from pyproj import Transformer
    except ImportError as error:
        raise _NotFlat(
            f"{path} has longitude and latitude, and pyproj, which makes metres of them, is not "
            "installed: a degree is no length. Install it: pip install -e '.[geo]' in heatveil's "
            "checkout, or write x and y in metres."
        ) from error
    if not len(degrees):
        return degrees
    (west, south), (east, north) = degrees.min(axis=0), degrees.max(axis=0)
    middle = f"+lat_0={(south + north) / 2} +lon_0={(west + east) / 2}"
    inside = -180 <= west and east <= 180 and -85 <= south and north <= 85
    if inside:
        to_metres = Transformer.from_crs("EPSG:4326", f"+proj=tmerc {middle}", always_xy=True)
        x, y = to_metres.transform(*degrees.T)
        places = np.stack([x - x.min(), y.max() - y], axis=1)
        if places.max() <= _FLAT_M:
            return np.asarray(places, dtype=np.float64)
    raise _NotFlat(
        f"{path} has points from {west:g} to {east:g} degrees of longitude and {south:g} to "
        f"{north:g} of latitude but they must lie on the earth, away from its poles, and within "
        f"{_FLAT_M / 1000:g} km: a map is flat. Are the two the wrong way round? Leave out what "
        "is far away."
    )


class _NotFlat(ValueError):
    """The file is read, and what it says cannot be drawn on a plane."""


def _number_users(whose: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each point's user, counted as they first come."""
    ordered = np.sort(whose)
    if (ordered[1:] != ordered[:-1]).all():  # as where each reports once
        return np.arange(len(whose))
    _, first, user = np.unique(whose, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[user]


def _parse_point(words: list[str], header: list[str]) -> list[float]:
    """Return x, y and weight of one row, or raise what is wrong with it."""
    _check_row_length(words, header)
    if not words[0]:
        raise ValueError(
            "the user is missing but each point must be somebody's, for what is promised is "
            "promised to a person. Give each person a name or a number."
        )
    found = []
    for name, word in zip(header[1:], words[1:], strict=True):
        number = _parse_number(word)
        if not math.isfinite(number) or (name == "weight" and number < 0):
            need = "nought or more" if name == "weight" else "of either sign"
            raise ValueError(
                f"{name} is {word!r} but must be a finite number {need}, for everybody counts "
                "somewhere. Correct the value or leave the row out."
            )
        found.append(number)
    return [*found, 1.0][:3]
