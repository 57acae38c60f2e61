"""How far from the truth somebody guesses who sees an answer, and how much it may tell at worst.

Two numbers that must stand beside each other. Local privacy is an average, in cells: over where
the user is, over the answer, and over the guess of an observer who knows nothing but the channel
and draws the guess from the posterior. The worst log-ratio is what the odds between two cells
move by in the worst case, which is what local differential privacy promises. Mechanisms of equal
local privacy can have log-ratios of 3.5 and of 66: an average is no promise to anyone.

Source: paper 003, Section VII-B, equations 15 and 16, after Shokri et al. 2011.

Differs from the paper:
1. The last line of (16) has lost the sum over answers; it is taken.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def distances(columns: int, rows: int) -> Floats:
    """Return how far each cell is from each, (cells, cells), in cells, centre to centre."""
    y, x = np.divmod(np.arange(columns * rows), columns)
    return np.asarray(np.hypot(x[:, None] - x, y[:, None] - y), np.float64)


def local_privacy(matrix: ArrayLike, away: ArrayLike) -> float:
    """Return how far from the truth a guess by the answer's odds is on average, exactly.

        LP = (1/n) sum over o of (sum over i, j of P(o|i) P(o|j) d(i, j)) / (sum over j of P(o|j))

    Args:
        matrix: (answers, cells), P, each column of total 1.
        away: (cells, cells), d, in any unit; the result is in the same.

    Raises:
        ValueError: a column whose total is not 1, negative entries, distances that do not fit.

    >>> local_privacy([[0.75, 0.25], [0.25, 0.75]], [[0, 2], [2, 0]])
    0.75
    """
    chances, apart = _check_channel(matrix), np.asarray(away, np.float64)
    if apart.shape != (chances.shape[1],) * 2:
        raise ValueError(
            f"distances are {apart.shape} for a channel of {chances.shape[1]} cells but must be "
            "from each of them to each, or a guess has no error. Take distances(columns, rows) "
            "of the same grid."
        )
    answered = chances.sum(axis=1)
    off = np.einsum("oi,oi->o", chances @ apart, chances)
    some = answered > 0
    return float(np.sum(off[some] / answered[some])) / chances.shape[1]


def blind_privacy(away: ArrayLike) -> float:
    """Return the local privacy of an answer that tells nothing: the most that there is."""
    return float(np.mean(np.asarray(away, np.float64)))


def worst_log_ratio(matrix: ArrayLike) -> float:
    """Return the least epsilon that the channel is local for; infinite where it rules cells out.

        max over o, i, j of ln P(o|i) - ln P(o|j)

    >>> round(worst_log_ratio([[0.75, 0.25], [0.25, 0.75]]), 4)
    1.0986
    """
    chances = _check_channel(matrix)
    most, least = chances.max(axis=1), chances.min(axis=1)
    some = most > 0
    if (least[some] <= 0).any():
        return math.inf
    return float(np.max(np.log(most[some] / least[some])))


def mix_channels(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return the channel of a user who answers one of two, by a coin that everybody sees."""
    return np.concatenate([_check_channel(first), _check_channel(second)]) / 2


def pair_channels(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return the channel of a user who answers two, with chances of their own."""
    one, two = _check_channel(first), _check_channel(second)
    return np.asarray((one[:, None, :] * two[None, :, :]).reshape(-1, one.shape[1]))


def _check_channel(matrix: ArrayLike) -> Floats:
    chances = np.asarray(matrix, np.float64)
    fits = chances.ndim == 2 and chances.size and chances.min() >= 0
    if not fits or np.abs(chances.sum(axis=0) - 1).max() > 1e-9:
        raise ValueError(
            f"the channel of shape {chances.shape} is not one: (answers, cells), no entry below "
            "nought and each column of total 1, or a user answers too seldom. Give P(answer | "
            "cell), answers down."
        )
    return chances
