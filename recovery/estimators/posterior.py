"""The map that is nearest to the truth on average, if the prior on sources is right.

Along a line it is the median of the cumulative share of heat, in a plane a medoid; by
enumeration of all sets of sources where they are few and equally warm, and by a sampler else.
Nothing beats it on average over scenes drawn from its prior; where the prior is wrong, as with
sources that fade when they were said to be equal, it can be far off and sure of itself.

Source: Bayes' rule; the median in `recovery.bayes.median`, the medoid in `recovery.bayes.medoid`.
"""

import numpy as np
from numpy.typing import NDArray

from ..bayes.enumerate import MOST, SETS_MAX, Exact, exact_posterior, scores, sets_of
from ..bayes.median import band, expected_distance, median, shares
from ..uncertainty import Credible
from .record import Estimate, Seen

NAME = "posterior"

Floats = NDArray[np.float64]


def estimate(seen: Seen) -> Estimate:
    """Return the map of least expected distance to the truth, and what is sure about it.

    Raises:
        ValueError: readings, operator or noise that fit no computation.
    """
    if not countable(seen):
        from ..bayes.chain import estimate_by_chain

        return estimate_by_chain(seen)
    prior = seen.prior
    exact = exact_posterior(
        scores(seen.operator, seen.readings, seen.sigma, prior.warmest),
        prior.fewest,
        prior.most,
        seen.open,
    )
    return along_a_line(seen, exact)


def countable(seen: Seen) -> bool:
    """Say whether all sets of sources can be weighed one by one in well under a second."""
    prior = seen.prior
    open_cells = seen.operator.shape[1] if seen.open is None else int(np.sum(seen.open))
    equal = prior.coolest == prior.warmest
    few = prior.most <= MOST and sets_of(open_cells, prior.fewest, prior.most) <= SETS_MAX
    return equal and few and seen.places.shape[1] == 1


def along_a_line(seen: Seen, exact: Exact) -> Estimate:
    """Return the estimate that an exact posterior along a line comes to."""
    numbers = np.zeros(seen.prior.most + 1)
    numbers[: len(exact.numbers)] = exact.numbers
    cells = seen.operator.shape[1]
    if numbers[0] > 0.5:
        credible = Credible(seen.level, exact.present.reshape(seen.shape), numbers)
        residual = float(np.linalg.norm(seen.readings))
        status = f"no estimate: with chance {numbers[0]:.2f} there is no source at all"
        return Estimate(np.zeros(cells), status, residual, credible=credible)
    posterior = shares(exact)
    cumulative = median(posterior)
    credible = Credible(
        seen.level,
        exact.present.reshape(seen.shape),
        numbers,
        band(posterior, seen.level),
        expected_distance(posterior, cumulative, seen.places[:, 0]),
    )
    # All of the heat: the median number of sources, each at its known heat.
    likely = int(np.argmax(np.cumsum(numbers) >= 0.5))
    heat = np.diff(cumulative, prepend=0.0) * max(likely, 1) * seen.prior.warmest
    residual = float(np.linalg.norm(seen.operator @ heat - seen.readings))
    return Estimate(heat, "optimal", residual, credible=credible)
