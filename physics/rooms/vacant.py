"""The empty room beside the clock: what heaters, weather and doors do to it, and how surely.

It is marched as a day is, with nobody in it, and again for each cause that the file may have
wrong, changed by one deviation of its prior: the difference is what sensors show of that cause.
Nothing is assumed of the room but that it can be marched.

Differs from a day that is simulated:
1. The march begins a day before the first moment that is asked for, at the baseline, in long
   steps.
2. The causes are marched in long steps throughout, each with its doors as in the step's middle.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..diffusion.kept import fingerprint
from ..diffusion.march import Media, march
from ..diffusion.run import Run
from . import model
from .causes import DAY_S, Cause, Clock, Weather, causes, daily, driven, hours, of_day
from .records import Floats, Room

LONG_STEP_S = 600.0


class Seen(NamedTuple):
    """What sensors show of the empty room, in kelvin above the baseline."""

    warmth_k: Floats  # (sensors,)
    causes_k: Floats  # (sensors, causes), what one deviation of each adds to it


class Vacant:
    """The empty room of a file at a time, and beside it what the file may have wrong.

    Args:
        views: (sensors, cells), what each sensor sees of the field.
        at_s: when to begin, at the baseline; it is to go on for `DAY_S` before it is believed.
        weather: outdoors; where it is not known, and without it, it is as the file says.
        clock: the time of the day.
    """

    def __init__(
        self,
        room: Room,
        views: Floats,
        at_s: float,
        weather: Weather = lambda at_s: None,
        clock: Clock | None = None,
    ) -> None:
        self.room, self._views, self._weather = daily(room), views, weather
        self.clock, self._since_s = clock or of_day, at_s
        medium = self._media(self.room)(at_s, at_s)
        # Damped throughout, as days and responses are.
        self._now = Run(medium, at_s=at_s, always_damped=True)
        self._causes = causes(self.room)
        self._beside = [
            Run(self._media(cause.room)(at_s, at_s), at_s=at_s, always_damped=True)
            for cause in self._causes
        ]

    @property
    def at_s(self) -> float:
        """The time up to which the march has come."""
        return self._now.at_s

    @property
    def causes(self) -> tuple[Cause, ...]:
        """What the file may have wrong."""
        return self._causes[1:]

    def go(self, until_s: float) -> Seen:
        """Go on to a time, which may not lie before the last, and return what is seen then.

        The state is that of the last whole step, whenever it was looked at: the same moments are
        marched through with the same steps, and to the same bits.

        Raises:
            ValueError: the time is past already.
        """
        if not until_s >= self.at_s:
            raise ValueError(
                f"until_s is {until_s:.0f} but the march is at {self.at_s:.0f} s already, and "
                "heat does not go back. Begin another, a day before."
            )
        file, day_s = self._causes[0], self._since_s + DAY_S
        whole_s = until_s // LONG_STEP_S * LONG_STEP_S
        step_s = self.room.day.step_s
        if self.at_s < (night_s := min(day_s // LONG_STEP_S * LONG_STEP_S, whole_s)):
            self._march(self._now, file, LONG_STEP_S, night_s)
        self._march(self._now, file, step_s, max(until_s // step_s * step_s, self.at_s))
        for run, cause in zip(self._beside, self._causes, strict=True):
            self._march(run, cause, LONG_STEP_S, max(whole_s, run.at_s))
        seen = self._look(self._now, file, until_s)
        beside = [
            self._look(run, cause, until_s)
            for run, cause in zip(self._beside, self._causes, strict=True)
        ]
        return Seen(seen, np.array(beside[1:]).reshape(-1, len(seen)).T - beside[0][:, None])

    def state(self) -> dict[str, Any]:
        """Return what `resumed` goes on from, as arrays."""
        return {
            "digest": np.array(self.digest),
            "since_s": np.array(self._since_s),
            "at_s": np.array([run.at_s for run in (self._now, *self._beside)]),
            "fields_k": np.array([run.field_k for run in (self._now, *self._beside)]),
        }

    @property
    def digest(self) -> str:
        """What tells the march of this room from that of another, in 16 hexadecimal digits."""
        said = hashlib.sha256(repr(self.room).encode())
        for cause in self._causes:
            said.update(fingerprint(self._media(cause.room)(0.0, 0.0)).encode())
        said.update(np.ascontiguousarray(self._views).tobytes())
        return said.hexdigest()[:16]

    def resumed(self, state: Mapping[str, Any]) -> "Vacant":
        """Return the march that this state was taken of.

        Raises:
            ValueError: it is of another room, or broken.
        """
        try:
            digest, since_s = str(state["digest"]), float(state["since_s"])
            times, fields = np.array(state["at_s"]), np.array(state["fields_k"])
            if digest != self.digest or len(times) != 1 + len(self._beside):
                raise ValueError("it is of another room")
            found = Vacant(self.room, self._views, since_s, self._weather, self.clock)
            runs = [
                Run(run.medium, field, float(at_s), always_damped=True)
                for run, field, at_s in zip(
                    (found._now, *found._beside), fields, times, strict=True
                )
            ]
        except (KeyError, TypeError, ValueError) as fault:
            raise ValueError(
                f"the state of the empty room cannot be gone on from ({fault}) but must be of "
                "this very room, or its warmth would be another's. March it again."
            ) from fault
        found._now, found._beside = runs[0], runs[1:]
        return found

    def _look(self, run: Run, cause: Cause, at_s: float) -> Floats:
        """Return what sensors see a part of a step later."""
        if at_s > run.at_s:
            run = Run(run.medium, run.field_k, run.at_s, always_damped=True)
            self._march(run, cause, at_s - run.at_s, at_s)
        return np.asarray(self._views @ run.field_k.ravel())

    def _march(self, run: Run, cause: Cause, step_s: float, until_s: float) -> None:
        drives = driven(cause, self.clock, self._weather)
        for _ in march(run, drives, step_s, until_s, self._media(cause.room)):
            pass

    def _media(self, room: Room) -> Media:
        return lambda from_s, to_s: model.media(room, *hours(self.clock, from_s, to_s))
