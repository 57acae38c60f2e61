"""What a fit of a room is good for: its figures, a forecast, and a thermometer that is missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..places import Floats
from .experiments import STEP_S, Experiment
from .warming import Warming, lasting, lasts, pulse_response, warms

# A power nobody would doubt; only the shape of what places feel matters below, and its size.
_PERSON_W = 30.0
_ACROSS = (8, 6)
# The common error of all thermometers is unknown: a kelvin, so that it is taken from the others.
_COMMON_K = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A room whose warming was fitted to experiments.

    Args:
        warming: the room.
        intervals: of each figure that was fitted, by name, 95 in 100: from experiments as a
            whole, since readings of one experiment err together.
        node_sd_k: how far one thermometer errs from what all err in common, in kelvin.
        size_m: of the room, (3,).
        places_m: of its thermometers, (nodes, 3).
        experiments: how many were fitted.
    """

    warming: Warming
    intervals: Mapping[str, tuple[float, float]]
    node_sd_k: float
    size_m: Floats
    places_m: Floats
    experiments: int


def forecast(fitted: Fitted, experiment: Experiment) -> Floats:
    """Return kelvin above the baseline, (nodes, later steps), knowing readings only before.

    Known are the readings until somebody came, and all along how many people there are, what
    they do and whether the door is open.
    """
    return warming_of(fitted.warming, experiment)


def warming_of(warming: Warming, experiment: Experiment, pulse: Floats | None = None) -> Floats:
    """Return what a room does in an experiment, in kelvin above the baseline.

    Args:
        warming: the room.
        experiment: in it.
        pulse: `pulse_of` at least that many steps, where it is already known.
    """
    power_w = experiment.power_w[experiment.entered :]
    if pulse is None:
        pulse = pulse_of(warming, [experiment])
    trend = float(experiment.trends_k_per_s.mean())
    return np.asarray(warms(pulse, power_w) + lasts(warming, trend, experiment.since_s))


def pulse_of(warming: Warming, experiments: Sequence[Experiment]) -> Floats:
    """Return the response that these experiments share, as long as the longest of them."""
    first = experiments[0]
    steps = max(len(one.power_w) - one.entered for one in experiments)
    return pulse_response(warming, first.size_m, first.places_m, STEP_S, steps, first.door_open)


def fill(fitted: Fitted, experiment: Experiment, node: int) -> Floats:
    """Return kelvin above its baseline of a thermometer that fell silent when somebody came.

    The forecast, and what the other thermometers make of its error: all err in common by an
    unknown amount; each by what it feels of where the people are, who may be anywhere in the
    plan, at the fitted height (this is where the fitted spread comes in); each by itself.

    Source: kriging with an unknown mean, for example Rasmussen and Williams 2006, Section 2.7.
    """
    share = [(np.arange(count) + 0.5) / count for count in _ACROSS]
    across, along = np.meshgrid(*share)
    anywhere = np.stack(
        [
            across.ravel() * fitted.size_m[0],
            along.ravel() * fitted.size_m[1],
            np.full(across.size, fitted.warming.place_m[2]),
        ],
        axis=1,
    )
    felt = _PERSON_W * lasting(fitted.warming, fitted.size_m, fitted.places_m, anywhere)
    nodes = len(fitted.places_m)
    covariance = np.cov(felt) + _COMMON_K**2 + fitted.node_sd_k**2 * np.eye(nodes)
    expected = forecast(fitted, experiment)
    errors = experiment.warming_k - expected
    others = np.arange(nodes) != node
    filled = expected[node].copy()
    for step in range(errors.shape[1]):
        heard = others & ~np.isnan(errors[:, step])
        if heard.any():
            share_of = np.linalg.solve(covariance[np.ix_(heard, heard)], covariance[heard, node])
            filled[step] += share_of @ errors[heard, step]
    return filled
