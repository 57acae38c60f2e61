"""The picture of one recorded frame: what was seen, what the wire carried, what was made of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .array_frames import Drawn

Floats = NDArray[np.float64]

PERSON = "#7dd3fc"


class Shown(NamedTuple):
    """One frame through the veil, and the epsilon that it was given."""

    epsilon: int | None  # None without a veil
    drawn: Drawn


def draw(warmth: Floats, shown: Sequence[Shown], path: Path) -> None:
    """Write the picture as PNG.

    Args:
        warmth: the recorded frame, (side, side), in kelvin above the empty room. Private.
        shown: the frame as it fared, a column for each.
    """
    figure = Figure(figsize=(3.1 * len(shown), 5.9), layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, len(shown), squeeze=False)
    most = max(float(one.drawn.mass.max()) for one in shown)
    # The same colours for all that was sent would hide the frame beside the noise, so each has
    # its own, and the bar says how far apart they are.
    for column, (epsilon, drawn) in enumerate(shown):
        sent = warmth if epsilon is None else drawn.sent
        title = "recorded, never sent" if epsilon is None else f"sent at epsilon {epsilon}"
        _panel(figure, axes[0, column], sent, title, "K above the empty room")
        guess = "no veil" if epsilon is None else f"epsilon {epsilon}"
        told = f"map: {guess}" if drawn.somewhere else f"map: {guess}, no estimate"
        _panel(figure, axes[1, column], drawn.mass, told, "share of the heat", (0.0, most))
        rows, columns = np.nonzero(drawn.people)
        axes[1, column].scatter(columns, rows, s=320, facecolors="none", edgecolors=PERSON, lw=2)
    figure.suptitle(
        "One frame of a thermal array; circles are the people that were counted",
        x=0.01,
        ha="left",
        fontsize=11,
    )
    figure.savefig(path, format="png")


def _panel(
    figure: Figure,
    panel: Axes,
    values: Floats,
    title: str,
    unit: str,
    limits: tuple[float | None, float | None] = (None, None),
) -> None:
    image = panel.imshow(values, cmap="inferno", vmin=limits[0], vmax=limits[1])
    figure.colorbar(image, ax=panel, shrink=0.72, label=unit)
    panel.set_title(title, loc="left", fontsize=10)
    panel.set_xticks([])
    panel.set_yticks([])
