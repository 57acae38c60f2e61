"""Pictures: the truth, what the wire carried, and what was recovered from it.

Only a simulation can draw all three, for in a real room nobody has the first.
"""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from physics.places import cell_places, is_plane, length_m

Floats = NDArray[np.float64]

TRUE, SENT, FOUND, FAINT = "#3b3355", "#c2410c", "#8f1d5b", "#b9b3c6"


class Picture(NamedTuple):
    """What there is to show; the first two are None where nobody knows the truth."""

    grid: Any
    heat: Floats | None  # (rows, columns)
    warmth: Floats | None  # (sensors,), the true temperatures
    places: Floats  # (sensors,) or (sensors, 2)
    sent: Floats  # (rounds, sensors), blurred; NaN where nothing came
    mass: Floats | None  # (rows, columns), None where there is no map
    titles: Sequence[str]  # of the three panels


def draw(picture: Picture, path: Path) -> None:
    """Write the picture as PNG."""
    figure = Figure(layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    (_plane if is_plane(picture.grid) else _line)(figure, picture)
    figure.savefig(path, format="png")


def _line(figure: Figure, picture: Picture) -> None:
    figure.set_size_inches(9, 2.6 * 3 if picture.heat is not None else 2.6 * 2)
    places, unit = cell_places(picture.grid), "m" if picture.grid.cell_mm else "length of the line"
    longest = float(np.asarray(length_m(picture.grid)))
    panels = list(_panels(figure, picture, (3, 1), share=True))
    for index, panel in panels:
        _tidy(panel, picture.titles[index])
        if index == 1:
            _readings(panel, picture)
        else:
            _bars(panel, places, picture.heat if index == 0 else picture.mass, index)
        if index == 2 and picture.heat is not None:
            for place in places[picture.heat.ravel() > 0]:
                panel.axvline(place, color=TRUE, linestyle=(0, (3, 3)), linewidth=1.2, zorder=0)
            panel.plot([], [], color=TRUE, linestyle="--", linewidth=1.2, label="true source")
            # Above the panel: within it something may stand anywhere.
            panel.legend(loc="lower right", bbox_to_anchor=(1, 1), frameon=False, borderaxespad=0)
    # A source on the wall would be cut in half.
    panels[-1][1].set_xlim(-0.01 * longest, 1.01 * longest)
    panels[-1][1].set_xlabel(f"place ({unit})")


def _bars(panel: Axes, places: Floats, heat: Floats | None, index: int) -> None:
    panel.set_ylabel("share of the heat")
    panel.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    if heat is None:
        panel.text(0.5, 0.5, "no map", ha="center", va="center", transform=panel.transAxes)
        return
    share = heat.ravel() / heat.sum()
    width = float(places[1] - places[0])
    panel.bar(places, share, width=width, color=FOUND if index else TRUE)
    panel.set_ylim(0, 1.12 * float(share.max()))


def _readings(panel: Axes, picture: Picture) -> None:
    panel.axhline(0, color=FAINT, linewidth=0.8)
    rounds = len(picture.sent)
    label = "sent, blurred" if rounds == 1 else f"sent, blurred, {rounds} rounds"
    places = np.tile(picture.places, rounds)
    alpha = max(0.15, rounds**-0.5)
    panel.scatter(places, picture.sent, s=18, color=SENT, alpha=alpha, linewidths=0, label=label)
    if picture.warmth is not None:
        panel.plot(
            picture.places, picture.warmth, color=TRUE, linewidth=1.6, label="true, never sent"
        )
    panel.set_ylabel(f"warmth ({'K' if picture.grid.cell_mm else 'model unit'})")
    panel.legend(frameon=False, loc="upper right", ncols=2)
    low, high = panel.get_ylim()
    panel.set_ylim(low, high + 0.18 * (high - low))


def _plane(figure: Figure, picture: Picture) -> None:
    figure.set_size_inches(4.4 * (3 if picture.heat is not None else 2), 4.0)
    cells = cell_places(picture.grid)
    half = np.asarray(length_m(picture.grid)) / picture.grid.shape / 2
    (left, top), (right, bottom) = cells.min(axis=0) - half, cells.max(axis=0) + half
    extent = (float(left), float(right), float(bottom), float(top))
    unit = "m" if picture.grid.cell_mm else "side"
    for index, panel in _panels(figure, picture, (1, 3), share=False):
        panel.set_title(fill(picture.titles[index], 46), loc="left", fontsize=10)
        panel.set_xlabel(f"x ({unit})")
        panel.set_ylabel(f"y ({unit})")
        if index == 1:
            x, y = picture.places.T
            mean = np.ma.masked_invalid(picture.sent).mean(axis=0)
            dots = panel.scatter(x, y, c=mean, cmap="inferno", s=42, clip_on=False)
            warmth = f"warmth ({'K' if picture.grid.cell_mm else 'model unit'})"
            figure.colorbar(dots, ax=panel, shrink=0.72, label=warmth)
            panel.set_xlim(extent[:2])
            panel.set_ylim(extent[2:])
            panel.set_aspect("equal")
        elif (heat := picture.heat if index == 0 else picture.mass) is not None:
            shown = panel.imshow(heat / heat.sum(), cmap="inferno", extent=extent, vmin=0)
            figure.colorbar(shown, ax=panel, shrink=0.72, label="share of the heat")
            if index == 2 and picture.heat is not None:
                x, y = cells[picture.heat.ravel() > 0].T
                panel.scatter(x, y, marker="o", s=110, facecolors="none", edgecolors="#7dd3fc")


def _panels(
    figure: Figure, picture: Picture, shape: tuple[int, int], share: bool
) -> list[tuple[int, Axes]]:
    """Return the panels to fill, each with its number: 0 truth, 1 wire, 2 map."""
    numbers = [0, 1, 2] if picture.heat is not None else [1, 2]
    rows, columns = (len(numbers) if side == 3 else 1 for side in shape)
    axes = figure.subplots(rows, columns, sharex=share, squeeze=False).ravel()
    return list(zip(numbers, axes, strict=True))


def _tidy(panel: Axes, title: str) -> None:
    panel.set_title(title, loc="left", fontsize=10.5)
    panel.spines[["top", "right"]].set_visible(False)
