"""Deviations by repetition, of estimators whose deviations are known by hand."""

import numpy as np
import pytest

from edge.records import Grid
from recovery.disk import Query, plan
from recovery.disk.channel import Channel, channel_of
from recovery.disk.em import OPTIMAL, Fit
from recovery.disk.estimators import cell_sd


def disk(shape: tuple[int, int], radius: int, epsilon: int = 2) -> Channel:
    planned = plan(Query(Grid(shape, 1000), (epsilon, 1), radius=radius), [])
    assert planned is not None
    return channel_of(planned)


def test_an_estimator_that_never_looks_is_off_by_its_bias() -> None:
    """It draws the same map of whatever is answered: what does not spread is wrong too."""
    channel = disk((6, 5), 2)
    truth = np.outer([1.0, 3.0, 6.0, 3.0, 2.0], [1.0, 2.0, 5.0, 4.0, 2.0, 1.0]) / 225
    even = np.full((5, 6), 1 / 30)
    said = cell_sd(channel, truth, 1_000, lambda ch, counts: Fit(even, 0.0, 1, OPTIMAL))

    assert said == pytest.approx(abs(even - truth))


def test_an_estimator_that_counts_spreads_as_counts_do() -> None:
    """Shares of answers at their own place: Poisson's deviations, sqrt(n g) / n, of 400 runs."""
    channel, reports = disk((6, 5), 1), 3_000
    truth = np.full((5, 6), 1 / 30)
    law = channel.forward(truth)[1:-1, 1:-1]

    def counting(channel: Channel, counts: np.ndarray) -> Fit:
        return Fit(truth + counts[1:-1, 1:-1] / reports - law, 0.0, 1, OPTIMAL)

    said = cell_sd(channel, truth, reports, counting, repetitions=400)
    assert said / np.sqrt(law / reports) == pytest.approx(1, abs=0.15)


def test_of_few_repetitions_a_cell_tells_its_neighbours_and_keeps_its_own() -> None:
    """Six are pooled over three by three cells, and a lone error is not thinned to a third."""
    channel, truth = disk((6, 5), 1), np.full((5, 6), 1 / 30)
    wrong = truth.copy()
    wrong[2, 3] += 0.3
    said = cell_sd(channel, truth, 50, lambda ch, c: Fit(wrong, 0.0, 1, OPTIMAL), repetitions=6)
    wanted = np.zeros((5, 6))
    wanted[1:4, 2:5] = 0.1
    wanted[2, 3] = 0.3

    assert said == pytest.approx(wanted)
