"""The mechanisms of a comparison: each tells the truth when it may, and hides what it says."""

import math

import numpy as np
import pytest

from edge.core.records import Grid
from gateway.lab.reproduce.disk_contenders import (
    CONTENDERS,
    DISKS,
    Setting,
    calibrated,
    planned,
    privacy,
    recovered,
)
from physics.points import histogram, normal
from recovery.distance import wasserstein2

SHAPE = (5, 5)


def people(users: int = 20_000) -> np.ndarray:
    """Return a hill that is not symmetric, so that a transposed map is found out."""
    points = normal(users, np.random.default_rng(4))
    points[:, 0] *= 0.7
    return histogram(points, Grid(SHAPE, 0))


def error(name: str, epsilon: tuple[int, int], users: int = 20_000) -> float:
    truth = people(users)
    found = recovered(name, truth, Setting(SHAPE, epsilon), np.random.default_rng(7))
    assert found.shape == truth.shape
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    return 5 * wasserstein2(truth, found, normalise=True)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in CONTENDERS if not name.startswith("MDSW")])
def test_a_large_epsilon_gives_the_truth(name: str) -> None:
    """All but the product of marginals come to the truth, whichever way round it is."""
    assert error(name, (9, 1)) < 0.12


@pytest.mark.parametrize("name", ["MDSW", "MDSW, budget"])
def test_the_product_of_marginals_comes_to_the_product_of_marginals(name: str) -> None:
    """It loses what is between the axes and nothing else."""
    truth = people()
    product = np.outer(truth.sum(axis=1), truth.sum(axis=0))
    found = recovered(name, truth, Setting(SHAPE, (9, 1)), np.random.default_rng(7))

    assert 5 * wasserstein2(product, found, normalise=True) < 0.12


@pytest.mark.parametrize("name", ["DAM", "k-RR", "OUE"])
def test_a_small_epsilon_gives_less(name: str) -> None:
    """The negative control of the test above."""
    assert error(name, (1, 2)) > 2 * error(name, (9, 1))


@pytest.mark.parametrize("name", [name for name in CONTENDERS if name != "SEM-Geo-I"])
def test_no_local_mechanism_tells_more_than_epsilon(name: str) -> None:
    """The worst log-ratio is had from the channel itself, not from what was asked."""
    told = privacy(name, SHAPE, (7, 2))

    assert 3.3 < told.worst_log_ratio <= 3.5
    assert 0.5 < told.local_privacy_cells < 2.7
    assert told.notion.startswith("local")


@pytest.mark.long
def test_the_peer_of_another_notion_stands_at_equal_local_privacy_and_tells_far_more() -> None:
    """The number beside it is the reason why it is not called better."""
    disk, subset = privacy("DAM", (15, 15), (7, 2)), privacy("SEM-Geo-I", (15, 15), (7, 2))
    size, _, _ = calibrated((15, 15), (7, 2))

    assert size == 2  # the paper's 7 has no solution
    assert subset.local_privacy_cells == pytest.approx(disk.local_privacy_cells)
    assert subset.worst_log_ratio > 2 * disk.worst_log_ratio
    assert "by distance" in subset.notion


def test_one_cell_needs_no_mechanism() -> None:
    """The paper's d = 1: nothing to hide and nothing to find."""
    for name in CONTENDERS:
        assert recovered(
            name, np.array([[9]]), Setting((1, 1), (1, 1)), np.random.default_rng(1)
        ).tolist() == [[1.0]]
        assert privacy(name, (1, 1), (1, 1)).worst_log_ratio == 0


def test_the_disk_rounds_differ() -> None:
    """Four names that were one mechanism would make a dull figure."""
    setting = Setting((15, 15), (7, 2), estimator="")
    weights = {scheme: planned(scheme, setting)[0].params for scheme in DISKS.values()}

    assert len({weights[scheme] for scheme in ("dam", "dam-ns", "area", "huem")}) == 4
    for _, far, near, num, den, *_ in weights.values():
        assert near <= far * math.exp(num / den)
