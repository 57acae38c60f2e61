"""Maps of people beside each other, for notebooks: on one scale, with a ruler, north up."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import ArrayLike


def show_maps(
    maps: Mapping[str, ArrayLike],
    side: float = 1.0,
    unit: str = "sides",
    vmax: float | None = None,
) -> None:
    """Draw maps by their titles, all in one colour scale, and show them.

    Args:
        maps: (rows, columns) each, row 0 in the south.
        side: how long the longer side is, in `unit`.
        vmax: what is drawn in the darkest colour; None for what all but a hundredth of the first
            map's full cells are below.
    """
    shown = {title: np.asarray(one, dtype=float) for title, one in maps.items()}
    first = next(iter(shown.values()))
    top = vmax or float(np.quantile(first[first > 0], 0.99))
    figure, frames = plt.subplots(
        1,
        len(shown),
        figsize=(2.9 * len(shown) + 0.9, 3.2),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for frame, (title, mass) in zip(frames[0], shown.items(), strict=True):
        rows, columns = mass.shape
        scale = side / max(rows, columns)
        extent = (0.0, columns * scale, 0.0, rows * scale)
        # Maps of unlike cells are compared by what a cell of the first map's size would hold.
        drawn = frame.imshow(
            mass * mass.size / first.size,
            cmap="Purples",
            vmin=0,
            vmax=top,
            origin="lower",
            extent=extent,
        )
        frame.set_title(title, fontsize=10)
        frame.set_xlabel(f"east, {unit}", fontsize=8)
        frame.tick_params(labelsize=7)
    frames[0][0].set_ylabel(f"north, {unit}", fontsize=8)
    bar = figure.colorbar(drawn, ax=frames[0].tolist(), shrink=0.85, extend="max")
    bar.set_label("share of the people in a cell", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    plt.show()
