"""A simulated day on the disk: numpy's archive with everything.

It holds what a real room never gives away, beside what is public; so it is for whoever studies a
room, and says so: `private` and `public` name its parts. NaN is what did not come or is not there.

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
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recovery.maps.guarantee import to_json

from ...faults import OperatorFault
from .day import Played

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
        OperatorFault: the name has another ending.
    """
    if path.suffix.lower() != ".npz":
        raise OperatorFault(
            f"--out {path} ends in {path.suffix or 'nothing'!r} but must end in .npz, for the day "
            f"is written as numpy's archive. Write --out {path.with_suffix('.npz').name}"
        )


def _describe_file(played: Played, parts: tuple[str, ...]) -> dict[str, str]:
    """Return what the file says of itself, as text."""
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


def write_day(played: Played, path: Path) -> None:
    """Write the day."""
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
    texts = {name: np.array(text) for name, text in _describe_file(played, (*parts,)).items()}
    with path.open("wb") as file:
        np.savez_compressed(file, **parts, **texts)  # type: ignore[arg-type]
