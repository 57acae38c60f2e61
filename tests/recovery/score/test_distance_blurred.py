"""Distances that are not the earth mover's: entropic and sliced, against laws and a library."""

import numpy as np
import ot
import pytest
from scipy.spatial.distance import cdist

from recovery.distance import earth_movers, sinkhorn, sliced, wasserstein2
from tests.recovery.score.test_grid_flow import smooth

WORLD = np.random.default_rng(8)
P, Q = smooth(WORLD, (16, 20)), smooth(WORLD, (16, 20))
PLACES = np.indices((16, 20)).reshape(2, -1).T[:, ::-1] / 20


def test_it_is_the_stabilised_iteration_of_another_library() -> None:
    """On the grid by products over axes, and on the same cells placed freely."""
    squares = cdist(PLACES, PLACES, "sqeuclidean")
    peer = np.sum(
        squares
        * ot.sinkhorn(
            P.ravel(), Q.ravel(), squares, 0.02, method="sinkhorn_log", stopThr=1e-12,
            numItermax=10**5,
        )
    )  # fmt: skip

    assert sinkhorn(P, Q, 0.02).cost == pytest.approx(peer, rel=1e-6)
    free = sinkhorn(P.ravel(), Q.ravel(), 0.02, positions=PLACES)
    assert free.cost == pytest.approx(peer, rel=1e-6)


def test_its_cost_falls_to_the_exact_one_as_the_blur_is_taken_away() -> None:
    """Never below it: a blurred plan is a plan. That is the bias, and it is no small one."""
    exact = wasserstein2(P, Q) ** 2
    costs = [sinkhorn(P, Q, blur).cost for blur in (0.1, 0.03, 0.01)]

    assert costs[0] > costs[1] > costs[2] > exact
    assert costs[2] < 1.5 * exact
    assert sinkhorn(P, P, 0.01).cost > 1e-3


def test_cells_without_mass_do_no_harm() -> None:
    """Other libraries return nonsense here, with a warning at most."""
    p, q = np.zeros((2, 12, 12))
    p[2, 3] = q[8, 5] = q[9, 11] = 1
    exact = wasserstein2(p, q, normalise=True)

    # One place sends to two: there is only one plan, blurred or not.
    assert sinkhorn(p, q, 0.01, normalise=True).distance == pytest.approx(exact, rel=1e-9)


def test_from_corner_to_corner_both_axes_count_for_the_underflow() -> None:
    """Each axis may have digits left where their product has none."""
    p, q = np.zeros((2, 30, 30))
    p[0, 0] = q[29, 29] = 1

    assert sinkhorn(p, q, 0.003).distance == pytest.approx(2**0.5 * 29 / 30, rel=1e-9)
    with pytest.raises(ValueError, match="rounded to 0"):
        sinkhorn(p, q, 0.002)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"regularisation": 1e-4}, "rounded to 0"),
        ({"regularisation": 0.003, "iterations": 10}, "after 10 iterations"),
        ({"regularisation": 0.0}, "must be above 0"),
        ({"regularisation": float("nan")}, "must be above 0"),
    ],
)
def test_a_number_that_would_mean_nothing_is_refused(given: dict, why: str) -> None:
    """Not converged, underflown, or never defined: each would look like a distance."""
    with pytest.raises(ValueError, match=why):
        sinkhorn(P, Q, **given)


@pytest.mark.parametrize("order", [1, 2])
def test_sliced_is_the_mean_over_lines_of_another_library(order: int) -> None:
    """With the same angles."""
    turns = np.pi * (np.arange(16) + 0.5) / 16
    peer = ot.sliced_wasserstein_distance(
        PLACES,
        PLACES,
        P.ravel(),
        Q.ravel(),
        projections=np.stack([np.cos(turns), np.sin(turns)]),
        p=order,
    )

    assert sliced(P, Q, order=order, angles=16) == pytest.approx(peer, rel=1e-9)


def test_sliced_is_below_the_distance_and_ends_at_the_one_of_a_point() -> None:
    """Projections bring masses nearer; between two points the mean of |cos| is 2 / pi."""
    assert sliced(P, Q, order=1) < earth_movers(P, Q, "l2")
    assert sliced(P, Q) < wasserstein2(P, Q)
    one, other = np.zeros((2, 10, 10))
    one[1, 1] = other[4, 5] = 1

    assert sliced(one, other, order=1, angles=2000) == pytest.approx(0.5 * 2 / np.pi, rel=1e-5)
    assert sliced(one, other, angles=2000) == pytest.approx(0.5 / 2**0.5, rel=1e-5)
    assert sliced([1, 0, 0, 0], [0, 0, 0, 1]) == pytest.approx(0.75)


def test_slices_that_make_no_sense_are_refused() -> None:
    """No angle is no mean."""
    for given in ({"angles": 0}, {"angles": 2.5}, {"angles": float("nan")}, {"order": 3}):
        with pytest.raises(ValueError, match="order must be 1 or 2"):
            sliced(P, Q, **given)
