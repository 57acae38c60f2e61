"""The public recordings of three offices: 144 experiments with people coming and going.

Morgner, Mueller, Ring, Eskofier, Riess, Armknecht and Benenson 2017, Privacy Implications of
Room Climate Data, ESORICS. Three to five thermometers in steps of 0.01 K, a reading each about
four seconds; an empty room for 5 to 65 minutes, one or two people for 10 to 65, and the empty
room again for 4 to 43. What is **not** in it: where the people were, what the heating did, the
temperature outside and in the corridor. No window was ever open; the door stood open for whole
experiments in one office only, on three days together, and elsewhere while somebody came or went.

The height of the rooms is not published either: 2.9 m is a hand above their ceiling nodes.
"""

import csv
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from ..air import ACTIVITIES
from .experiments import Experiment, stepped

HEIGHT_M = 2.9
ROOMS = ("A", "B", "C")

# By the recording's own code: coming or going, reading, standing, walking, working at a desk.
# Who walks, in a room of four metres, strolls, but through moving air.
_STROLLING = ACTIVITIES["strolling"]
WATTS = (
    ACTIVITIES["standing"].air_w,
    ACTIVITIES["office"].air_w,
    ACTIVITIES["standing"].air_w,
    _STROLLING.sensible_w * _STROLLING.convective_moving,
    ACTIVITIES["active"].air_w,
)


def room_climate(folder: Path) -> dict[str, tuple[Experiment, ...]]:
    """Return the experiments of the offices A, B and C, in order of time.

    Args:
        folder: holds room_climate.npz and room_climate_nodes.csv.

    Raises:
        FileNotFoundError: it does not.
    """
    with (folder / "room_climate_nodes.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    with np.load(folder / "room_climate.npz") as kept:
        columns = {name: kept[name] for name in kept.files}
    offices = {}
    for index, room in enumerate(ROOMS):
        nodes = [line for line in lines if line["location"] == room]
        places_m = np.array(
            [[float(line[axis]) for axis in ("x_m", "y_m", "z_m")] for line in nodes]
        )
        size_m = np.array([float(nodes[0]["room_x_m"]), float(nodes[0]["room_y_m"]), HEIGHT_M])
        found = []
        for number in np.unique(columns["meas"][columns["loc"] == index]):
            chosen = (columns["loc"] == index) & (columns["meas"] == number)
            of = {name: column[chosen] for name, column in columns.items()}
            # Nodes tell the time in turn, so the readings are put in order first.
            of = {
                name: column[np.argsort(of["t_ms"], kind="stable")] for name, column in of.items()
            }
            began = datetime.fromtimestamp(of["t_ms"][0] / 1000, tz=UTC)
            found.append(
                (
                    of["t_ms"][0],
                    stepped(
                        f"{room}{number}",
                        began.date().isoformat(),
                        (size_m, places_m),
                        (
                            (of["t_ms"] - of["t_ms"][0]) / 1000,
                            of["node"].astype(int) - 1,
                            of["temp_cC"] / 100,
                        ),
                        (of["occ"] * np.array(WATTS)[of["act"]], of["door"].astype(float)),
                    ),
                )
            )
        offices[room] = tuple(one for _, one in sorted(found, key=lambda pair: pair[0]))
    return offices
