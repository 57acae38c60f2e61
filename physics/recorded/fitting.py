"""Fit how a room warms to recorded experiments, and hold the fit against other days.

Least squares of the warming since somebody came in, over all thermometers. Every experiment
counts the same, however long it is, and as much as eight readings of 0.06 K, for readings of one
experiment err together. What the recordings do not tell is held near what is usual by a prior
on each figure; the intervals show where that is so.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from ..places import Floats
from .experiments import STEP_S, Experiment
from .warming import Warming, compute_trend, compute_warming, pulse_response


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A room whose warming was fitted to experiments.

    Args:
        warming: the room.
        intervals: of each figure that was fitted, by name, 95 in 100: from experiments as a
            whole, since readings of one experiment err together.
        size_m: of the room, (3,).
        places_m: of its thermometers, (nodes, 3).
        experiments: how many were fitted.
    """

    warming: Warming
    intervals: Mapping[str, tuple[float, float]]
    size_m: Floats
    places_m: Floats
    experiments: int


def forecast(fitted: Fitted, experiment: Experiment) -> Floats:
    """Return kelvin above the baseline, (nodes, later steps), knowing readings only before.

    Known are the readings until somebody came, and all along how many people there are, what
    they do and whether the door is open.
    """
    return simulate_warmth(fitted.warming, experiment)


def simulate_warmth(
    warming: Warming, experiment: Experiment, pulse: Floats | None = None
) -> Floats:
    """Return what a room does in an experiment, in kelvin above the baseline.

    Args:
        warming: the room.
        experiment: in it.
        pulse: `average_pulse` at least that many steps, where it is already known.
    """
    power_w = experiment.power_w[experiment.entered :]
    if pulse is None:
        pulse = average_pulse(warming, [experiment])
    trend = float(experiment.trends_k_per_s.mean())
    return np.asarray(
        compute_warming(pulse, power_w) + compute_trend(warming, trend, experiment.since_s)
    )


def average_pulse(warming: Warming, experiments: Sequence[Experiment]) -> Floats:
    """Return the response that these experiments share, as long as the longest of them."""
    first = experiments[0]
    steps = max(len(one.power_w) - one.entered for one in experiments)
    return pulse_response(warming, first.size_m, first.places_m, STEP_S, steps, first.door_open)


# Each figure with what is usual, and how many times more or less (e-fold) is not surprising.
USUAL: dict[str, tuple[float, float]] = {
    "capacity_factor": (2.0, 1.0),
    "store_factor": (20.0, 1.0),
    "exchange_per_s": (1 / 600, 1.0),
    "open_loss_per_s": (1 / 3600, 1.0),
    "mixing_m2_per_s": (0.02, 0.8),
}
# Where people are, as a share of the room's size, and how much of a trend lasts.
_PLACE_SD, _TREND, _TREND_SD = 0.35, 0.5, 0.5
NAMES = (*USUAL, "place_x_m", "place_y_m", "place_z_m", "trend")
_COUNTS_AS, _ERROR_K = 8, 0.06
# One step in three: a value a minute says all that a room does.
_EVERY = 3


def fit_room(experiments: Sequence[Experiment]) -> Fitted:
    """Return the room that the experiments were made in.

    Args:
        experiments: of one room, with the same thermometers; ten or more to be of use.

    Raises:
        ValueError: no experiments, or of several rooms.
    """
    _same_room(experiments)
    size_m = experiments[0].size_m
    usual = np.array([math.log(middle) for middle, _ in USUAL.values()] + [0.5] * 3 + [_TREND])
    widths = np.array([width for _, width in USUAL.values()] + [_PLACE_SD] * 3 + [_TREND_SD])
    free = np.ones(len(NAMES), dtype=bool)
    if not any(one.door_open for one in experiments):
        free[NAMES.index("open_loss_per_s")] = False  # never seen, so never fitted

    def errors(chosen: Floats) -> list[Floats]:
        figures = usual.copy()
        figures[free] = chosen
        warming = _make_warming(figures, size_m)
        rows = [_weigh(missed) for missed in _miss(warming, experiments)]
        return [*rows, ((figures - usual) / widths)[free]]

    low = np.where(np.char.startswith(NAMES, "place"), 0.0, -np.inf)
    high = np.where(np.char.startswith(NAMES, "place"), 1.0, np.inf)
    found = least_squares(
        lambda chosen: np.concatenate(errors(chosen)),
        usual[free],
        bounds=(low[free], high[free]),
        x_scale=widths[free],
        max_nfev=60,
    )
    figures = usual.copy()
    figures[free] = found.x
    warming = _make_warming(figures, size_m)
    sds = np.sqrt(np.diag(_sandwich(found.jac, errors(found.x))))
    intervals = {}
    for name, middle, sd in zip(np.array(NAMES)[free], found.x.tolist(), sds, strict=True):
        ends = [_outside(str(name), middle + way * 1.96 * sd, size_m) for way in (-1, 1)]
        intervals[str(name)] = (ends[0], ends[1])
    return Fitted(
        warming,
        intervals,
        size_m,
        experiments[0].places_m,
        len(experiments),
    )


def _sandwich(slopes: Floats, errors: Sequence[Floats]) -> Floats:
    """Return the covariance of the figures, with experiments as the independent pieces.

    Source: Liang and Zeger 1986, Biometrika 73, 13, the "robust" variance for clusters.
    """
    bread = np.linalg.inv(slopes.T @ slopes)
    meat = np.zeros_like(bread)
    at = 0
    for piece in errors[:-1]:
        score = slopes[at : at + len(piece)].T @ piece
        meat += np.outer(score, score)
        at += len(piece)
    prior = slopes[at:]
    return np.asarray(bread @ (meat + prior.T @ prior) @ bread)


def _miss(warming: Warming, experiments: Sequence[Experiment]) -> list[Floats]:
    """Return by how much each experiment is missed, (nodes, every third step)."""
    pulses = {
        door: average_pulse(warming, alike)
        for door in (False, True)
        if (alike := [one for one in experiments if one.door_open is door])
    }
    return [
        (simulate_warmth(warming, one, pulses[one.door_open]) - one.warming_k)[:, ::_EVERY]
        for one in experiments
    ]


def _weigh(missed: Floats) -> Floats:
    known = missed[~np.isnan(missed)]
    return np.asarray(known * (math.sqrt(_COUNTS_AS / known.size) / _ERROR_K))


def _make_warming(figures: Floats, size_m: Floats) -> Warming:
    capacity, store, exchange, leak, mixing = np.exp(figures[: len(USUAL)]).tolist()
    x, y, z = (figures[len(USUAL) : -1] * size_m).tolist()
    return Warming(capacity, store, exchange, leak, mixing, (x, y, z), float(figures[-1]))


def _outside(name: str, held: float, size_m: Floats) -> float:
    if name in USUAL:
        return math.exp(held)
    if name == "trend":
        return held
    return float(min(max(held, 0.0), 1.0) * size_m["xyz".index(name[6])])


def _same_room(experiments: Sequence[Experiment]) -> None:
    if not experiments:
        raise ValueError(
            "there are no experiments but a fit needs some, ten or more to be of use. Is the "
            "recording empty?"
        )
    first = experiments[0]
    for one in experiments:
        if not (
            np.array_equal(one.size_m, first.size_m)
            and np.array_equal(one.places_m, first.places_m)
        ):
            raise ValueError(
                f"experiments {first.name} and {one.name} differ in room or thermometers, but "
                "what is fitted describes one room. Fit each room by itself."
            )


# How well a fitted room tells what it was not fitted to, beside guesses that need no physics.
#
# The rules were written before any held-out experiment was looked at:
#
# - **Split** by whole days, since experiments of one day share their weather. The first, third,
#   fifth ... day of a room are for fitting, and only on them was the model chosen; the days
#   between are held out. A second table exchanges the two; there the model's form, though none of
#   its figures, has seen the days that it is held against.
# - **Forecast**: known are the readings until somebody comes in, and who is there, what they do,
#   and the door. Told is every thermometer from then to the end of the recording. Peers: *last*,
#   the mean of the last minute, for ever; *slope*, that and the slope of the last five minutes.
# - **Score**: the root mean square error of one experiment, over its thermometers and steps of 20
#   seconds; experiments count the same. *Won* is the share of experiments with a smaller error
#   than the peer's. Intervals are 95 in 100 of resampled experiments.
#
# One rule came after the first look, and is sterner: whole days resampled instead of experiments
# (`groups`).

_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class Against:
    """One peer: its mean error in kelvin, ours over it, the interval of that, and the wins."""

    peer_k: float
    ratio: float
    low: float
    high: float
    won: float


def alternate_days(
    experiments: Sequence[Experiment],
) -> tuple[list[Experiment], list[Experiment]]:
    """Return the experiments of every other day from the first on, and those of the others."""
    days = sorted({one.day for one in experiments})
    halves: tuple[list[Experiment], list[Experiment]] = ([], [])
    for one in experiments:
        halves[days.index(one.day) % 2].append(one)
    return halves


def measure_forecast_errors(
    fitted: Fitted, experiments: Sequence[Experiment]
) -> dict[str, Floats]:
    """Return the error of each experiment in kelvin, ours under "model", and of each peer."""
    rows: dict[str, list[float]] = {"model": [], "last": [], "slope": []}
    for one in experiments:
        truth = one.warming_k
        slope = one.trends_k_per_s[:, None] * one.since_s
        rows["model"].append(_rms(forecast(fitted, one) - truth))
        rows["last"].append(_rms(truth))
        rows["slope"].append(_rms(slope - truth))
    return {name: np.array(row) for name, row in rows.items()}


def compare_with_peer(
    errors: dict[str, Floats], peer: str, groups: Sequence[str] | None = None
) -> Against:
    """Return how the model does beside a peer; the interval is of the ratio of mean errors.

    Args:
        errors: of each experiment, by name.
        peer: one of the names.
        groups: what to resample together, one name an experiment, such as its day; None to
            resample experiments one by one.
    """
    ours, theirs = errors["model"], errors[peer]
    names = np.arange(len(ours)) if groups is None else np.unique(groups, return_inverse=True)[1]
    sums = np.array([np.bincount(names, row) for row in (ours, theirs)])
    drawn = np.random.default_rng(0).integers(0, sums.shape[1], (_DRAWS, sums.shape[1]))
    drawn_ours, drawn_theirs = sums[:, drawn].sum(axis=2)
    low, high = np.quantile(drawn_ours / drawn_theirs, [0.025, 0.975])
    return Against(
        float(theirs.mean()),
        float(ours.mean() / theirs.mean()),
        float(low),
        float(high),
        float((ours < theirs).mean()),
    )


def _rms(missed: Floats) -> float:
    return float(np.sqrt(np.nanmean(missed**2)))
