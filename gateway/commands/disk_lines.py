"""What is said of a map of places, a line each: where people are, how sure, what it tells."""

from typing import Any

import numpy as np

from recovery.maps.guarantee import upward
from recovery.maps.heatmap import Heatmap

from .act import Floats, Found, Numbers, Played
from .guessing import Guesses
from .summary import most_of

_PLACES_MAX = 4  # that are named of a map; more are a smear


def found_lines(found: Found) -> list[str]:
    """Return what was recovered, a line each."""
    if not isinstance(found, Heatmap):
        return [f"No map: {found.why}."]
    caution = "" if found.status == "optimal" else f" ({found.status})"
    places = ", ".join(most_of(found.mass, found.grid).split(", ")[:_PLACES_MAX])
    lines = [f"Most people: {places}{caution}."]
    if found.why:
        lines.append(f"Drawn by {found.estimator}: {found.why}.")
    if found.sd is not None:
        top = np.unravel_index(found.mass.argmax(), found.mass.shape)
        lines.append(
            f"How sure: the fullest cell holds {part(found.mass[top])} of all, give or take "
            f"{part(found.sd[top])}; a cell is off by {part(rms(found.sd))} in the mean (one "
            "standard deviation)."
        )
    return lines


def part(share: float) -> str:
    """Return a share in per cent, however small.

    >>> part(0.0796), part(0.0000312)
    ('7.96%', '0.00312%')
    """
    return f"{100 * share:.3g}%"


def rms(values: Floats) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def distance_lines(played: Played, numbers: Numbers) -> list[str]:
    """Return how far the map is from the truth, beside one drawn without data."""
    if played.mass is None:
        return []
    grid, name = played.world.query.grid, "W2"
    score, even = numbers["w2"], numbers["w2_data_free"]
    if score is None or even is None:  # out of reach: too many pairs of cells
        name, score, even = "W2, sliced,", numbers["w2_sliced"], numbers["w2_sliced_data_free"]
    lines = [
        f"{name} to the truth {away(grid, score)}; an even map, drawn without data, has "
        f"{away(grid, even)}."
    ]
    if score >= even:
        lines.append("So this map is no better than that: it says nothing of value.")
    return lines


def away(grid: Any, parts: float) -> str:
    """Return a distance, given in parts of the longer side, with what it is in cells."""
    cells = parts * max(grid.shape)
    if grid.cell_mm:
        return f"{cells * grid.cell_mm / 1000:.4g} m ({cells:.3g} cells)"
    return f"{parts:.4f} of the side ({cells:.3g} cells)"


def guess_lines(told: Guesses, played: Played) -> list[str]:
    """Return what a report is worth to whoever sees it, a line each."""
    grid, reports = played.world.query.grid, played.world.query.readings
    lines = [
        f"Worst log-ratio of one report {upward(told.log_ratio, 6)}, radius "
        f"{played.watch.releases[0].round.params[0]} cells, {told.outer} cells to answer"
        + (f"; {reports} reports share epsilon." if reports > 1 else ".")
    ]
    if told.right is not None:
        lines.append(
            f"Who sees a report and guesses its cell is right {part(told.right)} of the time, "
            f"and {part(told.blind)} without, if all cells are alike before."
        )
    if told.off_cells is not None and told.blind_cells is not None:
        longest = max(grid.shape)
        lines.append(
            "A cell drawn by the odds is off by "
            f"{away(grid, told.off_cells / longest)} in the mean (local privacy), and by "
            f"{away(grid, told.blind_cells / longest)} without the report."
        )
    return lines
