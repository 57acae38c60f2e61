"""A simulated day on the disk: numpy's archive with everything, or Parquet with the readings.

Both hold what a real room never gives away, the true warmth and the counts of the converters,
beside what is public; so they are for whoever studies a room, and say so.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from recovery.guarantee import to_json

from ..faults import OperatorFault
from .records import Played

FORMATS = (".npz", ".parquet")
SIMULATED = (
    "a simulation: true_k, counts, warmth_k and heat_w are private in a real room; sent_grains "
    "and mass are public"
)


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
                "at its end. Install heatveil[parquet], or write --out day.npz"
            ) from fault


def write_day(played: Played, path: Path, ending: str) -> None:
    """Write the day; `ending` is that of the final name, one of FORMATS."""
    if ending.lower() == ".parquet":
        _parquet(played, path)
    else:
        _npz(played, path)


def _about(played: Played) -> dict[str, str]:
    """Return what every file says of itself, as text."""
    round = played.releases[0].round
    return {
        "about": SIMULATED,
        "guarantee": to_json(round.guarantee),
        "params": json.dumps(list(round.params)),
        "room": str(played.room.name),
    }


def _npz(played: Played, path: Path) -> None:
    lived, moments = played.lived, played.moments
    blank = np.full(moments[0].heat_w.shape, np.nan)
    with path.open("wb") as file:
        np.savez_compressed(
            file,
            times_s=lived.times_s,
            places_m=played.places_m,
            true_k=lived.seen_k,
            empty_k=lived.empty_k,
            frames_s=lived.frames_s,
            warmth_k=lived.warmth_k.astype(np.float32),
            rounds_s=np.array([moment.at_s for moment in moments]),
            counts=np.array([_numbers(moment.read) for moment in moments]),
            sent_grains=np.array([_numbers(release.values) for release in played.releases]),
            mass=np.array([blank if m.mass is None else m.mass for m in moments]),
            heat_w=np.array([moment.heat_w for moment in moments]),
            cell_mm=np.array(played.query.grid.cell_mm),
            **{name: np.array(text) for name, text in _about(played).items()},
        )


def _numbers(values: Any) -> list[float]:
    return [np.nan if value is None else float(value) for value in values]


def _parquet(played: Played, path: Path) -> None:
    """Write a row for each sensor at each instant; `sent_grains` is null between the rounds."""
    import pyarrow as pa
    from pyarrow import parquet

    lived, sensors = played.lived, len(played.places_m)
    steps = len(lived.times_s)
    sent: list[int | None] = [None] * (steps * sensors)
    counts: list[int | None] = [None] * (steps * sensors)
    for moment, release in zip(played.moments, played.releases, strict=True):
        row = int(np.abs(lived.times_s - moment.at_s).argmin()) * sensors
        sent[row : row + sensors] = list(release.values)
        counts[row : row + sensors] = list(moment.read)
    table = pa.table(
        {
            "at_s": np.repeat(lived.times_s, sensors),
            "sensor": np.tile(np.arange(sensors, dtype=np.int32), steps),
            "x_m": np.tile(played.places_m[:, 0], steps),
            "y_m": np.tile(played.places_m[:, 1], steps),
            "true_k": lived.seen_k.ravel(),
            "empty_k": lived.empty_k.ravel(),
            "counts": pa.array(counts, pa.int64()),
            "sent_grains": pa.array(sent, pa.int64()),
        }
    )
    about = {name.encode(): text.encode() for name, text in _about(played).items()}
    with path.open("wb") as file:
        parquet.write_table(table.replace_schema_metadata(about), file, compression="zstd")
