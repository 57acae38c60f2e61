"""Virtual sensors: noise of the world, steps of the converter, whole grains; in that order."""

import math
from fractions import Fraction

import numpy as np
import pytest

from physics.sensors import PointSensors, grains

PLACES = np.linspace(0.1, 1, 10)


def test_the_converter_counts_before_the_grains_are_made() -> None:
    """Grains of 1/256 from steps of 1/16: only every sixteenth grain can be reported."""
    readings = np.linspace(-1, 1, 333)
    counted = grains(readings, 8, Fraction(1, 16))

    assert {grain % 16 for grain in counted} == {0}
    assert max(abs(g / 256 - t) for g, t in zip(counted, readings, strict=True)) <= 1 / 32


def test_grains_before_steps_would_be_another_number() -> None:
    """The negative control: rounded twice in the other order, this reading falls elsewhere."""
    reading, step = 0.49, Fraction(1, 1)
    wrong = math.floor(Fraction(grains([reading], 1)[0], 2) / step + Fraction(1, 2)) * 2

    assert grains([reading], 1, step) == (0,)
    assert wrong == 2


@pytest.mark.parametrize(
    ("reading", "grain"),
    [(0.5, 1), (-0.5, 0), (1.5, 2), (-1.5, -1), (0.49999999999999994, 0), (2.0**60 + 256, None)],
)
def test_the_nearest_grain_is_exact_and_a_tie_goes_up(reading: float, grain: int | None) -> None:
    """floor(x + 1/2) in floats is wrong just below a half; in fractions it cannot be."""
    assert grains([reading], 0) == (int(reading) if grain is None else grain,)


def test_a_change_of_the_truth_is_at_most_one_grain_more_than_its_size() -> None:
    """Rounding two readings apart by d grains never takes them more than ceil(d) apart."""
    world = np.random.default_rng(4)
    here, move = world.random(500), world.random(500) - 0.5
    apart = np.abs(np.subtract(grains(here + move, 6), grains(here, 6)))

    assert (apart <= np.ceil(np.abs(move) * 64 + 1e-9)).all()


def test_noise_has_the_size_that_was_asked_for_and_comes_from_the_world() -> None:
    """The same world gives the same noise, and only there it is drawn."""
    sensors = PointSensors(np.zeros(20000), noise_sd=0.026)
    truth = np.full(20000, 0.3)
    noise = sensors.see(truth, np.random.default_rng(5)) - truth
    again = sensors.see(truth, np.random.default_rng(5)) - truth

    assert noise.std() == pytest.approx(0.026, rel=0.02)
    assert abs(noise.mean()) < 4 * 0.026 / math.sqrt(20000)
    assert (noise == again).all()


def test_rounding_of_an_operator_is_not_taken_for_a_negative_truth() -> None:
    """Thin factors leave a nought a little off; a source below nought leaves much more."""
    truth = np.array([1.0, -1e-15] + [0.5] * 8)

    assert PointSensors(PLACES).see(truth, np.random.default_rng(0)).min() < 0


@pytest.mark.parametrize(
    ("truth", "fault"),
    [
        ([0.1] * 9 + [math.nan], "sensor 9 reads nan but a reading must be a finite"),
        ([math.inf] + [0.1] * 9, "sensor 0 reads inf"),
        ([0.1] * 4 + [-0.2] + [0.1] * 5, "sensor 4 is to see -0.2 K"),
        ([0.1] * 9, r"temperatures of shape \(9,\) but 10 sensors"),
    ],
)
def test_what_no_sensor_can_see_is_refused(truth, fault: str) -> None:
    """The sensor is named, for somebody has to go and look at it."""
    with pytest.raises(ValueError, match=fault):
        PointSensors(PLACES).see(truth, np.random.default_rng(0))
