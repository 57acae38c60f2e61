"""Recorded experiments: thermometers in a room, and who was in it when.

An experiment begins with an empty room, somebody comes in, and all goes on to the end of the
recording. Readings are kept as means over steps of equal length; a step in which a thermometer
said nothing is NaN. Where the people stood is not part of it: nobody writes that down.
"""

import csv
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from ..air import ACTIVITIES
from ..places import Floats

STEP_S = 20.0
_LAST_S, _TREND_S = 60.0, 300.0


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """One recording of one room.

    Args:
        name: what to call it.
        day: when it was; whole days are held out together, for they share their weather.
        size_m: of the room, (3,): x, y and height.
        places_m: of the thermometers, (nodes, 3), height last.
        temp_c: mean readings, (nodes, steps), NaN where there were none.
        power_w: what people gave to the air, mean of each step, (steps,).
        door_open: whether it stood open most of the time.

    Raises:
        ValueError: shapes that disagree, or no minute of an empty room before the first person.
    """

    name: str
    day: str
    size_m: Floats
    places_m: Floats
    temp_c: Floats
    power_w: Floats
    door_open: bool

    def __post_init__(self) -> None:
        if self.temp_c.shape != (len(self.places_m), len(self.power_w)):
            raise ValueError(
                f"experiment {self.name} has readings of shape {self.temp_c.shape} but "
                f"{len(self.places_m)} thermometers and {len(self.power_w)} steps, and each pair "
                "needs a reading or a gap. Give temp_c as (nodes, steps), with NaN for gaps."
            )
        if not self.power_w.any():
            raise ValueError(
                f"experiment {self.name} has nobody in it but needs somebody, for what an empty "
                "room does says nothing about how people warm it. Leave it out."
            )
        before = self.temp_c[:, : self.entered]
        if before.shape[1] * STEP_S < _LAST_S or np.isnan(before[:, -15:]).all(axis=1).any():
            raise ValueError(
                f"experiment {self.name} has a thermometer without readings before somebody came "
                "but warming is counted from there. Record the empty room for a minute or more."
            )

    @property
    def entered(self) -> int:
        """The step in which somebody came in."""
        return int(np.flatnonzero(self.power_w)[0])

    @property
    def baseline_c(self) -> Floats:
        """Mean of each thermometer's last minute (or last reading) before that, (nodes,)."""
        last = self.temp_c[:, max(0, self.entered - round(_TREND_S / STEP_S)) : self.entered]
        minute = last[:, -round(_LAST_S / STEP_S) :]
        means = []
        for row, recent in zip(last, minute, strict=True):
            known = recent[~np.isnan(recent)]
            means.append(known.mean() if len(known) else row[~np.isnan(row)][-1])
        return np.array(means)

    @property
    def trends_k_per_s(self) -> Floats:
        """Slope of each thermometer over the last five minutes before that, (nodes,)."""
        last = self.temp_c[:, max(0, self.entered - round(_TREND_S / STEP_S)) : self.entered]
        at_s = np.arange(last.shape[1]) * STEP_S
        slopes = []
        for row in last:
            known = ~np.isnan(row)
            slopes.append(np.polyfit(at_s[known], row[known], 1)[0] if known.sum() > 2 else 0.0)
        return np.array(slopes)

    @property
    def since_s(self) -> Floats:
        """Seconds since somebody came in, at the middle of each later step."""
        return np.asarray((np.arange(len(self.power_w) - self.entered) + 0.5) * STEP_S, float)

    @property
    def warming_k(self) -> Floats:
        """Readings since then, above the baseline, (nodes, later steps)."""
        return np.asarray(self.temp_c[:, self.entered :] - self.baseline_c[:, None])


def average_steps(
    name: str,
    day: str,
    room: tuple[Floats, Floats],
    readings: tuple[Floats, Floats, Floats],
    state: tuple[Floats, Floats],
) -> Experiment:
    """Return an experiment from single readings, as means over whole steps.

    Args:
        name, day: as in `Experiment`.
        room: size_m and places_m.
        readings: seconds, index of the thermometer, degrees Celsius, one each a reading.
        state: watts of people and whether the door is open, at each reading.
    """
    (size_m, places_m), (at_s, node, temp_c), (watts, doors) = room, readings, state
    step = ((at_s - at_s.min()) // STEP_S).astype(int)
    steps = int(step.max())  # the last step is cut short and left out
    inside = step < steps
    cell = node[inside] * steps + step[inside]
    counts = np.bincount(cell, minlength=len(places_m) * steps)
    sums = np.bincount(cell, temp_c[inside], minlength=len(places_m) * steps)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), math.nan)
    heard = np.bincount(step[inside], minlength=steps)
    power = np.bincount(step[inside], watts[inside], minlength=steps) / np.maximum(heard, 1)
    at = np.flatnonzero(heard)
    power = np.interp(np.arange(steps), at, power[at])
    shape = (len(places_m), steps)
    return Experiment(
        name, day, size_m, places_m, means.reshape(shape), power, bool(doors.mean() > 0.5)
    )


# The public recordings of three offices: 144 experiments with people coming and going.
#
# Morgner, Mueller, Ring, Eskofier, Riess, Armknecht and Benenson 2017, Privacy Implications of
# Room Climate Data, ESORICS. Three to five thermometers in steps of 0.01 K, a reading each about
# four seconds; an empty room for 5 to 65 minutes, one or two people for 10 to 65, and the empty
# room again for 4 to 43. What is **not** in it: where the people were, what the heating did, the
# temperature outside and in the corridor. No window was ever open; the door stood open for whole
# experiments in one office only, on three days together, and elsewhere while somebody came or
# went.
#
# The height of the rooms is not published either: 2.9 m is a hand above their ceiling nodes.

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


def read_room_climate(folder: Path) -> dict[str, tuple[Experiment, ...]]:
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
                    average_steps(
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
