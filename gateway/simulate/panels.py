"""The panels that picture and animation share: true warmth, what was sent, the map, an array."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from physics.rooms.plan import rect
from physics.rooms.records import Room, Window

from ..output import FAINT
from .records import Filmed, Moment, Played

Floats = NDArray[np.float64]
PERSON, WALL, GLASS = "#7dd3fc", "#8b87a0", "#38bdf8"


def titles(played: Played) -> list[str]:
    """Return what stands above each panel."""
    named = ["True warmth of people"]
    if played.query is not None and played.moments:
        follows = played.query.background == "following"
        named += [
            "What is sent" if follows else "Sent, less the empty room",
            "Shares of warmth, not people",
        ]
    elif len(played.places_m):
        named.append("Counted, less the empty room")
    return named + ([f"What the {played.arrays[0].kind} sees"] if played.arrays else [])


def units(played: Played) -> list[str]:
    """Return what the colours of each panel are in."""
    named = ["K"]
    if played.moments:
        named += ["K", "share of the warmth found"]
    elif len(played.places_m):
        named.append("K")
    return named + (["K"] if played.arrays else [])


def scale(values: Sequence[Floats]) -> float:
    """Return what the brightest colour stands for, alike in all moments; never nought."""
    most = max((float(np.nanmax(part)) for part in values if np.isfinite(part).any()), default=0.0)
    return most if most > 0 else 1.0


class Panels:
    """The axes of one room, as many as `titles`; `show` fills them with one moment.

    Args:
        frames: those that will be shown: colours stand for the same in all of them.
    """

    def __init__(self, axes: Sequence[Axes], played: Played, frames: Sequence[int]) -> None:
        width, height = played.room.size_m
        self._axes, self._played = axes, played
        self._extent = (0.0, width, height, 0.0)
        sent = [moment.sent_k for moment in played.moments]
        counted = [self._counted(frame) for frame in frames]
        self.warmest_k = scale([played.lived.warmth_k[frame] for frame in frames])
        self.sent_k = scale([np.abs(values) for values in sent or counted])
        self._seen_k = scale([filmed.above_k for filmed in played.arrays[:1]])

    def show(
        self, frame: int, moment: Moment | None, words: Sequence[str]
    ) -> list[ScalarMappable | None]:
        """Draw one moment and return what has a colour scale, panel by panel.

        Args:
            frame: of the truth.
            moment: the round that was last closed; None before the first.
            words: what stands above each panel.
        """
        played, shown = self._played, list[ScalarMappable | None]()
        for panel, word in zip(self._axes, words, strict=True):
            panel.clear()
            panel.set_title(word, loc="left", fontsize=9)
            panel.set_xlim(*self._extent[:2])
            panel.set_ylim(*self._extent[2:])
            panel.set_aspect("equal")
            _ticks(panel, "m")
            _furnish(panel, played.room)
        warm, *others = self._axes
        shown.append(self._field(warm, played.lived.warmth_k[frame], self.warmest_k))
        self._people(warm, frame)
        if played.moments:
            blank = np.full(len(played.places_m), np.nan)
            shown.append(self._points(others[0], blank if moment is None else moment.sent_k))
            found = others[1]
            if moment is not None and moment.mass is not None:
                shown.append(self._field(found, moment.mass, float(moment.mass.max())))
                self._people(found, played.lived.frame_of(moment.at_s))
            else:
                why = "nothing was asked yet" if moment is None else "no map"
                found.text(
                    0.5, 0.5, why, ha="center", va="center", transform=found.transAxes,
                    fontsize=9, bbox={"facecolor": "white", "edgecolor": "none"}, zorder=5,
                )  # fmt: skip
                shown.append(None)
        elif len(played.places_m):
            shown.append(self._points(others[0], self._counted(frame)))
        if played.arrays:
            shown.append(self._film(others[-1], played.arrays[0], frame))
        return shown

    def _field(self, panel: Axes, values: Floats, most: float) -> ScalarMappable:
        return panel.imshow(
            values, cmap="inferno", extent=self._extent, vmin=0.0, vmax=most, zorder=0
        )

    def _points(self, panel: Axes, values: Floats) -> ScalarMappable:
        far, places = self.sent_k, self._played.places_m
        return panel.scatter(
            places[:, 0], places[:, 1], c=values, s=30, cmap="PuOr_r", vmin=-far, vmax=far,
            edgecolors=FAINT, linewidths=0.4, zorder=4,
        )  # fmt: skip

    def _film(self, panel: Axes, filmed: Filmed, frame: int) -> ScalarMappable:
        title = panel.get_title(loc="left")
        panel.clear()
        panel.set_title(title, loc="left", fontsize=9)
        _ticks(panel, "pixel")
        values = filmed.above_k[frame].reshape(filmed.shape)
        return panel.imshow(values, cmap="inferno", vmin=0.0, vmax=self._seen_k)

    def _people(self, panel: Axes, frame: int) -> None:
        x, y = self._played.lived.people[frame].T
        # Dark under light, so that a ring is seen on any ground.
        panel.scatter(x, y, s=70, facecolors="none", edgecolors="#000000", linewidths=2.6)
        panel.scatter(x, y, s=70, facecolors="none", edgecolors=PERSON, linewidths=1.3)

    def _counted(self, frame: int) -> Floats:
        """Return readings less what the empty room alone would be, (sensors,), in kelvin."""
        lived = self._played.lived
        step = lived.step_of(float(lived.frames_s[frame]))
        since = lived.empty_k[step] - lived.empty_k[0]
        return np.asarray(self._played.read.above_k(step) - since)


def _ticks(panel: Axes, unit: str) -> None:
    panel.set_xlabel(unit, fontsize=7, labelpad=1)
    if panel.get_subplotspec() is None or panel.get_subplotspec().is_first_col():  # type: ignore[union-attr]
        panel.set_ylabel(unit, fontsize=7, labelpad=1)
    panel.tick_params(labelsize=7)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MaxNLocator(8, integer=True))


def _furnish(panel: Axes, room: Room) -> None:
    for piece in room.furniture:
        left, top, right, bottom = piece.rect_m
        panel.add_patch(
            Rectangle((left, top), right - left, bottom - top, fill=False, ec=FAINT, lw=0.7)
        )
    for wall in room.walls:
        panel.plot(*zip(wall.from_m, wall.to_m, strict=True), color=WALL, lw=3, zorder=2)
    for nth in range(len(room.doors)):
        left, top, right, bottom = rect(room, "door", nth)
        panel.add_patch(
            Rectangle((left, top), right - left, bottom - top, fc="white", ec=WALL, zorder=3)
        )
    for window in room.windows:
        panel.plot(*_ends(room, window), color=GLASS, lw=4, zorder=3, clip_on=False)


def _ends(room: Room, window: Window) -> tuple[list[float], list[float]]:
    """Return the x and the y of both ends of a window."""
    along = [window.from_m, window.to_m]
    width, height = room.size_m
    fixed = {"north": 0.0, "south": height, "west": 0.0, "east": width}[window.side]
    beside = [fixed, fixed]
    return (along, beside) if window.side in ("north", "south") else (beside, along)
