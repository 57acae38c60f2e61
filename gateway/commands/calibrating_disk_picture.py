"""What a disk Round answers, as a picture: the chance of every cell from two true ones."""

from pathlib import Path
from typing import Any

import numpy as np

from edge.disk import outer
from recovery.disk.channel import channel_of

from ..serves.disk import in_words
from .choices_disk import first_round
from .colours import FOUND, SENT
from .panels import Panel, draw


def _shown(query: Any) -> list[tuple[int, int]]:
    """Return the true cells that are shown, (x, y): the middle and a corner."""
    columns, rows = query.grid.shape
    return [(columns // 2, rows // 2), (0, 0)]


def _panels(query: Any, round: Any) -> list[Panel]:
    channel = channel_of(round)
    margin = outer(query.grid, round.params[0])[2:]
    panels = []
    for (x, y), said, colour in zip(
        _shown(query), ("the middle", "a corner"), (FOUND, SENT), strict=True
    ):
        mass = np.zeros((query.grid.shape[1], query.grid.shape[0]))
        mass[y, x] = 1.0
        chance = np.where(channel.support, channel.forward(mass), np.nan)
        title = f"What a device in {said} answers; the frame holds the true cells"
        panels.append(Panel(title, chance, "chance", True, margin=margin, colour=colour))
    return panels


def draw_round(query: Any, path: Path) -> None:
    """Write the picture as PNG."""
    round = first_round(query)
    draw(query.grid, _panels(query, round), path, " ".join(in_words(query, round.guarantee)[:3]))
