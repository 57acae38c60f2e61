"""The sampler is right as often as it says: calibration by simulation, over scenes of its prior.

Source: Talts, Betancourt, Simpson, Vehtari and Gelman 2018.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from physics.kernel import forward
from recovery.bayes.chain import cumulative_shares, from_draws, sample_posterior
from recovery.estimators.record import Prior, Seen

Floats = NDArray[np.float64]

CELLS, RUNS = 30, 50
PLACES = np.arange(1, CELLS + 1) / CELLS
OPERATOR = forward(PLACES, np.arange(1, 21) / 20, 0.05)


@dataclass(frozen=True)
class Tally:
    """What was said, and what was so: shares below the truth, whole curves in the band, cells."""

    ranks: Floats
    inside: float
    said: Floats
    so: Floats


def _tally(prior: Prior, low: float, sigma: float, told: float) -> Tally:
    """Draw scenes of the prior and sample their posterior with the deviation that is told."""
    world = np.random.default_rng(11)
    ranks, inside, said, so = [], [], [], []
    for run in range(RUNS):
        number = int(world.integers(prior.fewest, prior.most + 1))
        heat = np.zeros(CELLS)
        heat[world.choice(CELLS, number, replace=False)] = world.uniform(low, 1, number)
        readings = OPERATOR @ heat + sigma * world.standard_normal(20)
        seen = Seen(OPERATOR, readings, told, PLACES[:, None], (1, CELLS), prior)
        draws = sample_posterior(seen, scenes=64, last_sweeps=4, stream=run)
        truth = np.cumsum(heat) / heat.sum()
        shares = cumulative_shares(draws.cells, draws.powers, CELLS)
        below = (shares < truth[:, None] - 1e-9).mean(axis=1)
        same = (np.abs(shares - truth[:, None]) <= 1e-9).mean(axis=1)
        # Ties are broken evenly, so that a right posterior has even ranks.
        ranks.append((below + world.uniform() * same)[[7, 14, 22]])
        credible = from_draws(seen, draws).credible
        assert credible is not None
        assert credible.band is not None
        band = credible.band
        inside.append(((band.low - 1e-9 <= truth) & (truth <= band.high + 1e-9)).all())
        said.append(credible.present.ravel())
        so.append(heat > 0)
    return Tally(np.array(ranks), float(np.mean(inside)), np.ravel(said), np.ravel(so))


@pytest.mark.long
@pytest.mark.parametrize("sigma", [0.6, 0.05])
@pytest.mark.parametrize(("prior", "low"), [(Prior(1, 5), 1.0), (Prior(1, 4, 1.0, 0.3), 0.3)])
def test_it_is_right_as_often_as_it_says(prior: Prior, low: float, sigma: float) -> None:
    """At heavy noise and at low: a sampler that is stuck is sure of what is not so."""
    tally = _tally(prior, low, sigma, told=sigma)
    middle = np.mean((tally.ranks > 0.05) & (tally.ranks < 0.95))
    likely = tally.said > 0.2
    deviation = np.sqrt((tally.said * (1 - tally.said))[likely].sum())

    # Three ranks a run lean on each other: about two deviations of the runs.
    assert middle == pytest.approx(0.9, abs=0.07)
    # Whole curves: of fifty runs two deviations are eight in a hundred.
    assert tally.inside == pytest.approx(0.9, abs=0.09)
    assert abs((tally.said - tally.so)[likely].sum()) < 3 * max(deviation, 1)


@pytest.mark.long
def test_who_is_told_too_little_noise_is_too_sure() -> None:
    """Negative control: the same counts give a posterior away that is not right."""
    tally = _tally(Prior(1, 5), 1.0, 0.6, told=0.1)
    middle = np.mean((tally.ranks > 0.05) & (tally.ranks < 0.95))

    assert abs(middle - 0.9) > 0.07
    assert tally.inside < 0.75
