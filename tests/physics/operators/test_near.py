"""Near pairs, thin factors and panels of scattered places, against all pairs."""

import math

import numpy as np
import pytest

from physics.kernel import forward
from physics.operators.lowrank import forward_lowrank, forward_thin
from physics.operators.near import forward_near, reach_m
from physics.operators.panels import forward_panels

world = np.random.default_rng(5)


@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_no_entry_lacks_more_than_is_stated(axes: int, walls: str) -> None:
    """Relative to the peak of one kernel; mirror images in corners, edges and sides too."""
    lengths = (1.0, 0.8, 1.3)[:axes]
    sources, sensors = world.random((400, axes)) * lengths, world.random((300, axes)) * lengths
    sources[0], sensors[0] = 0.001, 0.002  # in the corner, where images are felt most
    spread = 3e-3 if axes > 1 else 2e-4
    whole = forward(sources, sensors, spread, walls, lengths)
    operator = forward_near(sources, sensors, spread, walls, lengths)
    peak = (4 * math.pi * spread) ** (-axes / 2)
    readings, heat = world.random(300), world.random((400, 2))

    rounding = 1e-14 * 2**axes
    assert operator.matrix.nnz < 0.9 * whole.size
    assert np.abs(operator.dense() - whole).max() < (operator.cut + rounding) * peak
    assert operator.matvec(heat) == pytest.approx(whole @ heat, rel=1e-12)
    assert operator.rmatvec(readings) == pytest.approx(whole.T @ readings, rel=1e-12)
    assert operator.columns([7, 0]) == pytest.approx(operator.dense()[:, [7, 0]], rel=0)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_what_is_left_out_across_a_room_is_stated(axes: int) -> None:
    """From corner to corner, just out of reach, all the images that are left out add up."""
    spread = 1e-3
    length = reach_m(spread) * (1 + 1e-9)
    source, sensor = np.zeros((1, axes)), np.array([[length] + [0.0] * (axes - 1)])
    lengths = (length,) * axes
    operator = forward_near(source, sensor, spread, "insulated", lengths)
    lacks = float(forward(source, sensor, spread, "insulated", lengths)[0, 0])
    share = lacks * (4 * math.pi * spread) ** (axes / 2)

    assert operator.matrix.nnz == 0
    assert share == pytest.approx(2 * 2**axes * math.exp(-46), rel=1e-5)
    assert share <= operator.cut


def test_thin_factors_of_a_plane_err_by_what_their_axes_do() -> None:
    """The error of a product is that of all its factors."""
    draw = np.random.default_rng(7)
    sources, sensors = draw.random((90, 2)), draw.random((80, 2))
    axes = [forward_lowrank(sources[:, axis], sensors[:, axis], 0.01) for axis in (0, 1)]

    assert min(axis.error for axis in axes) > 0
    assert forward_thin(sources, sensors, 0.01).error == sum(axis.error for axis in axes)


@pytest.mark.parametrize("make", [forward_near, forward_thin])
def test_one_length_is_that_of_every_axis(make) -> None:
    """Or the room would have no wall, or no places, along the second."""
    draw = np.random.default_rng(8)
    sources, sensors = draw.random((20, 2)), draw.random((9, 2))
    whole = forward(sources, sensors, 4e-3, "insulated")

    assert make(sources, sensors, 4e-3, "insulated").dense() == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("make", [forward_near, forward_panels])
def test_places_that_are_in_no_room_are_refused_here_too(make) -> None:
    """Or they would be carried silently to the wall, or have images in the room."""
    shape = (-1, 1) if make is forward_near else (-1,)
    places, room = np.array([0.2, 0.9]).reshape(shape), 0.5 if make is forward_panels else (0.5,)
    with pytest.raises(ValueError, match=r"is 0.9 but must be between the walls"):
        make(places, places, 1e-6, "cold", room)
    with pytest.raises(ValueError, match="not finite"):
        make(places * np.nan, places, 1e-6)


def test_a_pair_is_kept_up_to_the_reach_and_not_beyond() -> None:
    """At the reach the kernel is exp(-46) of its peak."""
    reach = reach_m(1e-4)
    kept = forward_near(np.array([[0.0], [5.0]]), np.array([[0.999 * reach]]), 1e-4)
    left = forward_near(np.array([[0.0], [5.0]]), np.array([[1.001 * reach]]), 1e-4)

    assert math.exp(-(reach**2) / 4e-4) == pytest.approx(kept.cut)
    assert kept.matrix.nnz == 1
    assert left.matrix.nnz == 0


def test_heat_that_reaches_across_or_is_near_everything_is_refused() -> None:
    """Nothing would be left out."""
    with pytest.raises(ValueError, match="nothing is far enough to be left out"):
        forward_near(np.zeros((2, 1)), np.ones((2, 1)), 0.01, "insulated")
    with pytest.raises(ValueError, match="pairs are nearer than the"):
        forward_near(np.zeros((6000, 1)), np.zeros((6000, 1)), 0.01)


@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
@pytest.mark.parametrize("axes", [2, 3])
def test_thin_factors_of_scattered_places_make_the_operator(axes: int, walls: str) -> None:
    """In a plane and a room, with fewer directions than the axes' product has."""
    sources, sensors = world.random((500, axes)), world.random((300, axes))
    whole = forward(sources, sensors, 0.05, walls, (1.0,) * axes)
    operator = forward_thin(sources, sensors, 0.05, walls, (1.0,) * axes)

    assert np.abs(operator.dense() - whole).max() < 1e-13 * whole.max()
    assert operator.error < 1e-13
    assert operator.rank < 0.75 * 20**axes


@pytest.mark.parametrize("walls", ["none", "insulated", "cold"])
@pytest.mark.parametrize("spread", [1.0, 0.3, 0.02, 1e-3, 1e-5])
def test_panels_make_the_operator_at_any_spread(spread: float, walls: str) -> None:
    """Walls and joints of panels included, and mirrors of mirrors where heat reaches so far."""
    joints = np.linspace(0.0, 1.5, 5)
    sources = np.concatenate([joints, 1.5 * world.random(200)])
    sensors = np.concatenate([1.5 * world.random(150), joints])
    whole = forward(sources, sensors, spread, walls, 1.5)
    operator = forward_panels(sources, sensors, spread, walls, 1.5)
    heat, readings = world.random((205, 3)), world.random(155)
    lost = 1e-13 * float((whole @ heat).max())  # at a cold wall nothing but rounding is left

    assert np.abs(operator.dense() - whole).max() < 1e-13 * whole.max()
    assert operator.matvec(heat) == pytest.approx(whole @ heat, rel=1e-11, abs=lost)
    assert operator.matvec(heat[:, 1]) == pytest.approx(whole @ heat[:, 1], rel=1e-11, abs=lost)
    assert operator.rmatvec(readings) == pytest.approx(whole.T @ readings, rel=1e-11, abs=lost)
    assert np.abs(operator.columns([204, 0]) - whole[:, [204, 0]]).max() < 1e-13 * whole.max()


@pytest.mark.long
def test_a_million_scattered_places_are_summed_by_panels() -> None:
    """Against direct sums on three sensors, where neither factors nor near pairs would fit."""
    places, heat = world.random(1_000_000), world.random(1_000_000)
    operator = forward_panels(places, places[:400], 1e-6)
    truth = forward(places, places[[3, 77, 399]], 1e-6) @ heat

    assert operator.matvec(heat)[[3, 77, 399]] == pytest.approx(truth, rel=1e-12)


def test_panels_that_would_be_empty_are_refused() -> None:
    """One panel of a micrometre each, over a kilometre."""
    with pytest.raises(ValueError, match="most would be empty"):
        forward_panels(np.array([0.0, 1e3]), np.array([0.0]), 1e-12)
