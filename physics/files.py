"""Reading sources and recorded frames from files, with the fault of a file named in full."""

import csv
import math
import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .lines import each_read, lines_of
from .places import Floats

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
    try:
        lines = lines_of(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(path, error, "a text file of sources") from error
    header = [word.lower() for word in lines[0][1]] if lines else []
    if header not in _HEADERS:
        raise ValueError(
            f"{path} line 1: the header is {','.join(header) or 'missing'!r} but must be "
            "'position,intensity' or 'x,y,intensity', for the columns have no meaning without "
            "it. Write it above the sources."
        )
    lengths = np.broadcast_to(np.asarray(length_m, dtype=float), len(header) - 1).tolist()
    rows = each_read(path, lines[1:], lambda words: _source(words, header, lengths))
    table = np.array(rows, dtype=float).reshape(len(rows), len(header))
    if not (table[:, -1] > 0).any():  # no sum, which may overflow
        raise ValueError(
            f"{path} has {len(rows)} source(s) with no heat in all but some heat is needed, or "
            "there is nothing to find. Give at least one source a positive intensity."
        )
    places = table[:, :-1]
    return (places if len(lengths) == 2 else places[:, 0]), table[:, -1]


def from_frames_file(path: str | Path, clip: str | None = None) -> NDArray[np.int64]:
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
        raise _unreadable(path, error, "an .npz archive of whole-number arrays") from error
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


def _source(words: list[str], header: list[str], lengths: list[float]) -> list[float]:
    """Return the numbers of one row, or raise what is wrong with it."""
    if len(words) != len(header):
        raise ValueError(
            f"there are {len(words)} values but {len(header)} are needed, {','.join(header)}, "
            "or it is not known which is which. Complete the row."
        )
    numbers = []
    for name, word, most in zip(header, words, [*lengths, math.inf], strict=True):
        try:
            number = float(word)
        except ValueError:
            number = math.nan
        if not (0 <= number <= most and number < math.inf):
            need = "nought or more" if name == "intensity" else f"from 0 to {most:g}"
            why = "a source only warms" if name == "intensity" else "the room ends there"
            raise ValueError(
                f"{name} is {word!r} but must be a finite number {need}, for {why}. Correct "
                "the value or leave the row out."
            )
        numbers.append(number)
    return numbers


def _unreadable(path: str | Path, error: Exception, need: str) -> ValueError:
    why = getattr(error, "strerror", None) or str(error)
    return ValueError(
        f"{path} cannot be read ({why}) but {need} is needed, for it says what there is to "
        "see. Check the name and what made the file."
    )
