"""How well a fitted room tells what it was not fitted to, beside guesses that need no physics.

The rules were written before any held-out experiment was looked at:

- **Split** by whole days, since experiments of one day share their weather. The first, third,
  fifth ... day of a room are for fitting, and only on them was the model chosen; the days
  between are held out. A second table exchanges the two; there the model's form, though none of
  its figures, has seen the days that it is held against.
- **Forecast**: known are the readings until somebody comes in, and who is there, what they do,
  and the door. Told is every thermometer from then to the end of the recording. Peers: *last*,
  the mean of the last minute, for ever; *slope*, that and the slope of the last five minutes.
- **Score**: the root mean square error of one experiment, over its thermometers and steps of 20
  seconds; experiments count the same. *Won* is the share of experiments with a smaller error
  than the peer's. Intervals are 95 in 100 of resampled experiments.

One rule came after the first look, and is sterner: whole days resampled instead of experiments
(`groups`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..places import Floats
from .experiments import Experiment
from .fitting import Fitted, forecast

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


def forecast_errors(fitted: Fitted, experiments: Sequence[Experiment]) -> dict[str, Floats]:
    """Return the error of each experiment in kelvin, ours under "model", and of each peer."""
    rows: dict[str, list[float]] = {"model": [], "last": [], "slope": []}
    for one in experiments:
        truth = one.warming_k
        slope = one.trends_k_per_s[:, None] * one.since_s
        rows["model"].append(_rms(forecast(fitted, one) - truth))
        rows["last"].append(_rms(truth))
        rows["slope"].append(_rms(slope - truth))
    return {name: np.array(row) for name, row in rows.items()}


def against(errors: dict[str, Floats], peer: str, groups: Sequence[str] | None = None) -> Against:
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
