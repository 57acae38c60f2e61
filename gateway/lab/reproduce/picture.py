"""A figure as a picture: its panels of lines, and its maps of cells, in one PNG."""

import itertools
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from ...output import FAINT, SENT, TRUE
from .figures import SHARES, UNIFORM, Figure, Grid2, Panel

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
_ACROSS = 4  # panels in a row at most
_FAR = 20  # times the least, from which an axis is logarithmic


def draw(figure: Figure, path: Path) -> None:
    """Write the picture as PNG: nothing to be drawn is an empty picture with its title."""
    number = len(figure.panels) + len(figure.maps)
    # Maps alone stand closer, and five of them in a row: each row of a comparison is one row.
    most = 2 if number == 4 else _ACROSS if len(figure.panels) > 4 else 3
    most, wide = (5, 2.6) if len(figure.maps) > 4 and not figure.panels else (most, 4.0)
    across = max(1, min(most, number))
    if across == 1:  # a title and a legend have room over one panel too
        wide = 8.0
    down = max(1, math.ceil(number / across))
    canvas = Canvas(
        figsize=(wide * across, min(3.2 if across > 1 else 4.4, 1.1 * wide) * down + 0.8),
        dpi=110,
        layout="constrained",
    )
    FigureCanvasAgg(canvas)
    frames = list(np.atleast_1d(canvas.subplots(down, across, squeeze=False)).ravel())
    styles = style(figure.panels)
    for frame, panel in zip(frames, figure.panels, strict=False):
        _lines(frame, panel, styles)
    for frame, shown in zip(frames[len(figure.panels) :], figure.maps, strict=False):
        _map(frame, shown)
    for frame in frames[number:]:
        frame.set_axis_off()
    if figure.panels:
        _legend(canvas, frames[: len(figure.panels)], 5 if across > 1 else 3)
    canvas.suptitle(f"{figure.name}: {figure.title}", fontsize=11)
    canvas.savefig(path, format="png")


def style(panels: Sequence[Panel]) -> dict[str, tuple[str, str]]:
    """Return the colour and the marker of each line, the same in every panel that has it."""
    names = dict.fromkeys(name for panel in panels for name in panel.lines if name != UNIFORM)
    return {
        name: (_COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)])
        for number, name in enumerate(names)
    }


def _lines(frame: Axes, panel: Panel, styles: dict[str, tuple[str, str]]) -> None:
    frame.spines[["top", "right"]].set_visible(False)
    names = [name for name in panel.lines if name != UNIFORM]
    for name, line in panel.lines.items():
        at, means = [one.at for one in line], [one.mean for one in line]
        if name == UNIFORM:
            frame.plot(at, means, color=FAINT, linestyle=":", label=name)
            continue
        halves = [0.0 if math.isnan(one.half_width) else one.half_width for one in line]
        frame.errorbar(
            at,
            means,
            halves,
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
    if _wide(one.at for line in panel.lines.values() for one in line):
        frame.set_xscale("log")
        _name_ticks(frame, sorted({one.at for line in panel.lines.values() for one in line}))
    # A map that says nothing is far above all others; it must not flatten them.
    means = [one.mean for name in names for one in panel.lines[name]]
    if _wide(means) and panel.up not in SHARES:
        frame.set_yscale("log")
        frame.set_ylim(0.7 * min(means), 1.5 * max(means))
    elif max(means, default=0.0) > 0:
        frame.set_ylim(0, 1.15 * max(means))


def _name_ticks(frame: Axes, values: Sequence[float]) -> None:
    """Name the values that were tried, where they are few and have room for their names."""
    apart = all(b >= 2 * a for a, b in itertools.pairwise(values))
    if apart and len(values) <= 8:
        frame.set_xticks(values, [f"{value:g}" for value in values])
        frame.minorticks_off()


def _wide(values: Iterable[float]) -> bool:
    """Say whether numbers are so far apart that an even scale shows the large ones alone."""
    known = list(values)
    return bool(known) and min(known) > 0 and max(known) >= _FAR * min(known)


def _legend(canvas: Canvas, frames: list[Axes], columns: int) -> None:
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


def _map(frame: Axes, shown: Grid2) -> None:
    values = np.array(shown.values, dtype=float)
    top = float(np.nanmax(values)) if np.isfinite(values).any() else 1.0
    if shown.marked:
        # A little beyond nought and one has the colours of the ends: the marks say where that
        # is, and are to be read on the darkest cell.
        top = 1.6 * max(1.0, top)
    frame.imshow(values, cmap="Purples", vmin=0, vmax=top, origin="lower")
    for column, row, text in shown.marked:
        number = _number(text)
        wrong = text == "!" or (number is not None and not 0 <= number <= 1)
        size = 6 if len(values) > 6 else 8
        frame.text(
            column, row, text, ha="center", va="center", fontsize=size,
            color=SENT if wrong else TRUE, fontweight="bold" if wrong else "normal",
        )  # fmt: skip
    frame.set_title(shown.title, fontsize=9)
    frame.set_xticks([])
    frame.set_yticks([])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
