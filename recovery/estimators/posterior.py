"""The map that is nearest to the truth on average, if the prior on sources is right.

Along a line it is the median of the cumulative share of heat, in a plane a medoid; by
enumeration of all sets of sources where they are few and equally warm, and by a sampler else.
Nothing beats it on average over scenes drawn from its prior; where the prior is wrong, as with
sources that fade when they were said to be equal, it can be far off and sure of itself.

Source: Bayes' rule; the median in `recovery.bayes.line`, the medoid in `recovery.bayes.medoid`.
"""

import numpy as np
from numpy.typing import NDArray

from ..bayes.exact import (
    LISTED_MAX,
    MOST,
    SETS_MAX,
    Exact,
    Listed,
    compute_exact_posterior,
    compute_scores,
    count_sets,
    list_sets,
)
from ..bayes.line import (
    compute_expected_distance,
    compute_median,
    compute_share_posterior,
    draw_curves,
    find_band,
)
from ..bayes.medoid import find_medoid
from ..maps.heatmap import Credible
from .record import Estimate, Seen, check, note_raised_sigma, raise_sigma

Floats = NDArray[np.float64]


def estimate(seen: Seen) -> Estimate:
    """Return the map of least expected distance to the truth, and what is sure about it.

    Where noise is too little for the digits there are, the status says so.

    Raises:
        ValueError: readings, operator or noise that fit no computation, or readings far above
            all that the prior's sources can come to.
    """
    check(seen)
    weighed = raise_sigma(seen)
    return note_raised_sigma(_run(weighed), seen, weighed)


def _run(seen: Seen) -> Estimate:
    prior = seen.prior
    if not can_enumerate(seen):
        from ..bayes.chain import estimate_by_chain

        return estimate_by_chain(seen)
    found = compute_scores(seen.operator, seen.readings, seen.sigma, prior.warmest)
    if seen.places.shape[1] == 1:
        exact = compute_exact_posterior(found, prior.fewest, prior.most, seen.open)
        some = exact.numbers[0] < 1
        curves = draw_curves(found, exact, seen.open) if some else np.zeros((0, 0))
        return estimate_on_line(seen, exact, curves)
    return estimate_in_plane(seen, list_sets(found, prior.fewest, prior.most, seen.open))


def can_enumerate(seen: Seen) -> bool:
    """Say whether all sets of sources can be weighed one by one in well under a second."""
    prior = seen.prior
    cells = seen.operator.shape[1] if seen.open is None else int(np.count_nonzero(seen.open))
    line = seen.places.shape[1] == 1
    few = (prior.most <= MOST or not line) and prior.most <= cells
    allowed = SETS_MAX if line else LISTED_MAX
    return (
        few
        and prior.coolest == prior.warmest
        and count_sets(cells, prior.fewest, prior.most) <= allowed
    )


def estimate_on_line(seen: Seen, exact: Exact, curves: Floats) -> Estimate:
    """Return the estimate that an exact posterior along a line comes to.

    Args:
        seen: what it came from.
        exact: the posterior.
        curves: (curves, cells), cumulative shares that stand for it, for a band of whole ones.
    """
    present, numbers = exact.present.reshape(seen.shape), _pad_numbers(seen, exact.numbers)
    if numbers[0] > 0.5:
        return _make_empty_estimate(seen, present, numbers)
    posterior = compute_share_posterior(exact)
    cumulative = compute_median(posterior)
    credible = Credible(
        seen.level,
        present,
        numbers,
        find_band(posterior, curves, seen.level),
        compute_expected_distance(posterior, cumulative, seen.places[:, 0]),
    )
    return _estimate(seen, np.diff(cumulative, prepend=0.0), credible)


def estimate_in_plane(seen: Seen, possible: Listed) -> Estimate:
    """Return the estimate that an exact posterior in a plane comes to."""
    present = possible.compute_presence(seen.operator.shape[1]).reshape(seen.shape)
    numbers = _pad_numbers(seen, possible.numbers)
    if numbers[0] > 0.5:
        return _make_empty_estimate(seen, present, numbers)
    nearest = find_medoid(possible.sets, possible.chances, seen.places)
    share = np.zeros(seen.operator.shape[1])
    np.add.at(share, nearest.cells, nearest.shares)
    credible = Credible(seen.level, present, numbers, expected_error=nearest.expected_error)
    return _estimate(seen, share, credible)


def _pad_numbers(seen: Seen, numbers: Floats) -> Floats:
    """Return the chance of each number, up to the prior's most even where cells are fewer."""
    return np.pad(numbers, (0, seen.prior.most + 1 - len(numbers)))


def _estimate(seen: Seen, share: Floats, credible: Credible) -> Estimate:
    """Return the map with all of its heat: the median number of sources, each at its heat."""
    heat = share * credible.median * seen.prior.warmest
    residual = float(np.linalg.norm(seen.operator @ heat - seen.readings))
    return Estimate(heat, "optimal", residual, credible=credible)


def _make_empty_estimate(seen: Seen, present: Floats, numbers: Floats) -> Estimate:
    """Return the map of no heat, where none is likelier than any."""
    status = f"no estimate: with chance {numbers[0]:.2f} there is no source at all"
    credible = Credible(seen.level, present, numbers)
    residual = float(np.linalg.norm(seen.readings))
    return Estimate(np.zeros(seen.operator.shape[1]), status, residual, credible=credible)
