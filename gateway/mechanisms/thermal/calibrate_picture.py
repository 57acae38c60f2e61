"""The picture of `heatveil calibrate`: what the noise hides, by how far a source moves."""

import math
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter

from recovery.maps.guarantee import ratio_text, upward
from recovery.thermal import Query
from recovery.thermal.curve import curve
from recovery.thermal.query import cell_m

from ...output import FAINT, FOUND, SENT, TRUE

# Along a line every distance is soon looked at, in a plane the rows of the table must do.
_POINTS = 60


def draw(query: Query, numbers: dict[str, Any], path: Path) -> None:
    """Write the picture as PNG.

    Args:
        numbers: what `calibrating_numbers` found.
    """
    figure = Figure(layout="constrained", dpi=150, figsize=(7.5, 6.4))
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True)
    far, epsilons, rights = _rows(query)
    own = numbers["protect"]["distance"]
    for panel in (above, below):
        panel.spines[["top", "right"]].set_visible(False)
        panel.axvline(own, color=TRUE, linestyle=(0, (3, 3)), linewidth=1.1, zorder=0)
        panel.set_xscale("log")
    _epsilons(above, query, numbers, far, epsilons)
    below.plot(far, rights, color=SENT, marker="o", markersize=3, linewidth=1.6)
    below.axhline(0.5, color=FAINT, linewidth=1.0)
    below.text(far[-1], 0.505, "a blind guess", color=TRUE, ha="right", va="bottom", fontsize=9)
    below.text(own, 0.99, " the protected distance", color=TRUE, va="top", fontsize=9)
    _plain(below.xaxis)
    below.set_ylim(0.48, 1.02)
    below.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    below.set_title(
        "How often the best test tells the two places apart", loc="left", fontsize=10.5
    )
    unit = "m" if query.grid.cell_mm else "parts of the side"
    below.set_xlabel(f"the source moves by up to ({unit})")
    figure.savefig(path, format="png")


def _epsilons(
    panel: Axes, query: Query, numbers: dict[str, Any], far: list[float], epsilons: list[float]
) -> None:
    promised = numbers["epsilon"][0] / numbers["epsilon"][1]
    shown = [max(epsilon, promised / 50) for epsilon in epsilons]  # the scale has no nought
    panel.plot(far, shown, color=FOUND, marker="o", markersize=3, linewidth=1.6)
    panel.set_yscale("log")
    _plain(panel.yaxis)
    there, unit = numbers["presence_epsilon"], " m" if query.grid.cell_mm else ""
    own = f"{numbers['protect']['distance']:g}{unit}"
    # What is promised stands to the right, where the curve is high, the other to the left.
    lines = [
        (promised, f"promised up to {own}: epsilon {promised:g}", TRUE, far[-1], "right"),
        (there, f"that somebody is there: epsilon {upward(there)}", SENT, far[0], "left"),
    ]
    for height, said, color, at, side in lines:
        if math.isinf(height):  # of noise from tables, which promises nothing so far
            continue
        panel.axhline(height, color=color, linewidth=1.0, linestyle=":")
        text = panel.text(at, 1.06 * height, said, color=color, ha=side, va="bottom", fontsize=9)
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1})
    ends = [one for one in (*shown, there, promised) if math.isfinite(one)]
    panel.set_ylim(0.7 * min(ends), 2.2 * max(ends))
    panel.set_title(
        f"Epsilon at delta {ratio_text(query.delta)}, of {query.readings} "
        f"reading{'s' * (query.readings > 1)} together: the further, the less is hidden",
        loc="left",
        fontsize=10.5,
    )


def _plain(axis: Axis) -> None:
    """Write 0.5, 1, 2, 5 along a logarithmic axis, and no powers of ten."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _rows(query: Query) -> tuple[list[float], list[float], list[float]]:
    """Return distances, epsilons and chances; more of them than the table has, along a line."""
    longest = max(query.grid.shape) - 1
    cells = None
    if min(query.grid.shape) == 1:
        near = range(1, min(longest, _POINTS // 2) + 1)
        steps = (round(len(near) * 1.1**power) for power in range(1, _POINTS))
        cells = sorted({*near, *(far for far in steps if far < longest), longest})
    rows = curve(query, cells)
    return (
        [row.cells * cell_m(query.grid) for row in rows],
        [row.epsilon for row in rows],
        [row.right for row in rows],
    )
