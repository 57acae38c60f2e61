"""Pictures of a simulated day: true warmth, what was sent, and the map; or all day, animated."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from PIL import Image

from physics.rooms.plan import find_rectangle
from physics.rooms.records import Room, Window

from ...output import FAINT, FOUND, SENT, TRUE, Stage
from .day import Moment, Played
from .rooms import format_clock

# The panels that picture and animation share: true warmth, what was sent, the map.

Floats = NDArray[np.float64]
PERSON, WALL, GLASS = "#7dd3fc", "#8b87a0", "#38bdf8"


def list_titles(played: Played) -> list[str]:
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
    return named


def list_units(played: Played) -> list[str]:
    """Return what the colours of each panel are in."""
    named = ["K"]
    if played.moments:
        named += ["K", "share of the warmth found"]
    elif len(played.places_m):
        named.append("K")
    return named


def find_colour_limit(values: Sequence[Floats]) -> float:
    """Return what the brightest colour stands for, alike in all moments; never nought."""
    most = max((float(np.nanmax(part)) for part in values if np.isfinite(part).any()), default=0.0)
    return most if most > 0 else 1.0


class Panels:
    """The axes of one room, as many as `list_titles`; `draw_moment` fills them with one moment.

    Args:
        frames: those that will be shown: colours stand for the same in all of them.
    """

    def __init__(self, axes: Sequence[Axes], played: Played, frames: Sequence[int]) -> None:
        width, height = played.room.size_m
        self._axes, self._played = axes, played
        self._extent = (0.0, width, height, 0.0)
        sent = [moment.sent_k for moment in played.moments]
        counted = [self._subtract_empty(frame) for frame in frames]
        self.warmest_k = find_colour_limit([played.lived.warmth_k[frame] for frame in frames])
        self.sent_k = find_colour_limit([np.abs(values) for values in sent or counted])

    def draw_moment(
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
            _draw_ticks(panel, "m")
            _draw_room(panel, played.room)
        warm, *others = self._axes
        shown.append(self._draw_field(warm, played.lived.warmth_k[frame], self.warmest_k))
        self._draw_people(warm, frame)
        if played.moments:
            blank = np.full(len(played.places_m), np.nan)
            shown.append(self._draw_points(others[0], blank if moment is None else moment.sent_k))
            found = others[1]
            if moment is not None and moment.mass is not None:
                shown.append(self._draw_field(found, moment.mass, float(moment.mass.max())))
                self._draw_people(found, played.lived.find_frame(moment.at_s))
            else:
                why = "nothing was asked yet" if moment is None else "no map"
                found.text(
                    0.5, 0.5, why, ha="center", va="center", transform=found.transAxes,
                    fontsize=9, bbox={"facecolor": "white", "edgecolor": "none"}, zorder=5,
                )  # fmt: skip
                shown.append(None)
        elif len(played.places_m):
            shown.append(self._draw_points(others[0], self._subtract_empty(frame)))
        return shown

    def _draw_field(self, panel: Axes, values: Floats, most: float) -> ScalarMappable:
        return panel.imshow(
            values, cmap="inferno", extent=self._extent, vmin=0.0, vmax=most, zorder=0
        )

    def _draw_points(self, panel: Axes, values: Floats) -> ScalarMappable:
        far, places = self.sent_k, self._played.places_m
        return panel.scatter(
            places[:, 0], places[:, 1], c=values, s=30, cmap="PuOr_r", vmin=-far, vmax=far,
            edgecolors=FAINT, linewidths=0.4, zorder=4,
        )  # fmt: skip

    def _draw_people(self, panel: Axes, frame: int) -> None:
        x, y = self._played.lived.people[frame].T
        # Dark under light, so that a ring is seen on any ground.
        panel.scatter(x, y, s=70, facecolors="none", edgecolors="#000000", linewidths=2.6)
        panel.scatter(x, y, s=70, facecolors="none", edgecolors=PERSON, linewidths=1.3)

    def _subtract_empty(self, frame: int) -> Floats:
        """Return readings less what the empty room alone would be, (sensors,), in kelvin."""
        lived = self._played.lived
        step = lived.find_step(float(lived.frames_s[frame]))
        since = lived.empty_k[step] - lived.empty_k[0]
        return np.asarray(self._played.read.subtract_level_k(step) - since)


def _draw_ticks(panel: Axes, unit: str) -> None:
    panel.set_xlabel(unit, fontsize=7, labelpad=1)
    if panel.get_subplotspec() is None or panel.get_subplotspec().is_first_col():  # type: ignore[union-attr]
        panel.set_ylabel(unit, fontsize=7, labelpad=1)
    panel.tick_params(labelsize=7)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MaxNLocator(8, integer=True))


def _draw_room(panel: Axes, room: Room) -> None:
    for piece in room.furniture:
        left, top, right, bottom = piece.rect_m
        panel.add_patch(
            Rectangle((left, top), right - left, bottom - top, fill=False, ec=FAINT, lw=0.7)
        )
    for wall in room.walls:
        panel.plot(*zip(wall.from_m, wall.to_m, strict=True), color=WALL, lw=3, zorder=2)
    for nth in range(len(room.doors)):
        left, top, right, bottom = find_rectangle(room, "door", nth)
        panel.add_patch(
            Rectangle((left, top), right - left, bottom - top, fc="white", ec=WALL, zorder=3)
        )
    for window in room.windows:
        panel.plot(*_find_window_ends(room, window), color=GLASS, lw=4, zorder=3, clip_on=False)


def _find_window_ends(room: Room, window: Window) -> tuple[list[float], list[float]]:
    """Return the x and the y of both ends of a window."""
    along = [window.from_m, window.to_m]
    width, height = room.size_m
    fixed = {"north": 0.0, "south": height, "west": 0.0, "east": width}[window.side]
    beside = [fixed, fixed]
    return (along, beside) if window.side in ("north", "south") else (beside, along)


# A short animation of the day: true warmth, what was last sent, what was last recovered.

PER_S = 8  # frames a second: a day of quarter hours takes twelve
_COLOURS = 128  # half of the bytes, and nobody sees it
FRAMES = 96  # at most, and the first


def write_animation(played: Played, path: Path, stage: Stage = lambda name: None) -> None:
    """Write the day as an animated GIF, a frame for each that was kept."""
    columns, lived = len(list_titles(played)), played.lived
    width, height = played.room.size_m
    wide = max(10.2, 3.4 * columns)
    tall = np.clip(0.9 * wide / columns * height / width, 1.5, 6.0) + 0.75
    figure = Figure(figsize=(wide, tall), layout="constrained", dpi=80)
    canvas = FigureCanvasAgg(figure)
    axes = [figure.add_subplot(1, columns, column + 1) for column in range(columns)]
    frames = np.unique(np.linspace(0, len(lived.frames_s) - 1, FRAMES + 1).round().astype(int))
    panels, drawn = Panels(axes, played, frames.tolist()), []
    for nth, frame in enumerate(frames.tolist()):
        stage(f"drawing the animation, {nth / len(frames):.0%}")
        at_s = float(lived.frames_s[frame])
        moment = find_last_round(played.moments, at_s)
        panels.draw_moment(frame, moment, _format_frame_titles(played, panels, at_s, moment))
        canvas.draw()  # type: ignore[no-untyped-call]
        pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
        drawn.append(Image.fromarray(pixels).convert("RGB").quantize(_COLOURS))
    first, *others = drawn
    first.save(path, "GIF", save_all=True, append_images=others, duration=1000 // PER_S, loop=0)


def find_last_round(moments: tuple[Moment, ...], at_s: float) -> Moment | None:
    """Return the round that was closed last at this time; None before the first."""
    past = [moment for moment in moments if moment.at_s <= at_s]
    return past[-1] if past else None


def _format_frame_titles(
    played: Played, panels: Panels, at_s: float, moment: Moment | None
) -> list[str]:
    first, *others = list_titles(played)
    words = [f"{format_clock(at_s)}  {first}, to {panels.warmest_k:.1f} K", *others]
    if len(played.places_m):
        words[1] += f", to {panels.sent_k:.1f} K"
    if moment is not None:
        words[1:3] = [
            f"Round of {format_clock(moment.at_s)}: {_lower(word)}" for word in words[1:3]
        ]
    return words


def _lower(word: str) -> str:
    return word[0].lower() + word[1:]


# A picture of the day: three moments of it, and how near its maps came to the truth.

ROWS = 3  # moments that are shown
_HOUR_S = 3600.0


def draw_day(played: Played, path: Path) -> None:
    """Write the picture as PNG."""
    shown, columns = choose_frames(played), len(list_titles(played))
    width, height = played.room.size_m
    tall = np.clip(11 / max(columns, 3) * 0.8 * height / width, 1.0, 5.0) + 0.55
    figure = Figure(figsize=(11.25, tall * len(shown) + 2.4), layout="constrained", dpi=100)
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(len(shown) + 1, columns, height_ratios=[tall] * len(shown) + [2.2])
    for row, (frame, moment) in enumerate(shown):
        axes = [figure.add_subplot(grid[row, column]) for column in range(columns)]
        panels = Panels(axes, played, [frame for frame, _ in shown])
        drawn = panels.draw_moment(frame, moment, _format_titles(played, frame, moment))
        for panel, mappable, unit in zip(axes, drawn, list_units(played), strict=True):
            if mappable is None:
                continue
            bar = figure.colorbar(mappable, cax=panel.inset_axes((1.02, 0.0, 0.04, 1.0)))
            bar.set_label(unit, fontsize=7)
            bar.ax.tick_params(labelsize=7)
    _draw_timeline(figure.add_subplot(grid[-1, :]), played)
    figure.savefig(path, format="png")


def choose_frames(played: Played, rows: int = ROWS) -> list[tuple[int, Moment | None]]:
    """Return the frames worth a row, with their rounds: with people there, spread, in order."""
    lived = played.lived
    every: list[tuple[int, Moment | None]] = [
        (lived.find_frame(moment.at_s), moment) for moment in played.moments
    ] or [(frame, None) for frame in range(len(lived.frames_s))]
    there = [one for one in every if len(lived.people[one[0]])] or every
    which = np.unique(np.linspace(0, len(there) - 1, min(rows, len(there))).round().astype(int))
    return [there[index] for index in which]


def _format_titles(played: Played, frame: int, moment: Moment | None) -> list[str]:
    first, *others = list_titles(played)
    words = [f"{format_clock(float(played.lived.frames_s[frame]))}  {first}", *others]
    if moment is not None and moment.emd_m is not None:
        words[2] += f": {moment.emd_m:.2f} m off"
    return words


def _draw_timeline(panel: Axes, played: Played) -> None:
    """Draw who was there, and how far each map was off."""
    hours = played.lived.frames_s / _HOUR_S
    there = [len(places) for places in played.lived.people]
    panel.fill_between(hours, there, step="post", color=TRUE, alpha=0.25, linewidth=0)
    panel.set_ylabel("people there", color=TRUE)
    panel.set_ylim(0, max([*there, 1]) * 1.15)
    panel.yaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_xlabel("hour of the day")
    panel.set_xlim(hours[0], hours[-1])
    panel.spines["top"].set_visible(False)
    if not played.moments:
        return
    far = panel.twinx()
    far.spines["top"].set_visible(False)
    scored = played.scored
    at = np.array([moment.at_s / _HOUR_S for moment in scored], dtype=float)
    off, blind = (
        np.array(parts, dtype=float)
        for parts in ([one.emd_m for one in scored], [one.guess_m for one in scored])
    )
    far.plot(at, off, "o", color=FOUND, label="map")
    far.plot(at, blind, "_", color=SENT, markersize=11, label="a guess without data")
    for moment in played.moments:
        if moment.emd_m is None:
            far.axvline(moment.at_s / _HOUR_S, color=FAINT, lw=0.7, ls=":")
    far.set_ylabel("off the truth (m)")
    far.set_ylim(0, max([1.0, *off, *blind]) * 1.3)
    if scored:
        far.legend(loc="upper left", frameon=False, ncols=2, fontsize=8)
