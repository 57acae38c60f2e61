"""A picture of the day: three moments of it, and how near its maps came to the truth."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..commands.colours import FAINT, FOUND, SENT, TRUE
from .panels import TITLES, Panels, clock, scale
from .records import Moment, Played

ROWS = 3  # moments that are shown
_HOUR_S = 3600.0


def draw(played: Played, path: Path) -> None:
    """Write the picture as PNG."""
    moments = chosen(played)
    figure = Figure(figsize=(11, 2.6 * len(moments) + 2.6), layout="constrained", dpi=130)
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(len(moments) + 1, 3)
    near = [_frame(played, moment) for moment in moments]
    limits = (
        scale([played.lived.warmth_k[frame] for frame in near]),
        scale([np.abs(moment.sent_k) for moment in moments]),
    )
    for row, (moment, frame) in enumerate(zip(moments, near, strict=True)):
        axes = [figure.add_subplot(grid[row, column]) for column in range(3)]
        words = _words(played, moment)
        shown = Panels(axes, played, *limits).show(
            played.lived.warmth_k[frame], played.lived.people[frame], moment, words
        )
        units = ("K", "K", "share of the heat")
        for panel, mappable, unit in zip(axes, shown, units, strict=False):
            bar = figure.colorbar(mappable, ax=panel, shrink=0.8, pad=0.01)
            bar.set_label(unit, fontsize=7)
            bar.ax.tick_params(labelsize=7)
    _timeline(figure.add_subplot(grid[-1, :]), played)
    figure.savefig(path, format="png")


def chosen(played: Played, rows: int = ROWS) -> list[Moment]:
    """Return the moments worth a row: with people there, spread over the day, in order."""
    moments = list(played.moments)
    there = [one for one in moments if len(played.lived.people[_frame(played, one)])] or moments
    which = np.unique(np.linspace(0, len(there) - 1, min(rows, len(there))).round().astype(int))
    return [there[index] for index in which]


def _frame(played: Played, moment: Moment) -> int:
    return int(np.abs(played.lived.frames_s - moment.at_s).argmin())


def _words(played: Played, moment: Moment) -> list[str]:
    found = TITLES[2] if moment.emd_m is None else f"{TITLES[2]}: {moment.emd_m:.2f} m off"
    return [f"{clock(moment.at_s)}  {TITLES[0]}", TITLES[1], found]


def _timeline(panel: Axes, played: Played) -> None:
    """Draw who was there, and how far each map was off."""
    hours = played.lived.frames_s / _HOUR_S
    there = [len(places) for places in played.lived.people]
    panel.fill_between(hours, there, step="post", color=TRUE, alpha=0.25, linewidth=0)
    panel.set_ylabel("people there", color=TRUE)
    panel.set_ylim(0, max([*there, 1]) * 1.15)
    panel.set_xlabel("hour of the day")
    panel.set_xlim(hours[0], hours[-1])
    panel.spines["top"].set_visible(False)
    far = panel.twinx()
    far.spines["top"].set_visible(False)
    at = [moment.at_s / _HOUR_S for moment in played.scored]
    far.plot(at, [moment.emd_m for moment in played.scored], "o", color=FOUND, label="map")
    far.plot(
        at,
        [moment.guess_m for moment in played.scored],
        "_",
        color=SENT,
        markersize=11,
        label="a guess without data",
    )
    for moment in played.moments:
        if moment.emd_m is None:
            far.axvline(moment.at_s / _HOUR_S, color=FAINT, lw=0.7, ls=":")
    far.set_ylabel("off the truth (m)")
    far.set_ylim(bottom=0)
    if played.scored:
        far.legend(loc="upper left", frameon=False, ncols=2, fontsize=8)
