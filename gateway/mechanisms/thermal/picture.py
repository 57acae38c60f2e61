"""Pictures: the truth, what the wire carried, what was recovered from it, and how sure that is."""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from edge.core.records import Release
from physics.places import cell_places, is_plane, sensor_places
from recovery.maps.guarantee import format_ratio, round_up
from recovery.maps.heatmap import Band, Credible, Heatmap, Verdict
from recovery.thermal import Query

from ...output import FAINT, FOUND, SENT, TRUE, Writer
from ..panels import Panel, add_colour_bar, draw_window_trade, format_log_ticks
from ..panels import draw_panels as draw_panels
from ..summary import format_distance
from ..worlds import Found, Numbers, Played
from .calibrate_numbers import describe_tried_map
from .words import decode_releases, format_epsilon_label, list_facts

# Pictures: the truth, what the wire carried, and what was recovered from it.
#
# Only a simulation can draw all three, for in a real room nobody has the first.

Floats = NDArray[np.float64]
SHARE = "share of the heat"


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


def draw_picture(picture: Picture, path: Path) -> None:
    """Write the picture as PNG."""
    _, heat, _, _, _, mass, titles, credible, certified, verdict = picture
    plane = is_plane(picture.grid)
    unit = f"warmth ({'K' if picture.grid.cell_mm else 'model unit'})"
    doubt = (
        f". {verdict.sentence.rstrip('.')}" if verdict is not None and verdict.contradicts else ""
    )
    shown = []
    if heat is not None:
        shown.append(Panel(titles[0], heat / heat.sum(), SHARE, True, colour=TRUE))
    wire, found = (_draw_dots, _draw_circles) if plane else (_draw_readings, _draw_hills)
    shown.append(Panel(titles[1], None, unit, paint=partial(wire, picture, unit)))
    share = None if mass is None else mass / mass.sum()
    shown.append(Panel(titles[2] + doubt, share, SHARE, True, paint=partial(found, picture)))
    if plane and credible is not None:
        title = "How likely something warm stands in each cell"
        shown.append(Panel(title, credible.present, "chance of a source in the cell", True))
    elif not plane and (certified or (credible and credible.band)):
        level = (credible or certified).level  # type: ignore[union-attr]
        title = f"How sure: {level:.0%} bands around the heat that lies to the left of each place"
        shown.append(
            Panel(title, None, "heat to the left", True, paint=partial(_draw_bands, picture))
        )
    draw_panels(picture.grid, shown, path)


def _draw_readings(picture: Picture, unit: str, panel: Axes) -> None:
    """Draw what was sent along a line, and what was true."""
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
    panel.legend(frameon=False, loc="upper right", ncols=2)
    low, high = panel.get_ylim()
    panel.set_ylim(low, high + 0.18 * (high - low))


def _draw_dots(picture: Picture, unit: str, panel: Axes) -> None:
    """Draw what was sent in a plane, a dot for each sensor."""
    mean = np.ma.masked_invalid(picture.sent).mean(axis=0)
    x, y = picture.places.T
    dots = panel.scatter(x, y, c=mean, cmap="inferno", s=42, clip_on=False)
    add_colour_bar(panel, dots, unit)


def _draw_hills(picture: Picture, panel: Axes) -> None:
    """Draw behind the bars of a map where a source may stand, and where one truly does."""
    places, credible = cell_places(picture.grid), picture.credible
    if picture.mass is None:
        panel.text(0.5, 0.5, "no map", ha="center", va="center", transform=panel.transAxes)
        return
    if credible is not None and (hills := credible.present.ravel()).max() > 0:
        tall = 0.7 * panel.get_ylim()[1] / hills.max()
        look: Any = {"color": FOUND, "alpha": 0.22, "lw": 0}
        panel.fill_between(places, tall * hills, step="mid", **look)
        label = "where a source may stand (chance, not to scale)"
        panel.fill_between([], [], label=label, **look)
    if picture.heat is not None:
        for place in places[picture.heat.ravel() > 0]:
            panel.axvline(place, 0, 0.85, color=TRUE, ls=(0, (3, 3)), lw=1.2, zorder=0)
        panel.plot([], [], color=TRUE, linestyle="--", linewidth=1.2, label="true source")
    if panel.get_legend_handles_labels()[1]:
        panel.set_ylim(0, 1.2 * panel.get_ylim()[1])  # above whatever stands there
        panel.legend(loc="upper right", frameon=False, ncols=2)


def _draw_circles(picture: Picture, panel: Axes) -> None:
    """Draw on a map where something warm truly is."""
    if picture.heat is not None and picture.mass is not None:
        x, y = cell_places(picture.grid)[picture.heat.ravel() > 0].T
        panel.scatter(x, y, marker="o", s=110, facecolors="none", edgecolors="#7dd3fc")


def _draw_bands(picture: Picture, panel: Axes) -> None:
    """Draw the cumulative share of the heat, and the bands around it."""
    places, credible = cell_places(picture.grid), picture.credible
    bands = (
        (picture.certified, FAINT, 0.45, "wherever the heat is"),
        (credible.band if credible else None, FOUND, 0.3, "if sources are as said"),
    )
    for band, colour, alpha, said in bands:
        if band is not None:
            look: Any = {"color": colour, "alpha": alpha, "lw": 0}
            panel.fill_between(places, band.low, band.high, step="post", **look)
            panel.fill_between([], [], label=said, **look)
    if picture.mass is not None:
        share = np.cumsum(picture.mass)
        panel.step(places, share, where="post", color=FOUND, lw=1.4, label="the map")
    if picture.heat is not None:
        share = np.cumsum(picture.heat) / picture.heat.sum()
        panel.step(places, share, where="post", color=TRUE, lw=1.2, ls="--", label="the truth")
    panel.set_ylim(-0.02, 1.02)
    panel.legend(frameon=False, loc="upper left", fontsize=8.5)


def _list_certainty(found: Found) -> tuple[Any, ...]:
    if not isinstance(found, Heatmap):
        return ()
    return found.credible, found.certified, found.verdict


def draw_play(played: Played, numbers: Numbers, path: Path) -> None:
    """Draw what was played, with how far off its map is."""
    room, carried = played.world, format_epsilon_label(played.world.query, played.found.guarantee)
    score, guess = (numbers[name] for name in ("emd_l1", "emd_l1_data_free"))
    grid = room.query.grid
    found = "no map" if score is None else f"{format_distance(grid, score)} from the truth"
    draw_picture(
        Picture(
            grid,
            room.heat,
            room.temperatures,
            room.sensors.places_m,
            decode_releases(played.watch.releases),
            played.mass,
            (
                "The truth, which only the simulator knows",
                f"What the wire carried: {carried}",
                f"What was recovered: {found}"
                + (
                    f" (a guess without data: {format_distance(grid, guess)})"
                    if guess is not None
                    else ""
                ),
            ),
            *_list_certainty(played.found),
        ),
        path,
    )


def make_picture_writer(
    query: Any, releases: Sequence[Release], found: Found, name: str
) -> Writer:
    """Return the writer of a picture of public readings, where nobody knows the truth."""
    titles = ("", f"The published readings of {name}", list_facts(found)[0].sentence)
    places = np.asarray(sensor_places(query.sensors, query.grid))
    mass = found.mass if isinstance(found, Heatmap) else None
    shown = (query.grid, None, None, places, decode_releases(releases), mass, titles)
    picture = Picture(*shown, *_list_certainty(found))
    return lambda half: draw_picture(picture, half)


# What a calibration hides.


def draw_calibration(query: Query, numbers: dict[str, Any], path: Path) -> None:
    """Write the picture of `heatveil calibrate`: what the noise hides, by how far a source moves.

    Epsilon above, the chance of the best test below; under a promise for a window, what other
    windows and cadences would cost stands below both.

    Args:
        numbers: as `heatveil calibrate --json` prints them.
    """
    trade, unit = numbers["trade"], "m" if query.grid.cell_mm else "parts of the side"
    maps = {
        row["window_h"]: f"; for the cost of your week a map {describe_tried_map(query, row)}"
        for row in numbers["same_week"]
    }
    figure = Figure(layout="constrained", dpi=150, figsize=(7.5, 10.2 if trade else 6.4))
    FigureCanvasAgg(figure)
    above, below, *more = figure.subplots(2 + bool(trade), 1)
    below.sharex(above)
    for panel in more:
        draw_window_trade(
            panel,
            trade,
            "sigma",
            (numbers["every_s"], numbers["sigma"]),
            "K" if query.grid.cell_mm else "parts of the unit",
            maps,
        )
    rows, own = numbers["distances"], numbers["protect"]["distance"]
    promised = numbers["epsilon"][0] / numbers["epsilon"][1]
    for panel, key, colour in ((above, "epsilon", FOUND), (below, "best_test_right", SENT)):
        shown = [
            (row["distance"], row[key]) for row in rows if row[key] > 0 and math.isfinite(row[key])
        ]
        panel.plot(*zip(*shown, strict=True), color=colour, marker="o", markersize=3)
        panel.spines[["top", "right"]].set_visible(False)
        panel.axvline(own, color=TRUE, linestyle="--", linewidth=1.1, zorder=0)
        panel.set_xscale("log")
        format_log_ticks(panel.xaxis)
    above.set_yscale("log")
    format_log_ticks(above.yaxis)
    there = numbers["presence_epsilon"]
    for height, colour, said in (
        (promised, TRUE, f"promised up to {own:g} {unit}: epsilon {promised:g}"),
        (there, SENT, f"that somebody is there: epsilon {round_up(there)}"),
    ):
        if math.isfinite(height):  # noise from tables promises nothing of presence so far
            above.axhline(height, linestyle=":", linewidth=1.0, color=colour, label=said)
    above.legend(frameon=False, fontsize=9)
    below.axhline(0.5, color=FAINT, linewidth=1.0, label="a blind guess")
    below.legend(frameon=False, fontsize=9)
    below.set_ylim(0.48, 1.02)
    below.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    above.set_title(
        f"Epsilon at delta {format_ratio(query.delta)}, of {query.readings} "
        f"reading{'s' * (query.readings > 1)} together: the further, the less is hidden",
        loc="left",
        fontsize=10.5,
    )
    below.set_title(
        "How often the best test tells the two places apart", loc="left", fontsize=10.5
    )
    below.set_xlabel(f"the source moves by up to ({unit})")
    figure.savefig(path, format="png")
