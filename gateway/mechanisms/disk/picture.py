"""What pictures of places show: truth, answers, map, how sure it is; and what a Round answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edge.disk import outer
from edge.records import Release
from recovery.disk.channel import channel_of
from recovery.disk.round import domain_of
from recovery.maps.heatmap import Heatmap

from ...output import FOUND, SENT, TRUE, Writer
from ..panels import Panel, draw
from ..scores import SEEDED
from ..worlds import Floats, Found, Numbers, Played
from .query import first_round
from .words import away, in_words

# What a disk Round answers, as a picture: the chance of every cell from two true ones.


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


# What a picture of places shows: the truth, what was answered, the map, how sure it is.


def panels(
    query: Any, releases: Sequence[Release], found: Found, title: str, truth: Floats | None = None
) -> list[Any]:
    """Return the panels, of those there is something to show in.

    Args:
        title: of the map.
        truth: (rows, columns), where it is known.
    """
    mass = found.mass if isinstance(found, Heatmap) else None
    share = None if truth is None else truth / truth.sum()
    # Truth and map in the same colours, so that they can be held against each other.
    top = max((float(map.max()) for map in (share, mass) if map is not None), default=None)
    counts, margin = _answered(query, releases)
    reports = int(np.nansum(counts))
    epsilon = found.guarantee.epsilon
    line = query.grid.shape[1] == 1
    carried = (
        f"What the wire carried: {reports:,} answers at epsilon {epsilon[0] / epsilon[1]:g}; "
        f"{'the shade is behind' if line else 'in the frame are'} the cells that can be true"
    )
    shown = []
    if share is not None:
        said = "The truth, which only the simulator knows"
        shown.append(Panel(said, share, "share of the people", True, top, colour=TRUE))
    shown.append(Panel(carried, counts, "answers", margin=margin, colour=SENT))
    if not isinstance(found, Heatmap):
        return shown
    sd = found.sd
    shown.append(
        Panel(title, found.mass, "share of the people", True, top, sd=sd if line else None)
    )
    if sd is not None and not line:
        said = "How unsure: one standard deviation of each cell's share"
        shown.append(Panel(said, sd, "standard deviation", True))
    return shown


def foot(query: Any, found: Found) -> str:
    """Return what stands below a picture: the promise, and that there is none, if so."""
    said = in_words(query, found.guarantee)[:3]
    if found.guarantee.trust == SEEDED:
        said.insert(0, "An experiment with --seed: nothing of this is private.")
    return " ".join(said)


def _answered(query: Any, releases: Sequence[Release]) -> tuple[Floats, tuple[int, int]]:
    """Return how often each outer cell was answered, NaN where none can be; and its margin."""
    round = releases[0].round
    columns, rows, *reach = outer(query.grid, round.params[0])
    counts = np.sum([release.values for release in releases], axis=0, dtype=np.float64)
    shown = np.where(domain_of(round), counts.reshape(rows, columns), np.nan)
    return shown, (reach[0], reach[1])


def picture(played: Played, numbers: Numbers, path: Path) -> None:
    """Draw what was played, with how far off its map is."""
    query = played.world.query
    found = "no map"
    if played.mass is not None:
        sliced_only = numbers["w2"] is None
        w2 = "w2_sliced" if sliced_only else "w2"
        found = (
            f"What was recovered: W2{', sliced,' * sliced_only} {away(query.grid, numbers[w2])}, "
            f"an even map has {away(query.grid, numbers[w2 + '_data_free'])}"
        )
    shown = panels(query, played.watch.releases, played.found, found, played.world.truth)
    draw(query.grid, shown, path, foot(query, played.found))


def redraw(query: Any, releases: Sequence[Release], found: Found, name: str) -> Writer:
    """Return the writer of a picture of public releases, where nobody knows the truth."""

    def write(path: Path) -> None:
        title = f"Recovered from {name} by {query.estimator}"
        draw(query.grid, panels(query, releases, found, title), path, foot(query, found))

    return write
