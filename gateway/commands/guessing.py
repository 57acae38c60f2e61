"""What an observer gains who sees a disk report and guesses the cell: chances, exactly.

All are of one report. What many reports of somebody who stays in a cell tell is bounded by the
epsilon of all of them together.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from edge.records import Round
from recovery.disk.channel import channel_of
from recovery.disk.round import domain_of, total_of, weights_of
from recovery.peers.local_privacy import blind, distances, local_privacy

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
