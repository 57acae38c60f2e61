"""A picture of the day: three moments of it, and how near its maps came to the truth."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..output import FAINT, FOUND, SENT, TRUE
from .clocks import clock
from .panels import Panels, titles, units
from .records import Moment, Played

ROWS = 3  # moments that are shown
_HOUR_S = 3600.0


def draw(played: Played, path: Path) -> None:
    """Write the picture as PNG."""
    shown, columns = chosen(played), len(titles(played))
    width, height = played.room.size_m
    tall = np.clip(11 / max(columns, 3) * 0.8 * height / width, 1.0, 5.0) + 0.55
    figure = Figure(figsize=(11.25, tall * len(shown) + 2.4), layout="constrained", dpi=100)
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(len(shown) + 1, columns, height_ratios=[tall] * len(shown) + [2.2])
    for row, (frame, moment) in enumerate(shown):
        axes = [figure.add_subplot(grid[row, column]) for column in range(columns)]
        panels = Panels(axes, played, [frame for frame, _ in shown])
        drawn = panels.show(frame, moment, _words(played, frame, moment))
        for panel, mappable, unit in zip(axes, drawn, units(played), strict=True):
            if mappable is None:
                continue
            bar = figure.colorbar(mappable, cax=panel.inset_axes((1.02, 0.0, 0.04, 1.0)))
            bar.set_label(unit, fontsize=7)
            bar.ax.tick_params(labelsize=7)
    _timeline(figure.add_subplot(grid[-1, :]), played)
    figure.savefig(path, format="png")


def chosen(played: Played, rows: int = ROWS) -> list[tuple[int, Moment | None]]:
    """Return the frames worth a row, with their rounds: with people there, spread, in order."""
    lived = played.lived
    every: list[tuple[int, Moment | None]] = [
        (lived.frame_of(moment.at_s), moment) for moment in played.moments
    ] or [(frame, None) for frame in range(len(lived.frames_s))]
    there = [one for one in every if len(lived.people[one[0]])] or every
    which = np.unique(np.linspace(0, len(there) - 1, min(rows, len(there))).round().astype(int))
    return [there[index] for index in which]


def _words(played: Played, frame: int, moment: Moment | None) -> list[str]:
    first, *others = titles(played)
    words = [f"{clock(float(played.lived.frames_s[frame]))}  {first}", *others]
    if moment is not None and moment.emd_m is not None:
        words[2] += f": {moment.emd_m:.2f} m off"
    return words


def _timeline(panel: Axes, played: Played) -> None:
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
