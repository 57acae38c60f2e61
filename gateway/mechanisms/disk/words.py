"""What is said of a map of places, and what whoever sees a report can guess."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from edge.records import Round
from recovery.disk.channel import channel_of
from recovery.disk.round import domain_of, total_of, weights_of
from recovery.maps.guarantee import upward
from recovery.maps.heatmap import Heatmap
from recovery.peers.local_privacy import blind, distances, local_privacy

from ..record import Floats, Found, Numbers, Played
from ..thermal.words import most_of

# What an observer gains who sees a disk report and guesses the cell: chances, exactly.
#
# All are of one report. What many reports of somebody who stays in a cell tell is bounded by the
# epsilon of all of them together.

# Local privacy looks at all pairs of cells for each answer: a second at 30 x 30.
_CELLS_MAX = 900
_STEPS_MAX = 2**32  # cells of the footprint times cells of the outer array


@dataclass(frozen=True)
class Guesses:
    """What one report is worth to whoever sees it and knows the Round."""

    log_ratio: float  # the most by which it moves the logarithm of any odds
    right: float | None  # chance that the likeliest cell is the true one, all alike before
    blind: float  # the same without the report
    off_cells: float | None  # how far off on average a cell drawn by the odds is: local privacy
    blind_cells: float | None  # the same without the report
    near: float  # chance that the answer is drawn around the true cell, not anywhere
    outer: int  # cells that may be answered


def guesses(round: Round) -> Guesses:
    """Return what a report of this Round is worth; None where it would take too long."""
    far, near = round.params[1:3]
    cells = math.prod(round.grid.shape)
    off = blindly = None
    if cells <= _CELLS_MAX:
        away = distances(*round.grid.shape)
        off = local_privacy(channel_of(round).matrix(), away)
        blindly = blind(away)
    answers, total = int(domain_of(round).sum()), total_of(round)
    return Guesses(
        log_ratio=math.log(near / far) if near > far else 0.0,
        right=_right(round),
        blind=1 / cells,
        off_cells=off,
        blind_cells=blindly,
        near=1 - far * answers / total,
        outer=answers,
    )


def _right(round: Round) -> float | None:
    """Return the chance that the cell that an answer is likeliest from is the true one.

    (1 / cells) sum over answers o of max over cells v of P(o | v)
    """
    columns, rows = round.grid.shape
    weights: Any = weights_of(round).astype(np.float64)
    domain = domain_of(round)
    if np.count_nonzero(weights) * domain.size > _STEPS_MAX:
        return None
    most = np.where(domain, float(round.params[1]), 0.0)
    for y, x in np.argwhere(weights):
        seen = most[y : y + rows, x : x + columns]
        np.maximum(seen, weights[y, x], out=seen)
    return float(most.sum()) / (total_of(round) * columns * rows)


# What is said of a map of places, a line each: where people are, how sure, what it tells.

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
