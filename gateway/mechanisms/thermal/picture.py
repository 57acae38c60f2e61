"""Pictures: the truth, what the wire carried, what was recovered from it, and how sure that is."""

import math
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

from edge.core.records import Release
from physics.places import cell_places, is_plane, length_m, sensor_places
from recovery.maps.guarantee import ratio_text, upward
from recovery.maps.heatmap import Band, Credible, Heatmap, Verdict
from recovery.thermal import Query

from ...output import FAINT, FOUND, SENT, TRUE, Writer
from ..panels import draw_trade, name_plainly
from ..summary import far
from ..worlds import Found, Numbers, Played
from .words import decode_sent, facts, label

# How sure a map is, as one more panel of its picture.

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
        panel.fill_between(
            [],
            [],
            color=FOUND,
            alpha=0.22,
            label="where a source may stand (chance, not to scale)",
        )


def draw_chances(figure: Any, panel: Axes, credible: Credible, extent: Any) -> None:
    """Fill a panel with the chance of every cell that something warm stands in it."""
    shown = panel.imshow(credible.present, cmap="inferno", extent=extent, vmin=0)
    figure.colorbar(shown, ax=panel, shrink=0.72, label="chance of a source in the cell")


# Pictures: the truth, what the wire carried, and what was recovered from it.
#
# Only a simulation can draw all three, for in a real room nobody has the first.


class Picture(NamedTuple):
    """What there is to show; the first two are None where nobody knows the truth."""

    grid: Any
    heat: Floats | None  # (rows, columns)
    warmth: Floats | None  # (sensors,), the true temperatures
    places: Floats  # (sensors,) or (sensors, 2)
    sent: Floats  # (rounds, sensors), blurred; NaN where nothing came
    mass: Floats | None  # (rows, columns), None where there is no map
    titles: Sequence[str]  # of the three panels
    credible: Credible | None = None
    certified: Band | None = None
    verdict: Verdict | None = None

    @property
    def sure(self) -> bool:
        """There is something to say of how sure the map is, so there is a fourth panel."""
        if is_plane(self.grid):
            return self.credible is not None
        return self.certified is not None or (
            self.credible is not None and self.credible.band is not None
        )


def draw(picture: Picture, path: Path) -> None:
    """Write the picture as PNG."""
    figure = Figure(layout="constrained", dpi=150)
    FigureCanvasAgg(figure)
    (_plane if is_plane(picture.grid) else _line)(figure, picture)
    figure.savefig(path, format="png")


def _line(figure: Figure, picture: Picture) -> None:
    figure.set_size_inches(9, 2.6 * (2 + (picture.heat is not None) + picture.sure))
    places, unit = cell_places(picture.grid), "m" if picture.grid.cell_mm else "length of the line"
    longest = float(np.asarray(length_m(picture.grid)))
    panels = list(_panels(figure, picture, (0, 1), share=True))
    for index, panel in panels:
        _tidy(panel, _titles(picture)[index])
        if index == 1:
            _readings(panel, picture)
        elif index == 3:
            sure = (picture.mass, picture.credible, picture.certified)
            draw_band(panel, places, sure, picture.heat)
        else:
            _bars(panel, places, picture.heat if index == 0 else picture.mass, index)
        if index == 2 and picture.credible is not None:
            draw_hills(panel, places, picture.credible)
        if index == 2 and picture.heat is not None:
            for place in places[picture.heat.ravel() > 0]:
                panel.axvline(place, 0, 0.85, color=TRUE, ls=(0, (3, 3)), lw=1.2, zorder=0)
            panel.plot([], [], color=TRUE, linestyle="--", linewidth=1.2, label="true source")
        if index == 2 and panel.get_legend_handles_labels()[1]:
            # Above whatever stands there.
            panel.set_ylim(0, 1.2 * panel.get_ylim()[1])
            panel.legend(loc="upper right", frameon=False, ncols=2)
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
    figure.set_size_inches(4.4 * (2 + (picture.heat is not None) + picture.sure), 4.0)
    cells = cell_places(picture.grid)
    half = np.asarray(length_m(picture.grid)) / picture.grid.shape / 2
    (left, top), (right, bottom) = cells.min(axis=0) - half, cells.max(axis=0) + half
    extent = (float(left), float(right), float(bottom), float(top))
    unit = "m" if picture.grid.cell_mm else "side"
    for index, panel in _panels(figure, picture, (1, 0), share=False):
        panel.set_title(fill(_titles(picture)[index], 40), loc="left", fontsize=10)
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
        elif index == 3 and picture.credible is not None:
            draw_chances(figure, panel, picture.credible, extent)
        elif (heat := picture.heat if index == 0 else picture.mass) is not None:
            shown = panel.imshow(heat / heat.sum(), cmap="inferno", extent=extent, vmin=0)
            figure.colorbar(shown, ax=panel, shrink=0.72, label="share of the heat")
            if index == 2 and picture.heat is not None:
                x, y = cells[picture.heat.ravel() > 0].T
                panel.scatter(x, y, marker="o", s=110, facecolors="none", edgecolors="#7dd3fc")


def _panels(
    figure: Figure, picture: Picture, shape: tuple[int, int], share: bool
) -> list[tuple[int, Axes]]:
    """Return the panels to fill, each with its number: 0 truth, 1 wire, 2 map, 3 how sure.

    Args:
        shape: rows and columns of panels; 0 for as many as there are.
    """
    numbers = [0] * (picture.heat is not None) + [1, 2] + [3] * picture.sure
    rows, columns = (side or len(numbers) for side in shape)
    axes = figure.subplots(rows, columns, sharex=share, squeeze=False).ravel()
    return list(zip(numbers, axes, strict=True))


def _titles(picture: Picture) -> list[str]:
    plane = "How likely something warm stands in each cell"
    sure = plane if is_plane(picture.grid) else title(picture.credible, picture.certified)
    told = list(picture.titles)
    if picture.verdict is not None and picture.verdict.contradicts:
        told[2] += f". {picture.verdict.says.rstrip('.')}"
    return [*told, sure]


def _tidy(panel: Axes, title: str) -> None:
    panel.set_title(fill(title, 110), loc="left", fontsize=10.5)
    panel.spines[["top", "right"]].set_visible(False)


def _sure(found: Found) -> tuple[Any, ...]:
    if not isinstance(found, Heatmap):
        return ()
    return found.credible, found.certified, found.verdict


def picture(played: Played, numbers: Numbers, path: Path) -> None:
    """Draw what was played, with how far off its map is."""
    room, carried = played.world, label(played.world.query, played.found.guarantee)
    score, guess = (numbers[name] for name in ("emd_l1", "emd_l1_data_free"))
    grid = room.query.grid
    found = "no map" if score is None else f"{far(grid, score)} from the truth"
    draw(
        Picture(
            grid,
            room.heat,
            room.temperatures,
            room.sensors.places_m,
            decode_sent(played.watch.releases),
            played.mass,
            (
                "The truth, which only the simulator knows",
                f"What the wire carried: {carried}",
                f"What was recovered: {found}"
                + (f" (a guess without data: {far(grid, guess)})" if guess is not None else ""),
            ),
            *_sure(played.found),
        ),
        path,
    )


def redraw(query: Any, releases: Sequence[Release], found: Found, name: str) -> Writer:
    """Return the writer of a picture of public readings, where nobody knows the truth."""
    titles = ("", f"The published readings of {name}", facts(found)[0].sentence)
    places = np.asarray(sensor_places(query.sensors, query.grid))
    mass = found.mass if isinstance(found, Heatmap) else None
    shown = (query.grid, None, None, places, decode_sent(releases), mass, titles)
    picture = Picture(*shown, *_sure(found))
    return lambda half: draw(picture, half)


# What a calibration hides.


def draw_calibration(query: Query, numbers: dict[str, Any], path: Path) -> None:
    """Write the picture of `heatveil calibrate`: what the noise hides, by how far a source moves.

    Epsilon above, the chance of the best test below; under a promise for a window, what other
    windows and cadences would cost stands below both.

    Args:
        numbers: as `heatveil calibrate --json` prints them.
    """
    trade = numbers["trade"]
    figure = Figure(layout="constrained", dpi=150, figsize=(7.5, 9.4 if trade else 6.4))
    FigureCanvasAgg(figure)
    above, below, *more = figure.subplots(2 + bool(trade), 1)
    below.sharex(above)
    for panel in more:
        draw_trade(panel, trade, "sigma", "K" if query.grid.cell_mm else "parts of the unit")
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
        name_plainly(panel.xaxis)
    above.set_yscale("log")
    name_plainly(above.yaxis)
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
