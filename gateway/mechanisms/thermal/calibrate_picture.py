"""The picture of `heatveil calibrate`: what the noise hides, by how far a source moves."""

import math
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from recovery.maps.guarantee import ratio_text, upward
from recovery.thermal import Query

from ...output import FAINT, FOUND, SENT, TRUE


def draw(query: Query, numbers: dict[str, Any], path: Path) -> None:
    """Write the picture as PNG: epsilon above, the chance of the best test below.

    Args:
        numbers: as `heatveil calibrate --json` prints them.
    """
    figure = Figure(layout="constrained", dpi=150, figsize=(7.5, 6.4))
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True)
    rows, own = numbers["distances"], numbers["protect"]["distance"]
    unit = "m" if query.grid.cell_mm else "parts of the side"
    promised = numbers["epsilon"][0] / numbers["epsilon"][1]
    for panel, key, colour in ((above, "epsilon", FOUND), (below, "best_test_right", SENT)):
        shown = [
            (row["distance"], row[key]) for row in rows if row[key] > 0 and math.isfinite(row[key])
        ]
        panel.plot(*zip(*shown, strict=True), color=colour, marker="o", markersize=3)
        panel.spines[["top", "right"]].set_visible(False)
        panel.axvline(own, color=TRUE, linestyle="--", linewidth=1.1, zorder=0)
        panel.set_xscale("log")
    above.set_yscale("log")
    there = numbers["presence_epsilon"]
    for height, colour, said in (
        (promised, TRUE, f"promised up to {own:g} {unit}: epsilon {promised:g}"),
        (there, SENT, f"that somebody is there: epsilon {upward(there)}"),
    ):
        if math.isfinite(height):  # noise from tables promises nothing of presence so far
            above.axhline(height, linestyle=":", linewidth=1.0, color=colour, label=said)
    above.legend(frameon=False, fontsize=9)
    below.axhline(0.5, color=FAINT, linewidth=1.0, label="a blind guess")
    below.legend(frameon=False, fontsize=9)
    below.set_ylim(0.48, 1.02)
    below.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    above.set_title(
        f"Epsilon at delta {ratio_text(query.delta)}, of {query.readings} "
        f"reading{'s' * (query.readings > 1)} together: the further, the less is hidden",
        loc="left",
        fontsize=10.5,
    )
    below.set_title(
        "How often the best test tells the two places apart", loc="left", fontsize=10.5
    )
    below.set_xlabel(f"the source moves by up to ({unit})")
    figure.savefig(path, format="png")
