"""How near any estimator can come on average: the error of the one that knows the prior.

Over scenes drawn from the prior no estimator has a smaller expected distance than the one that
takes, reading by reading, the map of least posterior expectation. Its error measures the rest.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..sequence import normals, uniforms
from .exact import Scores, compute_exact_posterior, compute_scores, list_sets
from .line import compute_expected_distance, compute_median, compute_share_posterior
from .medoid import find_medoid

Floats = NDArray[np.float64]

# Streams of the fixed sequence that belong to the yardstick alone.
_SCENES, _NOISE = 7_100_000, 7_200_000
# Scenes by the most sources, where none are asked for: a tenth of a second's worth.
_TRIALS = {1: 200, 2: 100, 3: 50}
_TRIALS_MORE = 30
_TRIALS_PLANE = 12


@dataclass(frozen=True, slots=True)
class Yardstick:
    """The least average distance, and how well it is known.

    Args:
        distance: mean earth mover's distance, in the unit of the places.
        standard_error: of that mean, for there are finitely many scenes.
        trials: how many.
    """

    distance: float
    standard_error: float
    trials: int


def measure_bayes_risk(
    operator: Floats,
    sigma: float,
    sources: int | tuple[int, int],
    trials: int | None,
    places: Floats,
    heat: float = 1.0,
    open: NDArray[np.bool_] | None = None,
) -> Yardstick:
    """Return the average distance below which no estimator can stay.

    Scenes and noise are walked along the fixed sequence. In place of each scene's distance the
    posterior's expectation of it is averaged, which has the same mean and scatters less. In a
    plane the best map is sought among sets of as many sources, so that there the yardstick is
    what this estimator reaches and not quite a bound.

    Args:
        operator: A, (sensors, cells), in kelvin per unit of heat.
        sigma: deviation of the noise on each reading, in kelvin.
        sources: how many, or the fewest and the most; the estimator knows as much.
        trials: how many scenes; None for as many as take less than a second.
        places: (cells, 1) along a line, rising, or (cells, 2) in a plane.
        heat: of each source.
        open: (cells,), where a source can be; None for everywhere.

    Raises:
        ValueError: fewer than two trials, no source, or more than can be enumerated.

    Source: the Bayes risk; Berger 1985, Section 4.4.
    """
    fewest, most = (sources, sources) if isinstance(sources, int) else sources
    usual = _TRIALS.get(most, _TRIALS_MORE) if places.shape[1] == 1 else _TRIALS_PLANE
    count = usual if trials is None else trials
    if count < 2 or fewest < 1:
        raise ValueError(
            f"{count} scenes of {fewest} sources or more were asked for but at least 2 scenes and "
            "1 source are needed: the mean's own error comes from what scatters, and a map of "
            "nothing has no distance. Ask for more."
        )
    cells = operator.shape[1]
    allowed = np.arange(cells) if open is None else np.flatnonzero(open)
    silent = compute_scores(operator, np.zeros(len(operator)), sigma, heat)
    errors = np.empty(count)
    for trial in range(count):
        chances = uniforms(len(allowed) + 1, _SCENES + trial)
        number = fewest + int(chances[-1] * (most + 1 - fewest))
        there = allowed[np.argsort(chances[:-1])[:number]]
        noise = normals(len(operator), _NOISE + trial)
        readings = operator[:, there].sum(axis=1) * heat + sigma * noise
        gain = silent.gain + operator.T @ readings * (heat / sigma**2)
        errors[trial] = _compute_least_error(
            Scores(gain, silent.cross), fewest, most, places, open
        )
    return Yardstick(float(errors.mean()), float(errors.std(ddof=1) / math.sqrt(count)), count)


def _compute_least_error(
    found: Scores, fewest: int, most: int, places: Floats, open: NDArray[np.bool_] | None
) -> float:
    """Return the least posterior expectation of the distance."""
    if places.shape[1] == 1:
        posterior = compute_share_posterior(compute_exact_posterior(found, fewest, most, open))
        return compute_expected_distance(posterior, compute_median(posterior), places[:, 0])
    possible = list_sets(found, fewest, most, open)
    return find_medoid(possible.sets, possible.chances, places).expected_error
