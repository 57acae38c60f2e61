"""The factors of the axes against the operator that they stand for, formed whole."""

import math
from functools import reduce

import numpy as np
import pytest

from physics.kernel import Walls, forward, sensitivity
from physics.operators.lowrank import LowRank, forward_lowrank
from physics.operators.moved import separable_sensitivity
from physics.operators.separable import Separable, forward_separable

world = np.random.default_rng(7)
SOURCES = [world.random(7), world.random(9)]
SENSORS = [world.random(4), world.random(5)]


def flat(axes: list[np.ndarray]) -> np.ndarray:
    """The places of a plane, one row (x, y) each, x fastest."""
    x, y = np.meshgrid(*axes)
    return np.stack([x.ravel(), y.ravel()], axis=1)


def middles(count: int, length: float = 1.0) -> np.ndarray:
    return (np.arange(count) + 0.5) / count * length


def ends(count: int) -> np.ndarray:
    """The paper's places: j/n, the last at the wall."""
    return np.arange(1, count + 1) / count


@pytest.mark.parametrize("walls", ["none", "insulated"])
@pytest.mark.parametrize("spread", [0.3, 0.05, 0.003])
def test_the_factors_make_the_operator_of_the_plane(spread: float, walls: Walls) -> None:
    """The same entries, in the same order, as the kernel of two places in a plane."""
    operator = forward_separable(SOURCES, SENSORS, spread, walls)
    whole = forward(flat(SOURCES), flat(SENSORS), spread, walls)

    assert operator.shape == whole.shape == (20, 63)
    assert operator.dense() == pytest.approx(whole, rel=1e-12)
    assert operator.column(23) == pytest.approx(whole[:, 23], rel=1e-12)


def test_a_room_in_metres_that_is_no_square_has_a_length_for_each_axis() -> None:
    """The mirror images of one wall stand at its own distance."""
    sources, sensors = [middles(6, 4.0), middles(5, 3.0)], [middles(3, 4.0), middles(2, 3.0)]
    operator = forward_separable(sources, sensors, 0.4, "insulated", (4.0, 3.0))

    assert operator.dense() == pytest.approx(
        forward(flat(sources), flat(sensors), 0.4, "insulated", (4.0, 3.0)), rel=1e-12
    )


def test_a_room_of_three_axes_is_the_product_of_three_kernels() -> None:
    """A point of heat in free space: exp(-r**2 / 4 s) / (4 pi s)**(3/2)."""
    axes = [middles(4), middles(3), middles(2)]
    z, y, x = (part.ravel() for part in np.meshgrid(*reversed(axes), indexing="ij"))
    squares = sum((part[:, None] - part) ** 2 for part in (x, y, z))
    truth = np.exp(-squares / (4 * 0.1)) / (4 * math.pi * 0.1) ** 1.5

    assert forward_separable(axes, axes, 0.1).dense() == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("thin", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("silent", [False, True])
def test_both_products_are_those_of_the_dense_operator(thin, silent) -> None:
    """Thin factors and dense ones, longer or shorter than wide, one vector or several at once."""
    make = [forward_lowrank if one else forward for one in thin]
    operator = Separable((make[0](ends(9), ends(30), 0.05), make[1](ends(40), ends(6), 0.002)))
    if silent:
        operator = operator.hearing(world.random(180) < 0.6)
    whole = operator.dense()
    heat, readings = world.random((360, 3)), world.random((len(whole), 2))

    assert operator.shape == whole.shape
    assert operator.matvec(heat) == pytest.approx(whole @ heat, rel=1e-11)
    assert operator.matvec(heat[:, 1]) == pytest.approx(whole @ heat[:, 1], rel=1e-11)
    assert operator.rmatvec(readings) == pytest.approx(whole.T @ readings, rel=1e-11)
    assert operator.rmatvec(readings[:, 0]) == pytest.approx(whole.T @ readings[:, 0], rel=1e-11)
    assert operator.column(77) == pytest.approx(whole[:, 77], rel=1e-11, abs=1e-12)


def test_products_in_three_axes_are_those_of_the_kronecker_matrix() -> None:
    """In the order of numpy's own kron, the last axis outermost."""
    factors = [world.random(shape) for shape in ((2, 5), (4, 3), (3, 6))]
    whole = reduce(lambda inner, outer: np.kron(outer, inner), factors)
    operator, heat = Separable(tuple(factors)), world.random(90)

    assert operator.matvec(heat) == pytest.approx(whole @ heat)
    assert operator.rmatvec(operator.matvec(heat)) == pytest.approx(whole.T @ (whole @ heat))
    assert operator.column(61) == pytest.approx(whole[:, 61])


def test_large_axes_take_thin_factors_and_hot_ones_do_not() -> None:
    """A thin factor is the same operator; where heat has hardly spread it would not pay."""
    large = ends(1200)
    smooth = forward_separable([large], [large], 0.05).factors[0]
    sharp = forward_separable([large], [large], 1e-5).factors[0]

    assert isinstance(smooth, LowRank)
    assert smooth.error < 1e-12
    assert isinstance(sharp, np.ndarray)


@pytest.mark.parametrize(
    ("cells", "sensors", "spread", "walls", "expected"),
    [
        (100, 50, 0.05, "none", 0.896),
        (100, 50, 0.05, "insulated", 1.851),
        (32, 24, 0.01, "none", 7.457),
        (20, 10, 0.05, "none", 0.895),
    ],
)
def test_the_sensitivity_is_the_one_that_was_tabled(
    cells: int, sensors: int, spread: float, walls: Walls, expected: float
) -> None:
    """Values of another program, for a source that moves to one of its four neighbours."""
    operator = forward_separable([ends(cells)] * 2, [ends(sensors)] * 2, spread, walls)

    assert separable_sensitivity(operator) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize("move", [1, 2, 3, 5])
def test_the_sensitivity_is_that_of_the_matrix_for_oblique_moves_too(move: int) -> None:
    """Every pair of cells in the ring, by brute force over the columns."""
    operator = forward_separable(SOURCES, SENSORS, 0.02)
    whole = sensitivity(operator.dense(), move, operator.cells)

    assert separable_sensitivity(operator, move) == pytest.approx(whole, rel=1e-12)


def test_the_sensitivity_in_three_axes_is_the_worst_pair_of_columns() -> None:
    """Brute force over all pairs of cells between one and two cells apart, thin factors too."""
    factors = [world.normal(size=shape) for shape in ((3, 4), (2, 3), (4, 3))]
    whole = reduce(lambda inner, outer: np.kron(outer, inner), factors)
    z, y, x = np.unravel_index(np.arange(36), (3, 3, 4))
    places = np.stack([x, y, z], axis=1)
    squares = ((places[:, None] - places) ** 2).sum(axis=2)
    apart = np.linalg.norm(whole[:, :, None] - whole[:, None], axis=0)
    thin = LowRank(np.linalg.qr(factors[0])[0], factors[0].T @ np.linalg.qr(factors[0])[0], 0.0)

    for move in (1, 2):
        ring = (squares > (move - 1) ** 2) & (squares <= move**2)
        for first in (factors[0], thin):
            found = separable_sensitivity(Separable((first, *factors[1:])), move)
            assert found == pytest.approx(apart[ring].max(), rel=1e-12)


def test_a_move_along_three_axes_at_once_may_be_the_worst() -> None:
    """Columns of opposite signs: two moves cancel, one or three double."""
    flips = Separable((np.array([[1.0, -1.0]]),) * 3)

    assert separable_sensitivity(flips, 2) == 2.0
    assert separable_sensitivity(Separable(flips.factors[:2]), 2) == 0.0  # the control


def test_silent_sensors_never_make_the_sensitivity_smaller_than_it_is() -> None:
    """It is that of all sensors, and leaving rows out can only bring columns together."""
    operator = forward_separable(SOURCES, SENSORS, 0.02)
    some = operator.hearing(np.arange(20) % 3 > 0)

    assert separable_sensitivity(some) == separable_sensitivity(operator)
    assert sensitivity(some.dense(), 1, some.cells) < separable_sensitivity(some)


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: Separable(()), "each axis needs a matrix"),
        (lambda: Separable((np.ones((0, 3)),)), r"have shapes \[\(0, 3\)\] but"),
        (lambda: Separable((np.array([[math.nan]]),)), "finite numbers, or all the readings"),
        (lambda: Separable((np.ones((2, 3)),)).hearing([True]), r"must be bool, \(2,\)"),
        (lambda: Separable((np.ones((2, 3)),)).hearing([1, 0]), "heard is int64"),
        (lambda: Separable((np.ones((2, 3)),)).matvec(np.ones(2)), r"must be \(3,\) or \(3, k\)"),
        (lambda: Separable((np.ones((2, 3)),)).rmatvec(np.ones(3)), "readings has shape"),
        (lambda: Separable((np.ones((2, 3)),)).column(3), None),
        (lambda: forward_separable(SOURCES, SENSORS[:1], 0.1), "2, 1 and 1 axes but must agree"),
        (lambda: forward_separable(SOURCES, SENSORS, 0.0), "spread_m2 is 0 but must be"),
        (lambda: forward_separable(SOURCES, SENSORS, 0.1, "insulated", 0.5), "between the walls"),
        (lambda: separable_sensitivity(Separable((np.eye(3),)), 3), "nothing to hide"),
        (lambda: separable_sensitivity(Separable((np.eye(3),)), 0), "nothing to hide"),
    ],
)
def test_what_is_no_operator_is_refused(make, fault) -> None:
    """Each with what to do instead."""
    with pytest.raises(ValueError if fault else IndexError, match=fault):
        make()
