"""The posterior of sources by sampling: unknown number, unknown power, a line or a plane.

Very many scenes are drawn of the prior, of which few fit. The likelihood is raised from nothing
to itself in steps: at each the scenes are kept in proportion to how much better they then fit,
and moved by draws that leave the law of that step as it is. So no scene has to climb out of a
hole that low noise has dug, and the product of the mean weights is the evidence. The first step
goes as far as some hundred of the many scenes of the prior do; what follows moves these alone.

Limits: with up to eight sources of unknown warmth at low noise (0.038 on a line of 100 cells and
50 sensors) the scenes do not find all that fits, and bands may hold less often than they say.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..estimators.record import Estimate, Seen, check, list_coolest, raise_sigma
from ..maps.heatmap import Band, Credible
from .crowd import Crowd, Problem, list_open_cells, make_problem
from .line import find_band_of_draws
from .medoid import find_medoid
from .moves import move_by_differential_evolution, redraw_one, redraw_pair

# What draws of a posterior come to: a map, how sure it is, and how many sources there are.

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


def estimate_from_draws(seen: Seen, draws: Draws, banded: Draws | None = None) -> Estimate:
    """Return the map nearest to the draws on average, and what they say of it.

    Along a line that map is the median of the cumulative share of heat, with a band around whole
    curves; in a plane it is the draws' medoid. Its heat is the median of the draws' heat.

    Args:
        draws: what is possible.
        banded: draws that the band is of; the same where left out.
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
        possible = compute_cumulative_shares(where, powers, cells)
        share, error = _find_median(seen, possible)
        if banded is not None:
            held = banded.numbers > 0
            possible = compute_cumulative_shares(banded.cells[held], banded.powers[held], cells)
        band = find_band_of_draws(possible.T, seen.level)
    else:
        near = find_medoid(where, np.ones(len(where)), seen.places, powers)
        share = np.bincount(near.cells, near.shares, cells).astype(np.float64)
        band, error = None, near.expected_error
    credible = Credible(seen.level, present, numbers, band, error)
    residual = float(np.linalg.norm(seen.operator @ (share * total) - seen.readings))
    return Estimate(share * total, "optimal", residual, credible=credible)


def compute_cumulative_shares(cells: Whole, powers: Floats, size: int) -> Floats:
    """Return each draw's share of heat in a cell and those before it, (size, draws)."""
    shares = np.zeros((size + 1, len(cells)))
    shares[cells, np.arange(len(cells))[:, None]] = powers / powers.sum(axis=1, keepdims=True)
    return np.minimum(np.cumsum(shares[:size], axis=0), 1.0)


def _find_median(seen: Seen, possible: Floats) -> tuple[Floats, float]:
    """Return the median map's shares, and its expected distance, of curves (size, draws)."""
    # Every draw has all its heat by the last cell; only rounding says less.
    middle = np.round(np.sort(possible, axis=1)[:, (possible.shape[1] - 1) // 2], 12)
    middle[-1] = 1.0
    apart = np.abs(possible - middle[:, None]).mean(axis=1)
    return np.diff(middle, prepend=0.0), float(apart[:-1] @ np.diff(seen.places[:, 0]))


# Scenes side by side, and how often they are moved once the likelihood is itself.
SCENES = 512
LAST_SWEEPS = 2

# So many scenes are drawn of the prior, and those that fit best go on; of them only so many have
# a say in how far the first step goes.
_FIRST, _BEST = 32_768, 4096
# Each step keeps weights worth this share of the scenes that are moved.
_WORTH = 0.25
# Pairs that are drawn a sweep, where powers are not known, and shifts by what share of a
# difference: whole ones jump between modes, parts of one search near by.
_PAIRS = 2
_SCALES, _SCALES_ON_A_LINE = (1.0, 0.5, 0.25), (1.0, 0.4)
# More cells than this cost minutes and a gigabyte.
MOST_CELLS = 4096


def estimate_by_chain(seen: Seen) -> Estimate:
    """Return the map that is nearest to the sampled posterior, with what it says of itself.

    Raises:
        ValueError: readings do not fit, or more than 4096 cells are open.
    """
    return estimate_from_draws(seen, sample_posterior(seen))


def sample_posterior(
    seen: Seen, scenes: int = SCENES, last_sweeps: int = LAST_SWEEPS, stream: int = 1
) -> Draws:
    """Return draws of where sources are and how warm, equally likely each.

    Args:
        seen: readings that have passed the veil; the prior says what else is known.
        scenes: moved side by side.
        last_sweeps: how often they are moved at the end; the draws are all that is then seen.
        stream: which part of the fixed sequence is walked; another gives other draws.

    Raises:
        ValueError: readings do not fit, or more than 4096 cells are open.

    Source: Del Moral, Doucet and Jasra 2006, sequential Monte Carlo samplers; Dau and Chopin
        2022, who waste no move.
    """
    check(seen)
    seen = raise_sigma(seen)
    cells = list_open_cells(seen)
    if len(cells) > MOST_CELLS:
        raise ValueError(
            f"{len(cells)} cells are open but at most {MOST_CELLS} can be sampled: every draw "
            "looks at each of them. Make cells larger, or close those where nobody can stand."
        )
    prior = seen.prior
    runs = []
    for model, coolest in enumerate(list_coolest(prior)):
        problem = make_problem(seen, coolest)
        runs.append(_anneal(problem, scenes, last_sweeps, 2 * stream + model))
    known = np.append(cells, -1)
    return _pool([replace(run, cells=known[run.cells]) for run in runs])


def _pool(runs: list[Draws]) -> Draws:
    """Return draws of all models, as many of each as its evidence deserves."""
    evidence = np.array([run.log_evidence for run in runs])
    chances = np.exp(evidence - evidence.max())
    log_evidence = float(np.log(chances.mean()) + evidence.max())
    chances = chances / chances.sum()
    taken = [
        np.linspace(0, len(run.cells), round(chance * len(run.cells)), endpoint=False).astype(int)
        for run, chance in zip(runs, chances, strict=True)
    ]
    pairs = list(zip(runs, taken, strict=True))
    return Draws(
        np.concatenate([run.cells[some] for run, some in pairs]),
        np.concatenate([run.powers[some] for run, some in pairs]),
        log_evidence,
    )


def _anneal(problem: Problem, scenes: int, last_sweeps: int, stream: int) -> Draws:
    crowd = Crowd(problem, max(scenes, _FIRST), stream)
    cool, evidence = 0.0, 0.0
    fit = crowd.compute_log_likelihood()
    while cool < 1:
        warmer = _find_next_power(fit, cool, _WORTH * scenes)
        gain = (warmer - cool) * fit
        evidence += float(np.log(np.mean(np.exp(gain - gain.max()))) + gain.max())
        crowd.keep(_resample(gain, float(crowd.draw_uniforms()[0]), scenes))
        cool = warmer
        if cool < 1:
            _sweep(crowd, cool)
            fit = crowd.compute_log_likelihood()
    cells: list[Whole] = []
    powers: list[Floats] = []
    for _ in range(last_sweeps):
        _sweep(crowd, 1.0)
        missing = ((0, 0), (0, problem.most - crowd.cells.shape[1]))
        cells.append(np.pad(crowd.cells, missing, constant_values=problem.cells))
        powers.append(np.pad(crowd.powers, missing))
    return Draws(np.concatenate(cells), np.concatenate(powers), evidence - problem.silent)


def _sweep(crowd: Crowd, cool: float) -> None:
    """Move sources by themselves, split and merge pairs, and shift scenes as a whole.

    Along a line a part of that will do: bands hold as often. In a plane maps of other streams
    would then be farther apart.
    """
    crowd.shuffle_slots()
    line, slots = len(crowd.problem.at) == 1, crowd.cells.shape[1]
    # Sources sit in slots of any order, so that two slots of three are as good as any others.
    for slot in range(math.ceil(slots * 2 / 3) if line else slots):
        redraw_one(crowd, slot, cool)
    if crowd.problem.low < crowd.problem.high and slots > 1:
        for turn in range(_PAIRS):
            redraw_pair(crowd, cool, merge=turn % 2 == 0)
    for scale in _SCALES_ON_A_LINE if line else _SCALES:
        move_by_differential_evolution(crowd, cool, scale)


def _find_next_power(fit: Floats, cool: float, wanted: float) -> float:
    """Return the next power of the likelihood: 1, or where weights are worth so many scenes."""
    # What fits worse than so many others has hardly a say.
    best = fit if len(fit) <= _BEST else np.partition(fit, len(fit) - _BEST)[-_BEST:]
    best = best - best.max()
    wanted = min(wanted, len(best) / 2)

    def worth(step: float) -> float:
        weights = np.exp(step * best)
        return float(weights.sum() ** 2 / np.square(weights).sum())

    low, high = 0.0, 1 - cool
    if worth(high) >= wanted:
        return 1.0
    for _ in range(60):
        middle = np.sqrt(low * high) if low else high / 16
        low, high = (middle, high) if worth(middle) >= wanted else (low, middle)
        if low and high / low < 1.02:
            break
    return cool + (low or high)


def _resample(gain: Floats, even: float, scenes: int) -> Whole:
    """Return which scenes go on, each as often as its weight says: one comb through all."""
    sums = np.cumsum(np.exp(gain - gain.max()))
    teeth = (np.arange(scenes) + even) / scenes
    return np.minimum(np.searchsorted(sums / sums[-1], teeth), len(gain) - 1)
