"""Peers of the central mechanisms: exact without noise, and blurred by what they say."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from recovery.peers import grids, hierarchies
from recovery.peers.grids import Crowd

PEERS: dict[str, Callable[..., NDArray[np.float64]]] = {
    "laplace": grids.laplace,
    "laplace, top": partial(grids.laplace, top_percent=60.0),
    "laplace, total": partial(grids.laplace, total=True),
    "uniform grid": grids.uniform_grid,
    "adaptive grid": grids.adaptive_grid,
    "quadtree": hierarchies.quadtree,
    "hierarchy": hierarchies.hierarchy,
    "hierarchy of two": partial(hierarchies.hierarchy, branches=2),
    "wavelet": hierarchies.wavelet,
}


def a_crowd(shape: tuple[int, int], users: int, units: int = 1, seed: int = 1) -> Crowd:
    world = np.random.default_rng(seed)
    rows, columns = shape
    middle = (world.normal(0.4, 0.05, (users, 2)).clip(0, 0.99) * shape).astype(int)
    sums = np.zeros((rows, columns), dtype=np.int64)
    np.add.at(sums, (middle[:, 0], middle[:, 1]), units)
    return Crowd(sums, users, units)


class Scales:
    """A source of noise that draws none, and keeps for what scales it was asked."""

    def __init__(self) -> None:
        self.seen: list[Fraction] = []

    def __call__(self, num: int, den: int) -> int:
        self.seen.append(Fraction(num, den))
        return 0


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("shape", [(16, 16), (12, 5)])
def test_without_noise_many_users_give_the_truth(name: str, shape: tuple[int, int]) -> None:
    """What is spread, merged, averaged or transformed must come back as it was."""
    crowd = a_crowd(shape, 2_000_000, units=3)

    found = PEERS[name](crowd, Fraction(1), Scales())

    np.testing.assert_allclose(found, crowd.sums / crowd.sums.sum(), atol=1e-9)


def touched(crowd: Crowd, peer: Callable[..., Any], cell: tuple[int, int]) -> Fraction:
    """Return the epsilon that one user in a cell really costs: what she changes, over its scale.

    The numbers that are blurred are taken where the noise is added, with her and without.
    """
    seen: list[tuple[NDArray[np.int64], Fraction]] = []
    own = grids.blurred

    def watch(sums: NDArray[np.int64], epsilon: Fraction, units: int, draw: Any) -> Any:
        seen.append((sums.astype(np.int64), Fraction(units) / epsilon))
        return own(sums, epsilon, units, draw)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grids, "blurred", watch)
        patch.setattr(hierarchies, "blurred", watch)
        peer(crowd, Fraction(3, 2), Scales())
        before = list(seen)
        seen.clear()
        more = crowd.sums.copy()
        more[cell] += crowd.units
        peer(crowd._replace(sums=more), Fraction(3, 2), Scales())
    return sum(
        (
            int(np.abs(b - a).sum()) / scale
            for (a, scale), (b, other) in zip(before, seen, strict=True)
            if a.shape == b.shape and scale == other
        ),
        Fraction(0),
    )


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("cell", [(0, 0), (7, 3), (11, 9)])
def test_one_user_costs_the_epsilon_that_is_promised(name: str, cell: tuple[int, int]) -> None:
    """All that she changes, each over the scale of its noise: never more, nor much less."""
    cost = touched(a_crowd((12, 10), 200, units=4), PEERS[name], cell)

    assert Fraction(149, 100) <= cost <= Fraction(3, 2)


def test_a_wavelet_that_forgets_an_axis_is_found() -> None:
    """The control of the test above: noise for one axis alone in a plane is too little."""
    flawed = partial(hierarchies.wavelet, changes=Fraction(1, 5))

    assert touched(a_crowd((12, 10), 200), flawed, (3, 3)) > Fraction(3, 2)


def test_consistency_is_least_squares() -> None:
    """The finest squares are those of the normal equations, level by level weighed."""
    world = np.random.default_rng(4)
    noisy = [world.normal(size=(3**level, 3**level)) for level in range(3)]
    variances = [2.0, 0.5, 3.0]
    rows, targets = [], []
    for level, variance in enumerate(variances):
        side = 9 // 3**level
        for (i, j), value in np.ndenumerate(noisy[level]):
            mark = np.zeros((9, 9))
            mark[i * side : (i + 1) * side, j * side : (j + 1) * side] = 1
            rows.append(mark.ravel() / math.sqrt(variance))
            targets.append(value / math.sqrt(variance))

    expected = np.linalg.lstsq(np.array(rows), np.array(targets))[0].reshape(9, 9)

    np.testing.assert_allclose(hierarchies.consistent(noisy, variances, 3), expected, atol=1e-9)
