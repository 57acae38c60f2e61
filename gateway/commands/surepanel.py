"""How sure a map is, as one more panel of its picture."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from recovery.maps.heatmap import Band, Credible

from .colours import FAINT, FOUND, TRUE

Floats = NDArray[np.float64]


def title(credible: Credible | None, certified: Band | None) -> str:
    """Return what stands above the panel."""
    level = credible.level if credible is not None else certified.level if certified else 0.0
    return f"How sure: {level:.0%} bands around the heat that lies to the left of each place"


def draw_band(
    panel: Axes,
    places: Floats,
    found: tuple[Floats | None, Credible | None, Band | None],
    heat: Floats | None,
) -> None:
    """Fill a panel with the cumulative share of the heat, and the bands around it.

    Args:
        found: the map, (rows, columns), and what is said of how sure it is.
        heat: (rows, columns), the truth, where it is known.
    """
    mass, credible, certified = found
    if certified is not None:
        panel.fill_between(
            places, certified.low, certified.high, step="post", color=FAINT, alpha=0.45, lw=0
        )
        panel.fill_between([], [], color=FAINT, alpha=0.45, label="whatever the heat may be")
    if credible is not None and credible.band is not None:
        band = credible.band
        panel.fill_between(places, band.low, band.high, step="post", color=FOUND, alpha=0.3, lw=0)
        panel.fill_between([], [], color=FOUND, alpha=0.3, label="if sources are as said")
    if mass is not None:
        panel.step(places, np.cumsum(mass), where="post", color=FOUND, lw=1.4, label="the map")
    if heat is not None:
        share = np.cumsum(heat) / heat.sum()
        panel.step(places, share, where="post", color=TRUE, lw=1.2, ls="--", label="the truth")
    panel.set_ylabel("heat to the left")
    panel.set_ylim(-0.02, 1.02)
    panel.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    panel.legend(frameon=False, loc="upper left", fontsize=8.5)


def draw_hills(panel: Axes, places: Floats, credible: Credible) -> None:
    """Draw behind the bars of a map how the chances of its cells stand to each other."""
    hills = credible.present.ravel()
    if hills.max() > 0:
        tall = 0.7 * panel.get_ylim()[1] / hills.max()
        panel.fill_between(places, tall * hills, step="mid", color=FOUND, alpha=0.22, lw=0)
        panel.fill_between([], [], color=FOUND, alpha=0.22, label="where a source may stand")


def draw_chances(figure: Any, panel: Axes, credible: Credible, extent: Any) -> None:
    """Fill a panel with the chance of every cell that something warm stands in it."""
    shown = panel.imshow(credible.present, cmap="inferno", extent=extent, vmin=0)
    figure.colorbar(shown, ax=panel, shrink=0.72, label="chance of a source in the cell")
