"""What is said of a map of places, and what whoever sees a report can guess."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edge.core.records import Release, Round
from edge.mechanisms.disk import outer
from recovery.disk import merge_counts
from recovery.disk.channel import channel_of
from recovery.disk.query import Query
from recovery.disk.round import domain_of, total_of, weights_of
from recovery.distance import sliced_distance
from recovery.maps.guarantee import OVER, describe_guarantee, format_factor, format_ratio, round_up
from recovery.maps.heatmap import Heatmap
from recovery.maps.sentence import Wording
from recovery.noise import epsilon_of_report
from recovery.peers.local_privacy import blind_privacy, distances, local_privacy

from ...output import SENT, Stage
from ..scores import score_blind_guess
from ..worlds import Floats, Judged, Numbers, Played

# What an observer gains who sees a disk report and guesses the cell: chances, exactly.
#
# All are of one report. What many reports of somebody who stays in a cell tell is bounded by the
# epsilon of all of them together.

# Local privacy looks at all pairs of cells for each answer: a second at 30 x 30.
_CELLS_MAX = 900
_EXPECTED_MAX = 1024  # cells: four maps are drawn to say how far off one of them is
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


def compute_guesses(round: Round) -> Guesses:
    """Return what a report of this Round is worth; None where it would take too long."""
    far, near = round.params[1:3]
    cells = math.prod(round.grid.shape)
    off = blindly = None
    if cells <= _CELLS_MAX:
        away = distances(*round.grid.shape)
        off = local_privacy(channel_of(round).matrix(), away)
        blindly = blind_privacy(away)
    answers, total = int(domain_of(round).sum()), total_of(round)
    return Guesses(
        log_ratio=math.log(near / far) if near > far else 0.0,
        right=_compute_guess_chance(round),
        blind=1 / cells,
        off_cells=off,
        blind_cells=blindly,
        near=1 - far * answers / total,
        outer=answers,
    )


def _compute_guess_chance(round: Round) -> float | None:
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


# What is said of a map of places, a line each: how near the truth, and what a report tells.


def format_share(share: float) -> str:
    """Return a share in per cent, however small.

    >>> format_share(0.0796), format_share(0.0000312)
    ('7.96%', '0.00312%')
    """
    return f"{100 * share:.3g}%"


def compute_rms(values: Floats) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def format_distance_lines(played: Played, numbers: Numbers) -> list[str]:
    """Return how far the map is from the truth, beside one drawn without data."""
    if played.mass is None:
        return []
    grid, name = played.world.query.grid, "W2"
    score, even = numbers["w2"], numbers["w2_data_free"]
    if score is None or even is None:  # out of reach: too many pairs of cells
        name, score, even = "W2, sliced,", numbers["w2_sliced"], numbers["w2_sliced_data_free"]
    lines = [
        f"{name} (how far people would have to walk, root mean square) to the truth "
        f"{describe_distance(grid, score)}; an even map, drawn without data, has "
        f"{describe_distance(grid, even)}."
    ]
    if numbers["expected_error"] is not None:
        lines.append(
            f"The map itself expects {describe_distance(grid, numbers['expected_error'])}."
        )
    elif played.mass.size <= _EXPECTED_MAX and not getattr(played.found, "contradicted", True):
        lines.append(
            "The map itself cannot say: the answers may as well be of people who are everywhere "
            "alike."
        )
    moved, unmoved = numbers["emd_l1"], numbers["emd_l1_data_free"]
    if moved is not None and unmoved is not None:
        lines.append(
            "Earth mover's distance (along rows and columns), as other mechanisms have it: "
            f"{describe_distance(grid, moved)}; an even map {describe_distance(grid, unmoved)}."
        )
    if score >= even:
        lines.append(
            f"So by {name} this map is no nearer than an even one: it says nothing of value."
        )
    return lines


def describe_distance(grid: Any, parts: float) -> str:
    """Return a distance, given in parts of the longer side, with what it is in cells."""
    cells = parts * max(grid.shape)
    if grid.cell_mm:
        return f"{cells * grid.cell_mm / 1000:.4g} m ({cells:.3g} cells)"
    return f"{parts:.4f} of the side ({cells:.3g} cells)"


def format_guess_lines(told: Guesses, played: Played) -> list[str]:
    """Return what a report is worth to whoever sees it, a line each."""
    grid, reports = played.world.query.grid, played.world.query.readings
    lines = [
        "One report makes no cell more than e to the power of "
        f"{round_up(told.log_ratio, 6)} times likelier than another; radius "
        f"{played.watch.releases[0].round.params[0]} cells, {told.outer} cells to answer"
        + (f"; {reports} reports share epsilon." if reports > 1 else ".")
    ]
    if told.right is not None:
        lines.append(
            f"Who sees a report and guesses its cell is right {format_share(told.right)} of the "
            f"time, and {format_share(told.blind)} without, if all cells are alike before."
        )
    if told.off_cells is not None and told.blind_cells is not None:
        longest = max(grid.shape)
        lines.append(
            "A cell drawn by the odds is off by "
            f"{describe_distance(grid, told.off_cells / longest)} in the mean (local privacy), "
            f"and by {describe_distance(grid, told.blind_cells / longest)} without the report."
        )
    return lines


def judge_map(played: Played, numbers: Numbers, stage: Stage) -> Judged:
    """Return how far the map is from the truth beside an even one, and what a report tells."""
    truth, round = played.world.truth, played.watch.releases[0].round
    even = np.full(truth.shape, 1 / truth.size)
    own = {f"{name}_data_free": score_blind_guess(truth, name) for name in ("w2", "similarity")}
    w2 = own["w2_data_free"]
    own["w2_cells_data_free"] = None if w2 is None else w2 * max(truth.shape)
    seen = {"w2_sliced": played.mass, "w2_sliced_data_free": even}
    for name, mass in seen.items():  # a lower bound of w2, at any size
        own[name] = None if mass is None else sliced_distance(truth / truth.sum(), mass)
    own["expected_error"] = _estimate_expected_w2(played)
    stage("working out what a report tells whoever sees it")
    told = compute_guesses(round)
    epsilon = played.found.guarantee.epsilon
    own |= {
        "users": played.world.cells.shape[1],
        "epsilon": epsilon[0] / epsilon[1],
        "epsilon_per_report": round.params[3] / round.params[4],
        "worst_log_ratio": told.log_ratio,
        "local_privacy_cells": told.off_cells,
        "local_privacy_cells_data_free": told.blind_cells,
        "best_guess_right": told.right,
        "best_guess_right_data_free": told.blind,
        "radius_cells": round.params[0],
        "outer_cells": told.outer,
        **_count_covered(played, truth),
    }
    return Judged(
        own, [*format_distance_lines(played, numbers | own), *format_guess_lines(told, played)]
    )


def _estimate_expected_w2(played: Played) -> float | None:
    """Return how far off the map expects to be; None where that takes too long, or is no map."""
    query, releases = played.world.query, played.watch.releases
    if played.mass is None or played.mass.size > _EXPECTED_MAX:
        return None
    if isinstance(played.found, Heatmap) and played.found.contradicted:
        return None
    from recovery.disk.estimators import estimate_w2  # every gateway starts with this file

    counts = merge_counts(query, releases)
    epsilon = float(epsilon_of_report(query))
    channel = channel_of(releases[0].round)
    return estimate_w2(query.estimator, channel, counts, epsilon, played.mass)


def make_panels(query: Query, releases: Sequence[Release]) -> list[Any]:
    """Return how often each cell was answered, also those where nobody can be."""
    from ..panels import Panel  # half a second

    round = releases[0].round
    columns, rows, left, above = outer(query.grid, round.params[0])
    counts = np.sum([release.values for release in releases], axis=0, dtype=np.float64)
    shown = np.where(domain_of(round), counts.reshape(rows, columns), np.nan)
    epsilon = round.guarantee.epsilon
    title = (
        f"What the wire carried: {int(np.nansum(shown)):,} answers at epsilon "
        f"{epsilon[0] / epsilon[1]:g}; "
        f"{'the shade is behind' if query.grid.shape[1] == 1 else 'in the frame are'} the cells "
        "that can be true"
    )
    return [Panel(title, shown, "answers", margin=(left, above), colour=SENT)]


def _count_covered(played: Played, truth: Floats) -> Numbers:
    """Return how many cells are within twice their `sd` of the truth, and how wide that is."""
    sd = played.found.sd if isinstance(played.found, Heatmap) else None
    if sd is None or played.mass is None:
        return {"sd_mean": None, "within_two_sd": None}
    off = np.abs(played.mass - truth / truth.sum())
    return {"sd_mean": compute_rms(sd), "within_two_sd": float(np.mean(off <= 2 * sd))}


def describe_promise(query: Query, guarantee: Any) -> list[str]:
    """Return the guarantee in sentences for somebody who manages a building."""
    said = describe_guarantee(guarantee._replace(epsilon=None))
    epsilon = guarantee.epsilon[0] / guarantee.epsilon[1]
    right = 1 / (1 + math.exp(-epsilon))
    sure = f"{round_up(100 * right)}%" if right < 0.999 else OVER(share="99.9%")
    chance = _CHANCE(sure=sure, factor=format_factor(epsilon))
    return [said[0], chance, _FORMALLY(epsilon=format_ratio(guarantee.epsilon)), *said[1:]]


_CHANCE = Wording(
    "guarantee.chance",
    "Whoever sees everything that a device sends, and knows of two cells that it was in one of "
    "them, can tell which at best {sure} of the time (half is a blind guess); the odds of any "
    "guess move by a factor of at most {factor}.",
)
_FORMALLY = Wording("guarantee.formally.pure", "Formally: epsilon {epsilon}, and no delta.")
