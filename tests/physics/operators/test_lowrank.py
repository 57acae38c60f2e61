"""The thin factors against the dense operator that they stand for."""

import math

import numpy as np
import pytest

from physics.kernel import Walls, forward
from physics.operators.lowrank import LowRank, forward_lowrank

world = np.random.default_rng(2)
SOURCES = np.concatenate([[0.0, 1.0], world.random(700)])
SENSORS = np.concatenate([world.random(400), [0.5, 0.5, 1.0]])


@pytest.mark.parametrize("walls", ["none", "insulated"])
@pytest.mark.parametrize("spread", [0.5, 0.1, 0.05, 0.01, 0.001])
def test_the_factors_make_the_dense_operator(spread: float, walls: Walls) -> None:
    """At scattered places, repeated ones and the walls, to rounding of the largest entry."""
    dense = forward(SOURCES, SENSORS, spread, walls)
    operator = forward_lowrank(SOURCES, SENSORS, spread, walls)
    found = np.abs(operator.dense() - dense).max() / dense.max()

    assert found < 1e-13
    assert operator.error < 1e-13
    assert operator.shape == dense.shape


def test_both_products_are_those_of_the_dense_operator() -> None:
    """One vector or several at once, there and back."""
    dense = forward(SOURCES, SENSORS, 0.02)
    operator = forward_lowrank(SOURCES, SENSORS, 0.02)
    heat, readings = world.random((len(SOURCES), 3)), world.random(len(SENSORS))

    assert operator.matvec(heat) == pytest.approx(dense @ heat, rel=1e-12)
    assert operator.rmatvec(readings) == pytest.approx(dense.T @ readings, rel=1e-12)
    assert operator.matvec(heat[:, 0]).shape == (len(SENSORS),)


@pytest.mark.parametrize(("spread", "most"), [(0.5, 10), (0.05, 16), (0.01, 27), (0.001, 68)])
def test_the_rank_is_that_of_the_heat_and_not_of_the_grid(spread: float, most: int) -> None:
    """However many places there are, smooth heat needs few numbers."""
    coarse = forward_lowrank(np.linspace(0, 1, 200), np.linspace(0, 1, 100), spread)
    fine = forward_lowrank(np.linspace(0, 1, 20000), np.linspace(0, 1, 3000), spread)

    assert coarse.rank <= most
    assert abs(fine.rank - coarse.rank) <= 1


def test_the_stated_error_shows_a_factor_that_was_cut_too_short() -> None:
    """The negative control: an error that is never large would state nothing."""
    operator = forward_lowrank(SOURCES, SENSORS, 0.01)
    short = LowRank(operator.left[:, :12], operator.right[:, :12], operator.error)
    dense = forward(SOURCES, SENSORS, 0.01)

    assert np.abs(short.dense() - dense).max() / dense.max() > 1e-6
    assert operator.error < 1e-13


def test_a_long_room_in_metres_has_the_operator_of_the_dense_one() -> None:
    """Nothing rests on the unit interval, nor on sensors and sources sharing a range."""
    sources, sensors = np.linspace(3, 9, 50), np.linspace(1, 20, 40)
    operator = forward_lowrank(sources, sensors, 0.6, "insulated", 21.0)

    assert operator.dense() == pytest.approx(
        forward(sources, sensors, 0.6, "insulated", 21.0), abs=1e-13
    )


def test_one_source_and_one_sensor_are_an_operator_too() -> None:
    """The smallest of all, and a place that is its own range."""
    assert forward_lowrank([0.3], [0.4], 0.05).dense() == pytest.approx(
        forward([0.3], [0.4], 0.05)
    )


@pytest.mark.parametrize(
    ("sources", "sensors", "spread", "walls", "fault"),
    [
        ([], [0.5], 0.05, "none", "with at least one place"),
        ([[0.1, 0.2]], [0.5], 0.05, "none", "those of a line"),
        ([0.1, 0.2], [0.5], 0.0, "none", "spread_m2 is 0 but must be positive"),
        ([0.1, math.nan], [0.5], 0.05, "none", "not finite"),
        ([0.1, 1.2], [0.5], 0.05, "insulated", r"is 1.2 but must be between the walls"),
        ([0.0, 1.0], [0.5], 1e-7, "none", "takes 8073 nodes where at most 1200 pay"),
    ],
)
def test_what_has_no_thin_factors_is_refused(sources, sensors, spread, walls, fault) -> None:
    """The same faults as of the dense operator, and heat that has not spread."""
    with pytest.raises(ValueError, match=fault):
        forward_lowrank(sources, sensors, spread, walls)


def test_vectors_that_do_not_fit_are_refused_as_everywhere() -> None:
    """Not with another library's words."""
    operator = forward_lowrank([0.1, 0.2, 0.3], [0.4, 0.5], 0.05)
    with pytest.raises(ValueError, match=r"heat has shape \(2,\) but must be \(3,\)"):
        operator.matvec([1.0, 2.0])
    with pytest.raises(ValueError, match=r"readings has shape \(3,\) but must be \(2,\)"):
        operator.rmatvec([1.0, 2.0, 3.0])
