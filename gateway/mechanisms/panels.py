"""Pictures of grids: one panel beside the other in a plane, one above the other on a line."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogFormatter, PercentFormatter
from numpy.typing import NDArray

from recovery.maps.guarantee import round_up
from recovery.maps.heatmap import BLANK, HATCHED, Blocks

from ..output import FAINT, FOUND, TRUE

Floats = NDArray[np.float64]
WIDEST = 4  # panels side by side
NOISY = "#9a8fb8"  # of lines over what is mostly noise


class Panel(NamedTuple):
    """What one panel shows."""

    title: str
    values: Floats | None  # (rows, columns), NaN where there is nothing to show; or painted alone
    label: str
    share: bool = False  # parts of a whole, written in per cent
    top: float | None = None  # the value that the brightest colour stands for; None for the most
    margin: tuple[int, int] = (0, 0)  # cells by which it exceeds the grid: left and right, top
    colour: str = FOUND  # on a line
    sd: Floats | None = None  # (rows, columns), drawn on a line as a band of one deviation
    blocks: Blocks | None = None  # what is mostly noise is hatched, where few are is blank
    paint: Callable[[Axes], None] | None = None  # draws on it besides, when all else is there


def draw_panels(grid: Any, panels: Sequence[Panel], path: Path, foot: str = "") -> None:
    """Write the picture as PNG.

    Args:
        foot: a sentence below all panels.
    """
    figure = Figure(layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    (_draw_line if grid.shape[1] == 1 else _draw_plane)(figure, grid, panels)
    if foot:
        wide = int(figure.get_figwidth() * 14)
        figure.supxlabel(fill(foot, wide), x=0.01, ha="left", fontsize=9, color="#444444")
    figure.savefig(path, format="png")


def find_picture_extent(grid: Any, margin: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return left, right, bottom and top of a picture of the grid with so many cells around.

    y goes down, so bottom is the larger. In metres, or in sides of the unit square.
    """
    across, down = _measure_cell(grid)
    (columns, rows), (left, above) = grid.shape, margin
    return (
        -left * across,
        (columns + left) * across,
        (rows + above) * down,
        -above * down,
    )


def _measure_cell(grid: Any) -> tuple[float, float]:
    if not grid.cell_mm:
        return 1 / grid.shape[0], 1 / grid.shape[1]
    return grid.cell_mm / 1000, grid.cell_mm / 1000


def _draw_plane(figure: Figure, grid: Any, panels: Sequence[Panel]) -> None:
    # Titles of three lines, the axis' name and the foot take their height whatever the shape is.
    tall = 3.1 * min(1.6, max(_measure_aspect(grid, panel.margin) for panel in panels)) + 1.9
    lines = -(-len(panels) // WIDEST)
    beside_each_other = -(-len(panels) // lines)
    figure.set_size_inches(4.3 * beside_each_other, tall * lines)
    axes = figure.subplots(lines, beside_each_other, squeeze=False).ravel()
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    unit = "m" if grid.cell_mm else "side"
    for panel, axis in zip(panels, axes, strict=False):
        axis.set_title(fill(panel.title, 42), loc="left", fontsize=10)
        axis.set_xlabel(f"x ({unit})")
        axis.set_ylabel(f"y ({unit})")
        axis.set_facecolor("#e8e6ec")  # where nothing can be, or too little
        if panel.values is not None:
            _map(axis, grid, panel, panel.values)
        else:
            left, right, bottom, top = find_picture_extent(grid, panel.margin)
            axis.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", facecolor="white")
        if any(panel.margin):
            left, right, bottom, top = find_picture_extent(grid, (0, 0))
            frame = Rectangle((left, top), right - left, bottom - top)
            frame.set(fill=False, edgecolor="#7dd3fc", linewidth=1.2)
            axis.add_patch(frame)
        if panel.paint is not None:
            panel.paint(axis)


def _map(axis: Axes, grid: Any, panel: Panel, values: Floats) -> None:
    """Show values in colours, and what is mostly noise hatched."""
    few = False if panel.blocks is None else panel.blocks.fill_cells(panel.blocks.styles) == BLANK
    shown = axis.imshow(
        np.ma.masked_where(few | ~np.isfinite(values), values),
        cmap="inferno",
        extent=find_picture_extent(grid, panel.margin),
        vmin=0,
        vmax=panel.top,
        interpolation="nearest",
    )
    if panel.blocks is not None:
        across, down = _measure_cell(grid)
        for top, left, high, wide in panel.blocks.boxes[panel.blocks.styles == HATCHED]:
            noisy = Rectangle((left * across, top * down), wide * across, high * down)
            noisy.set(fill=False, edgecolor=NOISY, hatch="////", linewidth=0)
            axis.add_patch(noisy)
    add_colour_bar(axis, shown, panel.label, panel.share)


def add_colour_bar(axis: Axes, shown: Any, label: str, share: bool = False) -> None:
    """Say beside a panel, as tall as it whatever its shape, what its colours are."""
    written = FuncFormatter(_format_percent) if share else None
    beside = axis.inset_axes((1.03, 0, 0.05, 1))
    axis.get_figure().colorbar(shown, cax=beside, label=label, format=written)  # type: ignore[union-attr]


def _measure_aspect(grid: Any, margin: tuple[int, int]) -> float:
    """Return how high a panel is in parts of its width."""
    left, right, bottom, top = find_picture_extent(grid, margin)
    return (bottom - top) / (right - left)


def _format_percent(share: float, _: Any) -> str:
    """Return a share as it stands beside a colour.

    >>> _format_percent(0.0125, 0), _format_percent(0.00004, 0)
    ('1.25%', '0.004%')
    """
    return f"{100 * share:.3g}%"


def _draw_line(figure: Figure, grid: Any, panels: Sequence[Panel]) -> None:
    figure.set_size_inches(9, 2.4 * len(panels) + 0.4)
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False).ravel()
    for panel, axis in zip(panels, axes, strict=True):
        left, right, *_ = find_picture_extent(grid, (panel.margin[0], 0))
        if panel.values is not None:
            _draw_bars(axis, panel, panel.values.ravel(), (left, right))
        if any(panel.margin):
            axis.axvspan(
                *find_picture_extent(grid, (0, 0))[:2], color=FAINT, alpha=0.3, zorder=0, lw=0
            )
        _tidy(axis, panel)
        if panel.paint is not None:
            panel.paint(axis)
    ends = np.array([find_picture_extent(grid, (panel.margin[0], 0))[:2] for panel in panels])
    low, high = ends.min(), ends.max()
    edge = 0.01 * (high - low)  # a source at the wall would be cut in half
    axes[-1].set_xlim(low - edge, high + edge)
    axes[-1].set_xlabel(f"place ({'m' if grid.cell_mm else 'length of the line'})")


def _draw_bars(axis: Axes, panel: Panel, values: Floats, ends: tuple[float, float]) -> None:
    """Show values as bars along the line, and between what each is."""
    width = (ends[1] - ends[0]) / len(values)
    places = ends[0] + width * (np.arange(len(values)) + 0.5)
    bars = axis.bar(places, values, width=width, color=panel.colour)
    if panel.blocks is not None:
        for bar, look in zip(bars, panel.blocks.fill_cells(panel.blocks.styles)[0], strict=True):
            if look == HATCHED:
                bar.set(facecolor="none", edgecolor=panel.colour, hatch="////", linewidth=0)
            bar.set_visible(look != BLANK)
    if (band := _compute_band(panel)) is not None:
        low, high, label = band
        axis.vlines(places, low, high, color=TRUE, lw=min(2, 200 / len(values)))
        axis.plot([], [], color=TRUE, label=label)
        axis.legend(frameon=False, loc="upper right")


def _compute_band(panel: Panel) -> tuple[Floats, Floats, str] | None:
    """Return between what each share along a line is, and in words what that is."""
    if (blocks := panel.blocks) is not None:
        cells = blocks.boxes[:, 2] * blocks.boxes[:, 3]
        low, high = (blocks.fill_cells(end / cells)[0] for end in (blocks.low, blocks.high))
        return low, high, f"{blocks.level:.0%} interval of each block, shared by its cells"
    if panel.sd is None or panel.values is None:
        return None
    values, sd = panel.values.ravel(), panel.sd.ravel()
    return np.maximum(values - sd, 0), values + sd, "one standard deviation either way"


def _tidy(axis: Axes, panel: Panel) -> None:
    axis.set_title(fill(panel.title, 110), loc="left", fontsize=10.5)
    axis.set_ylabel(panel.label)
    axis.spines[["top", "right"]].set_visible(False)
    if panel.share:
        axis.yaxis.set_major_formatter(PercentFormatter(1.0))
    if panel.values is None:
        return
    high = axis.get_ylim()[1]
    most = high if panel.top is None else max(high, 1.05 * panel.top)
    # Room for what is named
    axis.set_ylim(0, most * (1.2 if _compute_band(panel) is not None else 1))


def format_log_ticks(axis: Axis) -> None:
    """Name the numbers of a logarithmic axis as 1 and 10, not as powers."""
    axis.set_major_formatter(_Plain())
    axis.set_minor_formatter(_Plain(labelOnlyBase=False))


class _Plain(LogFormatter):
    """Names the same numbers as its base does, and in plain digits."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:g}" if super().__call__(x, pos) else ""


TRADED = {  # by what is drawn: a title, and what it is called on the axis
    "sigma": ("How much one reading is blurred", "sigma"),
    "epsilon_each": ("How much one answer may tell: the more, the sharper a map", "epsilon"),
}


def draw_window_trade(
    panel: Axes,
    rows: Sequence[dict[str, Any]],
    key: str,
    own: tuple[float, float],
    unit: str = "",
    more: Mapping[int, str] = MappingProxyType({}),
) -> None:
    """Draw what is asked of one answer, by how often one is asked, a line for each window.

    Args:
        rows: of other windows and cadences, under one epsilon for each window.
        key: of `TRADED`, which the rows have.
        own: seconds from one answer to the next as planned, and what the key is then.
        more: what is to be said of windows of so many hours, beside what a week of them costs.
    """
    title, axis = TRADED[key]
    hours = sorted({row["window_h"] for row in rows})
    for window_h, line in zip(hours, ("-", "--", "-.", ":"), strict=False):
        of = [row for row in rows if row["window_h"] == window_h]
        panel.plot(
            [row["every_s"] / 3600 for row in of],
            [row[key] for row in of],
            color=FOUND,
            linestyle=line,
            marker="o",
            markersize=3,
            label=f"any {window_h} h: a week costs epsilon {round_up(of[0]['epsilon_week'], 4)}"
            + more.get(window_h, ""),
        )
    panel.plot(own[0] / 3600, own[1], "*", color=TRUE, markersize=12, label="your plan")
    panel.set_xscale("log")
    panel.set_yscale("log")
    format_log_ticks(panel.yaxis)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(0, -0.2))
    panel.set_title(title, loc="left", fontsize=10.5)
    asked = sorted({row["every_s"] / 3600 for row in rows})
    panel.set_xticks(asked, [f"{one:g}" for one in asked])
    panel.set_xticks([], minor=True)
    panel.set_xlabel("one answer every (hours)")
    panel.set_ylabel(f"{axis} ({unit})" if unit else axis)


def write_window_trade(
    rows: Sequence[dict[str, Any]], key: str, own: tuple[float, float], path: Path
) -> None:
    """Write `draw_window_trade` alone as PNG."""
    figure = Figure(layout="constrained", dpi=150, figsize=(7.5, 4.4))
    FigureCanvasAgg(figure)
    draw_window_trade(figure.subplots(), rows, key, own)
    figure.savefig(path, format="png")
