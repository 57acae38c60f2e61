"""A plane in its own few directions against the matrix that it stands for."""

import tracemalloc

import numpy as np
import pytest

from physics.operators.lowrank import forward_lowrank
from physics.operators.separable import Separable, forward_separable
from recovery.kernels import active_set, compiled
from recovery.l1.directions import prepare, reduce_plane

world = np.random.default_rng(11)


def ends(count: int) -> np.ndarray:
    """The paper's places: j/n, the last at the wall."""
    return np.arange(1, count + 1) / count


def plane(cells=(7, 5), sensors=(6, 4), spread=0.02, walls="none") -> Separable:
    """An operator small enough to form."""
    return forward_separable(
        [ends(count) for count in cells], [ends(count) for count in sensors], spread, walls
    )


SILENT = np.ones((4, 6), dtype=bool)
SILENT[1, 2] = SILENT[3, 3] = SILENT[0, 5] = False
LINES = np.ones((4, 6), dtype=bool)
LINES[1] = LINES[:, 4] = False
LINES_AND_ONE = LINES.copy()
LINES_AND_ONE[0, 0] = False

CASES = {
    "free": plane(),
    "smooth": plane(spread=0.5),
    "sharp": plane(spread=1e-4),
    "walls": plane(walls="insulated"),
    "more sensors than cells": plane((4, 3), (6, 7)),
    "a line": plane((9,), (5,)),
    "a room": plane((4, 5, 3), (3, 2, 4)),
    "thin": Separable((forward_lowrank(ends(30), ends(20), 0.1), world.normal(size=(3, 4)))),
    "silent": plane().hearing(SILENT.ravel()),
    "silent and smooth": plane(spread=0.5).hearing(SILENT.ravel()),
    "silent lines": plane().hearing(LINES.ravel()),
    "silent lines and one": plane().hearing(LINES_AND_ONE.ravel()),
    "two heard": plane().hearing(np.arange(24) % 13 == 3),
    "a room, some silent": plane((4, 5, 3), (3, 2, 4)).hearing(np.arange(24) % 5 > 0),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_lost(name: str) -> None:
    """||A f - y|| is the same in the few directions, for any heat and any readings."""
    operator = CASES[name]
    whole, ready = operator.dense(), prepare(operator)
    heat, readings = world.random(whole.shape[1]), world.normal(size=len(whole))
    inside, beyond = ready.compress(readings)
    far = float(np.linalg.norm(whole @ heat - readings))

    assert ready.shape == whole.shape
    assert ready.rank <= min(whole.shape)
    assert np.hypot(
        np.linalg.norm(ready.small() @ heat - inside), np.linalg.norm(beyond)
    ) == pytest.approx(far, rel=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_directions_are_those_of_the_matrix(name: str) -> None:
    """U B is the operator, U is orthonormal, and the singular values are numpy's."""
    operator = CASES[name]
    whole, ready = operator.dense(), prepare(operator)
    basis = np.stack([ready.expand(one) for one in np.eye(ready.rank)], axis=1)
    strengths = np.linalg.svd(whole, compute_uv=False)
    found = np.linalg.svd(ready.small(), compute_uv=False)

    assert basis.T @ basis == pytest.approx(np.eye(ready.rank), abs=1e-13)
    assert basis @ ready.small() == pytest.approx(whole, abs=1e-12 * strengths[0])
    assert found == pytest.approx(strengths[: len(found)], abs=1e-13 * strengths[0])


@pytest.mark.parametrize("kernel", [active_set, compiled(active_set)], ids=["plain", "compiled"])
@pytest.mark.parametrize("name", CASES)
def test_products_are_those_of_the_matrix_formed_whole(name: str, kernel) -> None:
    """A column on demand, and what every cell would earn by two small products."""
    ready = prepare(CASES[name])
    whole, cell = ready.small(), int(world.integers(0, ready.shape[1]))
    rest = world.normal(size=ready.rank)
    earned = kernel.prices(ready.axes[0], ready.axes[1], kernel.laid(ready.axes, rest))

    assert kernel.column(ready.axes, cell) == pytest.approx(whole[:, cell], rel=1e-12, abs=1e-14)
    assert earned.ravel() == pytest.approx(whole.T @ rest, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize(("spread", "rank"), [(0.0005, 768), (0.005, 594), (0.05, 128), (0.5, 41)])
def test_the_directions_are_few_and_take_little_room(spread: float, rank: int) -> None:
    """256 by 256 cells and 32 by 24 sensors: the ranks another program found, in a megabyte."""
    tracemalloc.start()
    pairs = reduce_plane(plane((256, 256), (32, 24), spread))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert pairs.shape == (rank, 65536)
    assert peak < 2e6


def test_whole_lines_of_silent_sensors_mix_nothing() -> None:
    """A dead row of an array leaves a smaller array; a dead pixel does not."""
    assert not reduce_plane(CASES["silent lines"]).mix.size
    assert reduce_plane(CASES["silent"]).mix.size
    assert reduce_plane(CASES["silent lines and one"]).basis.shape[0] == LINES.sum() - 1


def test_rows_that_are_left_of_the_directions_are_no_directions() -> None:
    """The negative control: without T, silence makes readings look nearer than they are."""
    heard, pairs = CASES["silent"].heard, reduce_plane(plane())
    x, y = pairs.left
    rows = (y[:, None, pairs.second] * x[None, :, pairs.first]).reshape(-1, len(pairs.first))

    assert np.abs(rows[heard].T @ rows[heard] - np.eye(len(pairs.first))).max() > 0.1


@pytest.mark.parametrize(
    ("operator", "fault"),
    [
        (Separable((np.zeros((2, 3)), np.ones((2, 3)))), "nought everywhere"),
        (plane().hearing([False] * 24), "no sensor is heard"),
    ],
)
def test_an_operator_that_says_nothing_is_refused(operator: Separable, fault: str) -> None:
    """No readings could tell anything of the heat."""
    with pytest.raises(ValueError, match=fault):
        reduce_plane(operator)
