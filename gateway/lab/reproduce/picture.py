"""Panels of lines as one picture: each line with the 95 % intervals of its means."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from ...output import FAINT

# What a figure calls a map that says nothing; its score is the least a mechanism must beat.
UNIFORM = "uniform map"

# Colours that people with one kind of cones less can still tell apart (Wong 2011).
_COLOURS = (
    "#0072b2",
    "#56b4e9",
    "#009e73",
    "#e69f00",
    "#d55e00",
    "#cc79a7",
    "#7a5195",
    "#555555",
    "#882255",
    "#117733",
)
_MARKERS = "osD^vP*Xhd"
_FAR = 20  # times the least, from which an axis is logarithmic


class Interval(NamedTuple):
    """One place of a line: a mean over runs, and how sure it is."""

    at: float
    mean: float
    half_width: float  # of the 95 % interval of the mean; NaN for one run
    runs: int


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over one axis, by name."""

    title: str
    across: str
    up: str
    lines: dict[str, tuple[Interval, ...]]


def draw_panels(title: str, panels: Sequence[Panel], path: Path) -> None:
    """Write the picture as PNG: nothing to be drawn is an empty picture with its title."""
    most = 2 if len(panels) == 4 else 4 if len(panels) > 4 else 3
    across = max(1, min(most, len(panels)))
    wide = 4.0 if across > 1 else 8.0  # a title and a legend have room over one panel too
    down = max(1, math.ceil(len(panels) / across))
    canvas = Canvas(
        figsize=(wide * across, (3.2 if across > 1 else 4.4) * down + 0.8),
        dpi=110,
        layout="constrained",
    )
    FigureCanvasAgg(canvas)
    frames = list(np.atleast_1d(canvas.subplots(down, across, squeeze=False)).ravel())
    names = dict.fromkeys(name for panel in panels for name in panel.lines if name != UNIFORM)
    styles = {
        name: (_COLOURS[at % len(_COLOURS)], _MARKERS[at % len(_MARKERS)])
        for at, name in enumerate(names)
    }
    for frame, panel in zip(frames, panels, strict=False):
        _draw_lines(frame, panel, styles)
    for frame in frames[len(panels) :]:
        frame.set_axis_off()
    if panels:
        _draw_legend(canvas, frames[: len(panels)], 5 if across > 1 else 3)
    canvas.suptitle(title, fontsize=11)
    canvas.savefig(path, format="png")


def _draw_lines(frame: Axes, panel: Panel, styles: dict[str, tuple[str, str]]) -> None:
    frame.spines[["top", "right"]].set_visible(False)
    for name, line in panel.lines.items():
        at, means = [one.at for one in line], [one.mean for one in line]
        if name == UNIFORM:
            frame.plot(at, means, color=FAINT, linestyle=":", label=name)
            continue
        frame.errorbar(
            at,
            means,
            [_find_half_width(one) for one in line],
            color=styles[name][0],
            marker=styles[name][1],
            markersize=4,
            linewidth=1.2,
            capsize=2,
            label=name,
        )
    frame.set_title(panel.title, fontsize=9)
    frame.set_xlabel(panel.across, fontsize=8)
    frame.set_ylabel(panel.up, fontsize=8)
    frame.tick_params(labelsize=7)
    places = sorted({one.at for line in panel.lines.values() for one in line})
    if _is_wide(places):
        frame.set_xscale("log")
        _name_ticks(frame, places)
    # A map that says nothing is far above all others; it must not flatten them.
    shown = [one for name, line in panel.lines.items() if name != UNIFORM for one in line]
    means = [one.mean for one in shown]
    ends = [one.mean + side * _find_half_width(one) for one in shown for side in (-1, 1)]
    if _is_wide(means):
        frame.set_yscale("log")
        frame.set_ylim(0.7 * min(end for end in ends if end > 0), 1.5 * max(ends))
    elif max(ends, default=0.0) > 0:
        frame.set_ylim(min(0, 1.15 * min(ends)), 1.15 * max(ends))


def _find_half_width(one: Interval) -> float:
    return 0.0 if math.isnan(one.half_width) else one.half_width


def _name_ticks(frame: Axes, values: Sequence[float]) -> None:
    """Name the values that were tried, where they are few and have room for their names."""
    apart = all(b >= 2 * a for a, b in itertools.pairwise(values))
    if apart and len(values) <= 8:
        frame.set_xticks(values, [f"{value:g}" for value in values])
        frame.minorticks_off()


def _is_wide(values: Iterable[float]) -> bool:
    """Say whether numbers are so far apart that an even scale shows the large ones alone."""
    known = list(values)
    return bool(known) and min(known) > 0 and max(known) >= _FAR * min(known)


def _draw_legend(canvas: Canvas, frames: list[Axes], columns: int) -> None:
    known: dict[str, Artist] = {}
    for frame in frames:
        handles, names = frame.get_legend_handles_labels()
        known.update(zip(names, handles, strict=True))
    canvas.legend(
        list(known.values()),
        list(known),
        loc="outside lower center",
        ncols=columns,
        fontsize=8,
        frameon=False,
    )
