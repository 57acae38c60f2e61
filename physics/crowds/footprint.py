"""A disk Round's weights laid out as arrays: what `edge.disk` decodes one row at a time.

An array of cells is (rows, columns). The Round lists an eighth of its footprint; the other
seven are its mirror images, and on a line there is only the axis.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edge.records import Round

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]

# numpy's whole numbers end here; a device's do not.
_WHOLE_MAX = 2**63


class Footprint(NamedTuple):
    """The law of a report: `weights` around the true cell, `far` elsewhere on the domain.

    weights is (2 reach_y + 1, 2 reach_x + 1), 0 outside the footprint; domain is (rows + 2
    reach_y, columns + 2 reach_x), the cells that are ever answered; total is the sum of all
    weights, the same for every input.
    """

    weights: Whole
    domain: Flags
    far: int
    total: int

    @property
    def reach(self) -> tuple[int, int]:
        """Return how many rows and columns the footprint reaches from its middle."""
        return self.weights.shape[0] // 2, self.weights.shape[1] // 2


def footprint(round: Round) -> Footprint:
    """Return the arrays of a disk Round.

    Raises:
        ValueError: a Round of another mechanism, one whose eighth does not end where its
            params do, with a weight beyond near or below far, or whose weights add up to more
            than 63 bits hold.
    """
    if round.mechanism != "disk":
        raise ValueError(
            f"the Round is of the mechanism {round.mechanism!r} but a crowd answers disk Rounds: "
            "other params mean something else. Give a Round planned by recovery.disk."
        )
    reach, far, near = round.params[:3]
    columns, rows = round.grid.shape
    reach_y, reach_x = reach * (rows > 1), reach * (columns > 1)
    eighth = _eighth(reach, near, list(round.params[5:]))
    if not 0 < far <= min(eighth.values()) <= max(eighth.values()) <= near:
        raise ValueError(
            f"the Round's weights go from {min(eighth.values())} to {max(eighth.values())} but "
            f"must lie between far, {far}, and near, {near}: a device refuses others, so no "
            "crowd answers them. Plan it again."
        )
    total = 0
    weights = np.zeros((2 * reach_y + 1, 2 * reach_x + 1), np.int64)
    for dy in range(-reach_y, reach_y + 1):
        for dx in range(-reach_x, reach_x + 1):
            weight = eighth.get((max(abs(dx), abs(dy)), min(abs(dx), abs(dy))), 0)
            total += weight - far if weight else 0
            if total >= _WHOLE_MAX:
                raise _too_heavy(total)
            weights[reach_y + dy, reach_x + dx] = weight
    domain = np.zeros((rows + 2 * reach_y, columns + 2 * reach_x), np.bool_)
    for y, x in np.argwhere(weights):
        domain[y : y + rows, x : x + columns] = True
    total += far * int(domain.sum())
    if total >= _WHOLE_MAX:
        raise _too_heavy(total)
    return Footprint(weights, domain, far, total)


def _eighth(reach: int, near: int, runs: list[int]) -> dict[tuple[int, int], int]:
    """Return the weight at each (x, y) with 0 <= y <= x that the runs tell of."""
    weights: dict[tuple[int, int], int] = {}
    y = at = 0
    while at + 2 <= len(runs):
        full, parts = runs[at : at + 2]
        told = [near] * full + runs[at + 2 : at + 2 + parts]
        at += 2 + parts
        weights.update({(y + step, y): weight for step, weight in enumerate(told)})
        y += 1
    if at != len(runs) or max((x for x, _ in weights), default=-1) != reach:
        raise ValueError(
            f"the Round's weights take {at} numbers and it has {len(runs)}, or they do not reach "
            f"{reach} cells; both must agree, or devices read them otherwise. Plan it again."
        )
    return weights


def _too_heavy(total: int) -> ValueError:
    return ValueError(
        f"the Round's weights add up to {total} or more but a crowd draws whole numbers below "
        "2**63, or its law would be rounded. Plan with a smaller weight for far cells."
    )
