"""The three panels that picture and animation share: true warmth, what was sent, the map."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from physics.rooms.raster import door_rect
from physics.rooms.records import Room, Window

from ..commands.colours import FAINT
from .records import Moment, Played

Floats = NDArray[np.float64]
TITLES = ("True warmth of people", "What the wire carries", "What is recovered")
PERSON, WALL = "#7dd3fc", "#8b87a0"


def clock(at_s: float) -> str:
    """Return a time of day, from seconds since midnight.

    >>> clock(30660.0), clock(90000.0)
    ('08:31', '01:00')
    """
    minutes = round(at_s / 60) % (24 * 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def scale(values: Sequence[Floats]) -> float:
    """Return what the brightest colour stands for, alike in all moments; never nought."""
    most = max((float(np.nanmax(part)) for part in values if np.isfinite(part).any()), default=0.0)
    return most if most > 0 else 1.0


class Panels:
    """Three axes of one room; `show` fills them with one moment."""

    def __init__(self, axes: Sequence[Axes], played: Played, warmest_k: float, sent_k: float):
        width, height = played.room.size_m
        self._played, self._extent = played, (0.0, width, height, 0.0)
        self._axes, self._limits = axes, (warmest_k, sent_k)

    def show(
        self, warmth_k: Floats, people_m: Floats, moment: Moment | None, words: Sequence[str]
    ) -> list[object]:
        """Draw one moment and return what has a colour scale, panel by panel.

        Args:
            warmth_k: (rows, columns).
            people_m: (there, 2).
            moment: the round that was last closed; None before the first.
            words: what stands above each panel.
        """
        shown: list[object] = []
        for panel, word in zip(self._axes, words, strict=True):
            panel.clear()
            panel.set_title(word, loc="left", fontsize=9)
            panel.set_xlim(self._extent[:2])
            panel.set_ylim(self._extent[2:])
            panel.set_aspect("equal")
            panel.tick_params(labelsize=7)
            self._furnish(panel)
        warm, sent, found = self._axes
        style = {"cmap": "inferno", "extent": self._extent, "vmin": 0.0, "zorder": 0}
        shown.append(warm.imshow(warmth_k, vmax=self._limits[0], **style))
        warm.scatter(*people_m.T, s=46, facecolors="none", edgecolors=PERSON, linewidths=1.4)
        values = np.full(len(self._played.places_m), np.nan) if moment is None else moment.sent_k
        far = self._limits[1]
        shown.append(
            sent.scatter(*self._played.places_m.T, c=values, cmap="PuOr_r", vmin=-far, vmax=far)
        )
        if moment is not None and moment.mass is not None:
            shown.append(found.imshow(moment.mass, vmax=moment.mass.max(), **style))
        else:
            why = "nothing was asked yet" if moment is None else "no map"
            found.text(0.5, 0.5, why, ha="center", transform=found.transAxes, fontsize=9)
        found.scatter(*people_m.T, s=46, facecolors="none", edgecolors=PERSON, linewidths=1.4)
        return shown

    def _furnish(self, panel: Axes) -> None:
        room = self._played.room
        for piece in room.furniture:
            left, top, right, bottom = piece.rect_m
            panel.add_patch(
                Rectangle(
                    (left, top), right - left, bottom - top, fill=False, edgecolor=FAINT, lw=0.7
                )
            )
        for wall in room.walls:
            panel.plot(*zip(wall.from_m, wall.to_m, strict=True), color=WALL, lw=3, zorder=2)
        for door in room.doors:
            left, top, right, bottom = door_rect(room, door)
            panel.add_patch(
                Rectangle(
                    (left, top), right - left, bottom - top, facecolor="white", ec=WALL, zorder=3
                )
            )
        for window in room.windows:
            panel.plot(*_ends(room, window), color=PERSON, lw=4, zorder=3, clip_on=False)


def _ends(room: Room, window: Window) -> tuple[list[float], list[float]]:
    """Return the x and the y of both ends of a window."""
    along = [window.from_m, window.to_m]
    width, height = room.size_m
    fixed = {"north": 0.0, "south": height, "west": 0.0, "east": width}[window.side]
    beside = [fixed, fixed]
    return (along, beside) if window.side in ("north", "south") else (beside, along)
