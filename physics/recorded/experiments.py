"""Recorded experiments: thermometers in a room, and who was in it when.

An experiment begins with an empty room, somebody comes in, and all goes on to the end of the
recording. Readings are kept as means over steps of equal length; a step in which a thermometer
said nothing is NaN. Where the people stood is not part of it: nobody writes that down.
"""

import math
from dataclasses import dataclass

import numpy as np

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


def stepped(
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
