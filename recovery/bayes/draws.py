"""What draws of a posterior come to: a map, how sure it is, and how many sources there are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..estimators.record import Estimate, Seen
from ..uncertainty import Band, Credible
from .medoid import medoid
from .whole_band import band_of_draws

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Possible scenes, each as likely as the others.

    Args:
        cells: (draws, most), where sources stand; -1 where there is none.
        powers: (draws, most), their heat; 0 where there is none.
        log_evidence: log of the likelihood's mean over the prior, without its normalisation
            (2 pi sigma**2)**(-sensors / 2): differences compare priors.
    """

    cells: Whole
    powers: Floats
    log_evidence: float

    @property
    def numbers(self) -> Whole:
        """Sources in each draw, (draws,)."""
        return np.asarray((self.cells >= 0).sum(axis=1))


def from_draws(seen: Seen, draws: Draws) -> Estimate:
    """Return the map nearest to the draws on average, and what they say of it.

    Along a line that map is the median of the cumulative share of heat, with a band around whole
    curves; in a plane it is the draws' medoid. Its heat is the median of the draws' heat.
    """
    cells = seen.operator.shape[1]
    numbers = np.bincount(draws.numbers, minlength=seen.prior.most + 1) / len(draws.cells)
    present = np.bincount(draws.cells[draws.cells >= 0], minlength=cells) / len(draws.cells)
    present = present.reshape(seen.shape)
    if numbers[0] > 0.5:
        credible = Credible(seen.level, present, numbers)
        residual = float(np.linalg.norm(seen.readings))
        status = f"no estimate: with chance {numbers[0]:.2f} there is no source at all"
        return Estimate(np.zeros(cells), status, residual, credible=credible)
    some = draws.numbers > 0
    where, powers = draws.cells[some], draws.powers[some]
    total = float(np.median(powers.sum(axis=1)))
    share: Floats
    band: Band | None
    if seen.places.shape[1] == 1:
        share, band, error = _line(seen, where, powers)
    else:
        near = medoid(where, np.ones(len(where)), seen.places, powers)
        share = np.bincount(near.cells, near.shares, cells).astype(np.float64)
        band, error = None, near.expected_error
    credible = Credible(seen.level, present, numbers, band, error)
    residual = float(np.linalg.norm(seen.operator @ (share * total) - seen.readings))
    return Estimate(share * total, "optimal", residual, credible=credible)


def cumulative_shares(cells: Whole, powers: Floats, size: int) -> Floats:
    """Return each draw's share of heat in a cell and those before it, (size, draws)."""
    shares = np.zeros((size + 1, len(cells)))
    shares[cells, np.arange(len(cells))[:, None]] = powers / powers.sum(axis=1, keepdims=True)
    return np.minimum(np.cumsum(shares[:size], axis=0), 1.0)


def _line(seen: Seen, cells: Whole, powers: Floats) -> tuple[Floats, Band, float]:
    """Return the median map's shares, its band, and its expected distance."""
    possible = cumulative_shares(cells, powers, seen.operator.shape[1])
    # Every draw has all its heat by the last cell; only rounding says less.
    middle = np.round(np.sort(possible, axis=1)[:, (len(cells) - 1) // 2], 12)
    middle[-1] = 1.0
    apart = np.abs(possible - middle[:, None]).mean(axis=1)
    error = float(apart[:-1] @ np.diff(seen.places[:, 0]))
    return np.diff(middle, prepend=0.0), band_of_draws(possible.T, seen.level), error
