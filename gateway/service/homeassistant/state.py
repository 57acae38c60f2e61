"""What Home Assistant shows: values taken from the events that the service tells.

Only what has passed the veil: maps, counts, times of rounds, the budget, and the gateway's own
parts. No value here is of a single thermometer, whatever else an event holds, and what comes of
all of them is rounded: a cell, a whole per cent, two digits. Full digits of a map, over rounds,
would be as many equations for what each device sent.
"""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np

from physics.places import cell_places, is_plane

Event = Mapping[str, Any]
NAMES = (
    *("x", "y", "share", "sources", "error", "contradicted"),
    *("round", "sensors", "rounds_left", "lag", "drawn"),
)


class Results:
    """The values of the latest events; what is not known is None."""

    def __init__(self, grid: Any) -> None:
        self.values: dict[str, Any] = dict.fromkeys(NAMES)
        self._grid = grid
        self._opened: tuple[int, float] | None = None  # number and time of the latest round

    def take(self, event: Event, now: datetime, clock_s: float) -> bool:
        """Take an event; return whether there is something new to show.

        Args:
            now: when it came, with its zone; and by a clock that only goes forward.
        """
        kind = event["kind"]
        if kind == "round":
            self._opened = event["number"], clock_s
        elif kind == "release":
            self.values["sensors"] = event["reports"]
        elif kind == "map":
            self.values |= self._drawn(event, now, clock_s)
        elif kind == "budget":
            if self.values["rounds_left"] == event["rounds_left"]:
                return False
            self.values["rounds_left"] = event["rounds_left"]
        return kind in ("map", "budget")  # a release has its map yet to come

    def _drawn(self, event: Event, now: datetime, clock_s: float) -> dict[str, Any]:
        credible, (number, opened_s) = event.get("credible"), self._opened or (None, 0.0)
        lag_s = round(clock_s - opened_s, 1) if number == event["number"] else None
        return (
            _warmest(event.get("mass"), self._grid)
            | _sd(event)
            | {
                "sources": None if credible is None else int(np.argmax(credible["numbers"])),
                "error": _error(credible),
                "contradicted": _contradicted(event.get("verdict")),
                "round": event["number"],
                "sensors": event.get("sensors_used", self.values["sensors"]),
                "lag": lag_s,
                "drawn": now.isoformat(timespec="seconds"),
            }
        )


def health(event: Event) -> dict[str, Any]:
    """Return how the gateway is: whether there is a problem, and the parts that have one."""
    parts = {name: part["why"] for name, part in event["parts"].items() if not part["ok"]}
    return {"problem": "OFF" if event["ready"] else "ON", "parts": parts}


def _warmest(mass: Any, grid: Any) -> dict[str, Any]:
    """Return where most of the warmth is, and which share of all of it is there, in percent."""
    shares = np.zeros(1) if mass is None else np.asarray(mass, dtype=np.float64).ravel()
    cell, total = int(shares.argmax()), float(shares.sum())
    if not total > 0:
        return {"x": None, "y": None, "share": None}
    place = np.atleast_1d(cell_places(grid)[cell])
    return {
        "x": round(float(place[0]), 3),
        "y": round(float(place[1]), 3) if is_plane(grid) else None,
        "share": round(100 * float(shares[cell]) / total),
    }


def _sd(event: Event) -> dict[str, Any]:
    """Return how sure the share at that place is, in percent; nothing where a map has none."""
    if event.get("sd") is None or event.get("mass") is None:
        return {}
    cell = int(np.argmax(np.ravel(event["mass"])))
    return {"sd": float(f"{100 * float(np.ravel(event['sd'])[cell]):.2g}")}


def _contradicted(verdict: Event | None) -> str | None:
    """Return whether a map contradicts its own query; why would be of too many digits."""
    return None if verdict is None else "OFF" if verdict["level"] == "fits" else "ON"


def _error(credible: Event | None) -> float | None:
    error = None if credible is None else credible["expected_error"]
    return None if error is None or not math.isfinite(error) else float(f"{error:.2g}")
