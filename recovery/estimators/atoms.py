"""The estimator of maximum entropy, which ends in as many atoms as there are sources."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from .convex import GAP_MAX, Small, make_estimate, reduce_problem
from .record import Estimate, Seen, compute_mean_power, compute_moments

Floats = NDArray[np.float64]


def estimate_linear(seen: Seen, made: Small) -> Floats:
    """Return the linear estimate of least mean square error of the heat of every open cell.

    With mean mu and covariance C of the prior's heat, which are known exactly,

        f = mu + C A' (A C A' + sigma**2)**-1 (y - A mu)

    Some of it may be negative; its total is exact where number and power are known.

    Source: Kay 1993, chapter 12.
    """
    cells = len(made.cells)
    prior = compute_moments(seen.prior, cells)
    apart, together = prior.square - prior.product, prior.product - prior.mean**2
    sums = made.operator.sum(axis=1)
    # C A' in two parts, for C is a constant and a diagonal.
    felt = apart * made.operator.T + together * sums
    spread = made.operator @ felt + seen.sigma**2 * np.eye(len(made.readings))
    surprise = made.readings - prior.mean * sums
    return np.asarray(prior.mean + felt @ np.linalg.solve(spread, surprise))


def gather_at_quantiles(seen: Seen, heat: Floats) -> Floats:
    """Return the heat gathered in its own quantiles: as many as sources, all equally warm.

    For the median is the point of least mean distance, here of each source in their order.

    Args:
        heat: (open cells,) along a line; may be negative here and there.
    """
    total = float(heat.sum())
    number = round(total / compute_mean_power(seen.prior))
    number = min(max(number, seen.prior.fewest), seen.prior.most, len(heat))
    gathered = np.zeros(len(heat))
    if number < 1 or total <= 0:
        return gathered
    upto = np.maximum.accumulate(np.cumsum(heat))
    levels = (np.arange(number) + 0.5) / number * total
    np.add.at(gathered, np.searchsorted(upto, levels), total / number)
    return gathered


_STEPS = 200


def estimate_by_entropy(seen: Seen) -> Estimate:
    """Return atoms along a line, hills in a plane.

    The heat that surprises least: maximum entropy, collapsed to as many atoms as sources.

        minimise  ||A f - y||**2 / (2 sigma**2) + sum_j f_j log(f_j cells / number) / power
        with      sum f = number * power

    The weight of the entropy is not a choice: by Sanov's theorem it is the logarithm of how many
    ways there are for so many sources, each anywhere, to make the shares f.

    Source: Gull and Daniell 1978; Sanov 1957; the program's dual, which has one unknown for each
    direction that is heard, in Borwein and Lewis 1991.

    Limits: sources are many in Sanov's theorem and few here; for one source it is the posterior's
    mean measure. Close to the posterior's distances in much noise, farther off in little. Total
    heat is taken as known, or as the linear estimate has it. In a plane sources have no order:
    there the hills themselves are returned.

    Differs from the source:
    1. The misfit is weighed by its own likelihood, not driven to its expected value.
    """
    made = reduce_problem(seen)
    unit = compute_mean_power(seen.prior)
    number = float(estimate_linear(seen, made).sum()) / unit
    if number <= 0:
        return make_estimate(seen, made.cells, np.zeros(len(made.cells)))
    scale = unit / seen.sigma
    shares, gap = minimise_surprise(made.operator * scale, made.readings / seen.sigma, number)
    heat = shares * unit
    status = "optimal"
    if gap > GAP_MAX * max(1.0, number):
        status = f"inaccurate: the surprise is up to {gap:.2g} above the least"
    if seen.places.shape[1] == 1:
        heat = gather_at_quantiles(seen, heat)
    return make_estimate(seen, made.cells, heat, status, gap)


def minimise_surprise(operator: Floats, readings: Floats, number: float) -> tuple[Floats, float]:
    """Return the shares of so many sources, (cells,), and their distance from the least.

    The dual is maximised by Newton's method:

        nu'c - ||nu||**2 / 2 - number log mean_j exp((B'nu)_j)

    Args:
        operator: B, (r, cells), readings: c, (r,), both in units of the noise.
        number: of sources; their sum.
    """
    cells = operator.shape[1]
    level = np.log(cells)

    def dual(nu: Floats) -> float:
        return float(nu @ readings - nu @ nu / 2) - number * (
            float(logsumexp(nu @ operator)) - level
        )

    nu = np.zeros(len(readings))
    value = dual(nu)
    for _ in range(_STEPS):
        exponents = nu @ operator
        chances = np.exp(exponents - logsumexp(exponents))
        middle = operator @ chances
        slope = readings - nu - number * middle
        bend = np.eye(len(nu)) + number * (
            (operator * chances) @ operator.T - np.outer(middle, middle)
        )
        step = np.linalg.solve(bend, slope)
        rise = float(slope @ step)
        length = 1.0
        # Near the top roundings hide the rise; there the full step is always right.
        while rise > 1e-9 and dual(nu + length * step) < value + length * rise / 4:
            length /= 2
        nu, value = nu + length * step, dual(nu + length * step)
        if rise < 1e-14 * max(1.0, abs(value)):
            break
    exponents = nu @ operator
    logs = exponents - logsumexp(exponents)
    heat = number * np.exp(logs)
    misfit = operator @ heat - readings
    surprise = float(misfit @ misfit) / 2 + float(heat @ (logs + level))
    return heat, surprise - value
