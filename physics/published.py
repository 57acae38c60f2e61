"""Sets of places as they are published, cut to a window of the earth: for figures on real people.

Gowalla, Brightkite     SNAP's check-ins: tabs; user, time, latitude, longitude, location
Foursquare              TSMC2014: tabs; eight columns, user first, latitude and longitude fifth
Chicago crime, NYC taxi CSV whose header names a longitude and a latitude, or a pickup's
"""

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

Row = tuple[str, float, float]
Window = tuple[float, float, float, float]  # west, south, east, north, in degrees
# By how many columns a file without a header has: where user, longitude and latitude are.
_TABS = {5: (0, 3, 2), 8: (0, 5, 4)}
_NAMES = (
    ("user", "user_id", "userid", "medallion"),
    ("longitude", "lon", "lng", "pickup_longitude"),
    ("latitude", "lat", "pickup_latitude"),
)


def cut(path: Path, window: Window, out: Path) -> int:
    """Write who is in the window as `user,longitude,latitude`; return how many rows that are.

    Raises:
        ValueError: the file is none of these, or a row of it is wrong; it names the first one.
        OSError: it cannot be read, or the other not be written.
    """
    west, south, east, north = window
    count = 0
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("user", "longitude", "latitude"))
        for user, longitude, latitude in read_rows(path):
            if west <= longitude < east and south <= latitude < north:
                writer.writerow((user, longitude, latitude))
                count += 1
    return count


def read_rows(path: Path) -> Iterator[Row]:
    """Yield user, longitude and latitude of each row that has a place; gzip is read as it is.

    Where no column names a user each row is one.

    Raises:
        ValueError: the file is none of these, or a row of it is wrong; it names the first one.
        OSError: it cannot be read.
    """
    opens: Any = gzip.open if path.suffix == ".gz" else open
    with opens(path, "rb") as raw, io.TextIOWrapper(raw, encoding="latin-1", newline="") as file:
        first = file.readline().removeprefix("\xef\xbb\xbf")  # what Excel writes before UTF-8
        tabs = _TABS.get(first.count("\t") + 1)
        lines = csv.reader(file, "excel-tab", quoting=csv.QUOTE_NONE) if tabs else csv.reader(file)
        if tabs:
            user, *place = tabs
            yield from _read(path, 1, first.rstrip("\r\n").split("\t"), user, place)
        else:
            header = [word.strip().lower() for word in next(csv.reader([first]), [])]
            found = [next((header.index(n) for n in names if n in header), -1) for names in _NAMES]
            user, *place = found
            if -1 in place:
                raise ValueError(
                    f"{path} line 1 is {first[:60].strip()!r} but must be a header that names a "
                    "longitude and a latitude, or a row of SNAP's check-ins or of Foursquare's: "
                    "it is not known where anybody is. Write user,longitude,latitude above it."
                )
        for number, words in enumerate(lines, 2):
            yield from _read(path, number, words, user, place)


def _read(
    path: Path, number: int, words: Sequence[str], user: int, place: Sequence[int]
) -> Iterator[Row]:
    """Yield what a line says; nothing where it is empty, or says no place."""
    try:
        east, north = (words[at].strip() for at in place) if words else ("", "")
        if east and north:
            yield words[user] if user >= 0 else str(number), float(east), float(north)
    except (ValueError, IndexError) as fault:
        raise ValueError(
            f"{path} line {number} is {','.join(words)[:60]!r} but must have a longitude and a "
            "latitude in degrees where the lines above have them: who is nowhere cannot be drawn. "
            "Correct the line or leave it out."
        ) from fault
