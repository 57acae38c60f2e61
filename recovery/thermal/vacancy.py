"""A reading of a room whose own warmth is modelled: less that, with what the model may be off by.

    y = reading - e - G m,     y ~ N(A f, S),     S = noise**2 + F**2 I + G C G'

e is what the empty room shows by its model, G what one prior deviation of each cause that may be
wrong in it adds to each sensor, and m, C what is believed of the causes: nought and the identity
until readings of nobody have told more. Nobody is an answer like any other, by the evidence of
one source anywhere, of any power, against none.

Source: the update is Kalman's; e, G and their deviations come from `physics.rooms.vacant`.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from edge.core.records import Release
from edge.mechanisms.thermal import params_of

from ..estimators.record import Seen
from ..maps.heatmap import Heatmap, Unresolved
from . import Query, recover
from .seen import Levels, add_up, bound_residual, compute_deviation, make_seen

Floats = NDArray[np.float64]

F_K = 0.02  # what no cause explains: without it what was learnt is believed too much
SURE = 0.9  # nobody must be as likely as this for a reading to teach
_FAR = 1e-6  # the chance of readings that not even nobody explains


class Belief(NamedTuple):
    """What is held of the causes, in deviations of their priors."""

    mean: Floats  # (causes,)
    covariance: Floats  # (causes, causes)


class Empty(NamedTuple):
    """What is known of the empty room at one reading."""

    warmth_k: Floats  # (sensors,), e
    causes_k: Floats  # (sensors, causes), G
    noise_k: Floats  # (sensors,), deviation of each by itself, beside the veil
    known: bool = False  # everybody knows that nobody is there


def make_prior_belief(causes: int) -> Belief:
    """Return what is believed before any reading: the priors."""
    return Belief(np.zeros(causes), np.eye(causes))


def fade_belief(belief: Belief, kept: Floats) -> Belief:
    """Return a belief of causes that change: each keeps this share of what it was.

    Args:
        kept: (causes,), 1 for one that stays and 0 for one of which nothing is known any more.
    """
    return Belief(
        kept * belief.mean,
        kept[:, None] * belief.covariance * kept + np.diag(1 - kept**2),
    )


def judge(
    query: Query, release: Release, empty: Empty, belief: Belief
) -> tuple[Heatmap | Unresolved, Belief]:
    """Return the map of one reading, or that nobody is there, and what is believed after it.

    A reading teaches if everybody knows that nobody is there, or if that is likelier than `SURE`.

    Raises:
        ValueError: the release does not belong to the query.
    """
    before = Levels(
        empty.warmth_k + empty.causes_k @ belief.mean,
        np.hypot(empty.noise_k, F_K),
        0,
        empty.causes_k @ np.linalg.cholesky(belief.covariance),
    )
    looked = make_seen(query, add_up(query, [release], before))
    chance, fits = 1.0, True
    if looked is not None and not empty.known:
        chance = find_chance_of_nobody(looked, query.sources_max * query.intensity_max)
        fits = bool(np.linalg.norm(looked.readings) <= bound_residual(looked, _FAR))
    if looked is None or not fits or chance <= 0.5:
        found = recover(query, [release], levels=before)
    else:
        known = "it is an hour that everybody knows to be empty"
        why = known if empty.known else f"with chance {chance:.3f}"
        columns, rows = query.grid.shape
        even = np.full((rows, columns), 1 / (rows * columns))
        found = Heatmap(query.grid, even, release.round.guarantee, 0.0, f"nobody is there: {why}")
    if isinstance(found, Heatmap):
        found = replace(found, nobody=chance)
    if looked is not None and (empty.known or (fits and chance > SURE)):
        belief = learn_causes(belief, query, release, empty)
    return found, belief


def find_chance_of_nobody(seen: Seen, most: float) -> float:
    """Return the chance that there is no source, where one is as likely, anywhere, of any power.

        one / none = mean over cells of  1/P integral from 0 to P of exp(p b - p**2 q / 2) dp
        b = a'y / sigma**2,  q = a'a / sigma**2,  a the cell's column

    Args:
        most: P, the most power.

    Source: Bayes' rule; the integral of a Gaussian.
    """
    columns = seen.operator if seen.open is None else seen.operator[:, seen.open]
    slope = columns.T @ seen.readings / seen.sigma**2
    stiff = np.maximum(np.square(columns).sum(axis=0) / seen.sigma**2, 1e-30)
    peak, root = slope / stiff, np.sqrt(stiff)
    # The normal law between the two ends, on the side where its tails keep their digits.
    low, high = -root * peak, root * (most - peak)
    turned = np.where(low > 0, -1.0, 1.0)
    ends = np.sort(np.stack([turned * low, turned * high]), axis=0)
    below, above = scipy.special.log_ndtr(ends)
    between = above + np.log1p(-np.exp(np.minimum(below - above, -1e-300)))
    logs = slope * peak / 2 + between - np.log(root * most) + math.log(2 * math.pi) / 2
    odds = float(scipy.special.logsumexp(logs) - math.log(len(logs)))
    return float(scipy.special.expit(-odds))


def learn_causes(belief: Belief, query: Query, release: Release, empty: Empty) -> Belief:
    """Return what is believed of the causes after a reading of nobody.

    Args:
        query: what was planned with.
    """
    params = params_of(release.round)
    values = np.array(release.values, dtype=np.float64)
    heard = ~np.isnan(values)
    effect = empty.causes_k[heard]
    apart = np.ldexp(values[heard], -params.exponent) - empty.warmth_k[heard]
    own = compute_deviation(query, params, 1) ** 2 + F_K**2 + empty.noise_k[heard] ** 2
    spread = effect @ belief.covariance @ effect.T + np.diag(own)
    gain = np.linalg.solve(spread, effect @ belief.covariance).T
    rest = np.eye(len(belief.mean)) - gain @ effect
    # Joseph's form: it stays symmetric and positive however often it is learnt from.
    covariance = rest @ belief.covariance @ rest.T + gain * own @ gain.T
    return Belief(belief.mean + gain @ (apart - effect @ belief.mean), covariance)
