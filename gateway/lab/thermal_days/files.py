"""A simulated day on the disk: numpy's archive with everything, or Parquet with the readings.

Both hold what a real room never gives away, beside what is public; so they are for whoever
studies a room, and say so: `private` and `public` name the parts of each file.

The archive, NaN for what did not come or is not there:

    private
    true_k, counts      (steps, sensors), what was true above the baseline, and counted of it
    warmth_k, air_k     (frames, rows, columns), of people alone, and of all
    people_m            (frames, most, 2), where everybody stood
    people_at_rounds_m  (rounds, most, 2), the same when each round was asked
    heat_w              (rounds, rows, columns), what people gave off lately: maps are scored by it

    public
    level, step_k       (sensors,), taken off on the device, in counts; what one count is
    empty_k             (steps, sensors), what the empty room alone would be, above the baseline
    sent_grains         (rounds, sensors), what the wire carried
    mass                (rounds, rows, columns), the maps: each cell's share of the warmth found
    times_s, frames_s, rounds_s, places_m, cell_mm, room, guarantee, params
                        when, where, and under which promise

Parquet has a row for each sensor and instant, and no maps.
"""

import json
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recovery.maps.guarantee import to_json

from ...faults import OperatorFault
from .day import Played

FORMATS = (".npz", ".parquet")
PRIVATE = (
    "true_k",
    "counts",
    "warmth_k",
    "air_k",
    "people_m",
    "people_at_rounds_m",
    "heat_w",
)
PUBLIC = ("level", "empty_k", "sent_grains", "mass")


def check_format(path: Path) -> None:
    """Check that a day can be written to such a file.

    Raises:
        OperatorFault: the name has another ending, or pyarrow is not there for Parquet.
    """
    if path.suffix.lower() not in FORMATS:
        raise OperatorFault(
            f"--out {path} ends in {path.suffix or 'nothing'!r} but must end in "
            f"{' or '.join(FORMATS)}, for the ending says how the day is written. Write "
            f"--out {path.with_suffix('.npz').name}"
        )
    if path.suffix.lower() == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError as fault:
            raise OperatorFault(
                f"--out {path} needs pyarrow, which is not installed, and the day would be lost "
                "at its end. Install it: pip install -e '.[parquet]' in heatveil's checkout, or "
                "write --out day.npz"
            ) from fault


def write_day(played: Played, path: Path, ending: str) -> None:
    """Write the day; `ending` is that of the final name, one of FORMATS."""
    if ending.lower() == ".parquet":
        _parquet(played, path)
    else:
        _npz(played, path)


def _about(played: Played, parts: tuple[str, ...]) -> dict[str, str]:
    """Return what a file says of itself, as text."""
    about = {
        "about": "a simulation; what is private would never leave a real room",
        "room": str(played.room.name),
        "private": " ".join(part for part in PRIVATE if part in parts),
        "public": " ".join(part for part in PUBLIC if part in parts),
    }
    if played.releases:
        round = played.releases[0].round
        about["guarantee"] = to_json(round.guarantee)
        about["params"] = json.dumps(list(round.params))
    return about


def _npz(played: Played, path: Path) -> None:
    lived, moments = played.lived, played.moments
    most = max(map(len, lived.people), default=0)
    people = np.full((len(lived.people), most, 2), np.nan)
    for frame, places in enumerate(lived.people):
        people[frame, : len(places)] = places
    asked = [lived.find_frame(moment.at_s) for moment in moments]
    parts: dict[str, NDArray[Any]] = {
        "times_s": lived.times_s,
        "places_m": played.places_m,
        "level": np.array(played.read.level, dtype=float),
        "counts": np.array(played.read.counts, dtype=float),
        "step_k": played.read.step_k,
        "true_k": lived.seen_k,
        "empty_k": lived.empty_k,
        "frames_s": lived.frames_s,
        "warmth_k": lived.warmth_k.astype(np.float32),
        "air_k": lived.air_k.astype(np.float32),
        "people_m": people,
        "cell_mm": np.array(played.room.cell_mm),
    }
    if moments:
        blank = np.full(moments[0].heat_w.shape, np.nan)
        parts |= {
            "rounds_s": np.array([moment.at_s for moment in moments]),
            "sent_grains": np.array([one.values for one in played.releases], dtype=float),
            "mass": np.array([blank if m.mass is None else m.mass for m in moments]),
            "people_at_rounds_m": people[asked],
            "heat_w": np.array([moment.heat_w for moment in moments]),
        }
    texts = {name: np.array(text) for name, text in _about(played, (*parts,)).items()}
    with path.open("wb") as file:
        np.savez_compressed(file, **parts, **texts)  # type: ignore[arg-type]


def _parquet(played: Played, path: Path) -> None:
    """Write a row for each sensor at each instant; `sent_grains` is null between the rounds."""
    import pyarrow as pa
    from pyarrow import parquet

    lived, sensors = played.lived, len(played.places_m)
    steps = len(lived.times_s)
    sent: list[int | None] = [None] * (steps * sensors)
    for moment, release in zip(played.moments, played.releases, strict=True):
        row = lived.find_step(moment.at_s) * sensors
        sent[row : row + sensors] = list(release.values)
    columns = {
        "at_s": np.repeat(lived.times_s, sensors),
        "sensor": np.tile(np.arange(sensors, dtype=np.int32), steps),
        "x_m": np.tile(played.places_m[:, 0], steps),
        "y_m": np.tile(played.places_m[:, 1], steps),
        "true_k": lived.seen_k.ravel(),
        "empty_k": lived.empty_k.ravel(),
        "level": pa.array(list(played.read.level) * steps, pa.int64()),
        "counts": pa.array(list(chain.from_iterable(played.read.counts)), pa.int64()),
        "sent_grains": pa.array(sent, pa.int64()),
    }
    about = {name.encode(): text.encode() for name, text in _about(played, (*columns,)).items()}
    table = pa.table(columns).replace_schema_metadata(about)
    with path.open("wb") as file:
        parquet.write_table(table, file, compression="zstd")
